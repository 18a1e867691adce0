"""The arguments of the functions of libqsim_golden, in letters that _library.py and src/fast_call.c read."""
from __future__ import annotations

import ctypes
import functools
import struct
from typing import Any, List

# The arguments of each function that returns a status. T: an array, or None; p: an address; q and
# i: integers of 8 and 4 bytes; f: a float; d: a double of a struct; parentheses: a struct of such
# fields and structs, by reference; R: a qsim_run, which is two arguments of call(), threads and
# workspace; S: the same with a third, constant_weights.
_WINDOW, _BINARY_WEIGHTS, _QUANTIZED = "(qqqqqqqq)", "(qTTTT)", "(TTTT)"
_LEVELS, _LEVEL_CONV, _NORMALIZATION = "(qiiii)", f"(qTTT{_WINDOW}q)", "(qTTTTTdd)"
SIGNATURES = {
    "linear_w8": "T(TTTq)TTS",
    "linear_w8a8": "Tp(TTTq)TTR",
    "quantize_per_channel": "TqTTR",
    "quantize_to_int4": "TqTTTR",
    "quantization_default": "p",
    "quantization_preset": "pp",
    "quantize": f"Tp{_QUANTIZED}R",
    "dequantize": f"{_QUANTIZED}pTR",
    "int4_to_fp8": f"{_QUANTIZED}piTR",
    "pack_activations": "TTTR",
    "binarize_weights": "TTiTTR",
    "binary_conv2d": f"T{_BINARY_WEIGHTS}{_WINDOW}TR",
    "abc_conv2d": f"TT{_BINARY_WEIGHTS}{_WINDOW}TR",
    "binary_layer_create": f"{_BINARY_WEIGHTS}{_WINDOW}qqqip",
    "binary_layer_run": "pTTTS",
    "conv2d_int8": f"TTT{_WINDOW}q(Tiiiii)TR",
    "threads_create": "ip",
    "observe": f"Tif{_LEVELS}TTTR",
    "quantize_levels": f"T{_LEVELS}TTTTTR",
    "quantize_weights": f"T{_LEVELS}TTTTR",
    "conv2d_real": f"{_LEVEL_CONV}TTTiTTR",
    "conv2d_levels": f"{_LEVEL_CONV}TTTiiiTTTR",
    "conv2d_statistics": f"{_LEVEL_CONV}TR",
    "conv2d_gradient_sums": f"{_LEVEL_CONV}TTR",
    "conv2d_normalize_gradient": f"{_LEVEL_CONV}TTR",
    "max_pool_levels": f"Tqq{_WINDOW}TR",
    "max_pool_gradient": f"Tqq{_WINDOW}TTTR",
    "gradient_operand": "TTTTR",
    "conv2d_input_gradient": f"{_LEVEL_CONV}TTTTR",
    "conv2d_weight_gradient": f"{_LEVEL_CONV}TTTTR",
    "step_gradient": "TTTTTiTTR",
    "layer_forward": f"(q{_LEVELS}{_LEVELS}TTTT{_WINDOW}qTiii)TifTTTR",
    "layer_kept_bytes": f"{_LEVEL_CONV}iip",
    "layer_backward": f"{_LEVEL_CONV}iiTTTTTTTR",
    "normalize_statistics": f"TqTTT{_NORMALIZATION}TR",
    "fold_levels": "TTTTTTTTTR",
    "chain_forward": f"{_LEVEL_CONV}(qT{_LEVELS}TTTT{_NORMALIZATION}TTTTiii)TTR",
    "observe_rows": "TTTifiTTTR",
    "normalization_gradient": "TTqiTTTTR",
}
_C_TYPES = {"T": ctypes.c_void_p, "p": ctypes.c_void_p, "R": ctypes.c_void_p, "S": ctypes.c_void_p, "(": ctypes.c_void_p,
            "q": ctypes.c_int64, "i": ctypes.c_int32, "f": ctypes.c_float}
_FIELDS = {"T": "Q", "p": "Q", "q": "q", "i": "i", "f": "f", "d": "d"}


def c_types(signature: str) -> List[Any]:
    """The argtypes of a function of ctypes; a struct is one pointer."""
    result, depth = [], 0
    for kind in signature:
        if kind == ")":
            depth -= 1
            continue
        if depth == 0:
            result.append(_C_TYPES[kind])
        depth += kind == "("
    return result


@functools.lru_cache(maxsize=None)
def struct_of(letters: str) -> struct.Struct:
    """A struct of these fields, padded as C does; structs in it are addresses."""
    return struct.Struct("".join(_FIELDS[kind] for kind in letters) + "0q")
