"""torch.ops.qsim.*: the kernels of libqsim_golden on PyTorch tensors, from PyTorch 1.13 on.

Importing this module registers the operators. They take tensors with any strides, run CPU tensors on the calling
thread (set_threads() changes that) and CUDA tensors on the current stream, and have shape functions for torch.compile.
Each operator is also a function of this module. Pictures are [B, C, H, W]; results have channels last in memory.
FP8 tensors are torch.float8_*, or uint8 where PyTorch has none. 4-bit values are uint8, two a byte, the first in the
low nibble. These have no gradients; the layers QuantizedConv2d, QuantizedConv2dReLU and QuantizedLinear train, and
convert() puts them into a float model.
"""
from __future__ import annotations

import types
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _convolutions as convolutions
from . import _operations as ops
from . import _torch_operations as real
from ._chain.module import QuantizedSequential
from ._chain.plan import Residual
from ._export.export_onnx import export_onnx
from ._torch_layers import BinaryConv2d
from ._torch_operations import set_threads, torch
from ._training import autograd
from ._training import operators as training
from ._training.convert import convert, unquantized
from ._training.layer_options import LayerOptions
from ._training.layers import QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear
from ._training.twins import TorchConv2d, TorchConv2dReLU, TorchLinear

__all__ = ["BinaryConv2d", "LayerOptions", "QuantizedConv2d", "QuantizedConv2dReLU", "QuantizedLinear",
           "QuantizedSequential", "Residual", "TorchConv2d", "TorchConv2dReLU", "TorchLinear", "abc_conv2d",
           "binarize_weights", "binary_conv2d", "conv2d_int8", "convert", "export_onnx", "fp16_to_fp8", "fp16_to_int4",
           "fp8_to_fp16", "int4_to_fp16", "int4_to_fp8", "linear_w8", "linear_w8a8", "pack_activations",
           "quantize_per_channel", "quantize_to_int4", "set_threads", "unquantized"]

Pair = Union[int, Tuple[int, int], List[int]]

_WINDOW = "int[] stride, int[] padding, int[] dilation"
_SCHEMAS = {
    "linear_w8": "(Tensor x, Tensor w, Tensor scales, Tensor? bias=None, Tensor? zero_points=None, int group_size=0, "
                 "ScalarType? out_dtype=None, bool constant_weights=False) -> Tensor",
    "linear_w8a8": "(Tensor x, Tensor w, Tensor scales, Tensor? bias=None, float? x_scale=None, "
                   "ScalarType? out_dtype=None) -> Tensor",
    "quantize_per_channel": "(Tensor w, int group_size=0) -> (Tensor, Tensor)",
    "quantize_to_int4": "(Tensor w, int group_size) -> (Tensor, Tensor)",
    "fp16_to_fp8": "(Tensor x, Tensor(a!) q, Tensor(b!) scales, int group_size) -> ()",
    "fp16_to_int4": "(Tensor x, Tensor(a!) q, Tensor(b!) scales, int group_size) -> ()",
    "int4_to_fp8": "(Tensor q, Tensor scales, int group_size, bool times_scale=False, int columns=0) -> Tensor",
    "int4_to_fp16": "(Tensor q, Tensor scales, int group_size, int columns=0) -> Tensor",
    "fp8_to_fp16": "(Tensor q, Tensor scales, int group_size) -> Tensor",
    "pack_activations": "(Tensor x, Tensor? v=None) -> Tensor",
    "binarize_weights": "(Tensor w, int bases, bool per_channel=False) -> (Tensor, Tensor)",
    "binary_conv2d": f"(Tensor bits, Tensor words, Tensor alpha, Tensor beta, Tensor? bias, int channels, {_WINDOW}) "
                     "-> Tensor",
    "binary_layer": "(Tensor bits, Tensor packed, int layer, int[] size) -> Tensor",
    "abc_conv2d": f"(Tensor x, Tensor v, Tensor words, Tensor alpha, Tensor beta, Tensor? bias, {_WINDOW}) -> Tensor",
    "conv2d_int8": f"(Tensor x, Tensor w, Tensor scales, Tensor? bias, {_WINDOW}, int groups, int x_zero_point, "
                   "int y_zero_point, str rounding, int? lo, int? hi, ScalarType? out_dtype) -> Tensor",
}


def _meta(shape: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(tuple(shape), dtype=dtype, device="meta")


def _meta_picture(batch: Any, size: Any, channels: Any, dtype: torch.dtype) -> torch.Tensor:
    """[B, C, H, W], channels last in memory."""
    return _meta((batch, *size, channels), dtype).permute(0, 3, 1, 2)


def _meta_binary(x: torch.Tensor, words: torch.Tensor, stride: Any, padding: Any, dilation: Any,
                 rows: slice) -> torch.Tensor:
    size = convolutions.output_size(convolutions.window_of(stride, padding, dilation), x.shape[rows], words.shape[2:4])
    return _meta_picture(x.shape[0], size, words.shape[0], torch.float32)


def _meta_conv2d_int8(x: torch.Tensor, w: torch.Tensor, _scales: Any, _bias: Any, stride: Any, padding: Any,
                      dilation: Any, *rest: Any) -> torch.Tensor:
    size = convolutions.output_size(convolutions.window_of(stride, padding, dilation), x.shape[2:], w.shape[2:])
    return _meta_picture(x.shape[0], size, w.shape[0], rest[-1] or torch.int8)


def _meta_linear_w8(x: torch.Tensor, w: torch.Tensor, _scales: Any, _bias: Any = None, _zero_points: Any = None,
                    _group_size: int = 0, out_dtype: Optional[torch.dtype] = None,
                    _constant_weights: bool = False) -> torch.Tensor:
    return _meta((*x.shape[:-1], w.shape[0]), out_dtype or x.dtype)


# The shapes and types of the results, of tensors without memory.
_META: Dict[str, Callable[..., Any]] = {
    "linear_w8": _meta_linear_w8,
    "linear_w8a8": lambda x, w, scales, bias=None, x_scale=None, out_dtype=None: _meta(
        (*x.shape[:-1], w.shape[0]), out_dtype or x.dtype),
    "quantize_per_channel": lambda w, group_size=0: (
        _meta(w.shape, torch.int8), _meta((w.shape[0], ops.groups_of(w.shape[1], group_size)), torch.float32)),
    "quantize_to_int4": lambda w, group_size: (
        _meta((w.shape[0], (w.shape[1] + 1) // 2), torch.uint8),
        _meta((w.shape[0], ops.groups_of(w.shape[1], group_size)), torch.float32)),
    "fp16_to_fp8": lambda x, q, scales, group_size: None,
    "fp16_to_int4": lambda x, q, scales, group_size: None,
    "int4_to_fp8": lambda q, scales, group_size, times_scale=False, columns=0: _meta(
        real.elements_shape(q, columns), real.DTYPES["fp8_e4m3"]),
    "int4_to_fp16": lambda q, scales, group_size, columns=0: _meta(real.elements_shape(q, columns), torch.float16),
    "fp8_to_fp16": lambda q, scales, group_size: _meta(q.shape, torch.float16),
    "pack_activations": lambda x, v=None: _meta(
        (x.shape[0], *x.shape[2:], 1 if v is None else v.shape[0], (x.shape[1] + 63) // 64), torch.int64),
    "binarize_weights": lambda w, bases, per_channel=False: (
        _meta((w.shape[0], bases, *w.shape[2:], (w.shape[1] + 63) // 64), torch.int64),
        _meta((bases, w.shape[0]), torch.float32)),
    "binary_conv2d": lambda bits, words, alpha, beta, bias, channels, stride, padding, dilation: _meta_binary(
        bits, words, stride, padding, dilation, slice(1, 3)),
    "binary_layer": lambda bits, packed, layer, size: _meta_picture(bits.shape[0], size[:2], size[2], torch.float32),
    "abc_conv2d": lambda x, v, words, alpha, beta, bias, stride, padding, dilation: _meta_binary(
        x, words, stride, padding, dilation, slice(2, 4)),
    "conv2d_int8": _meta_conv2d_int8,
}


def _register() -> torch.library.Library:
    """Defines the operators, for CPU, CUDA and shapes alone."""
    library = torch.library.Library("qsim", "DEF")
    # The memory format of a layer's result is that of its input: a compiler must not change the latter.
    names = ("pt2_compliant_tag", "needs_exact_strides", "needs_fixed_stride_order")
    tags = [getattr(torch.Tag, name) for name in names if hasattr(torch, "Tag") and hasattr(torch.Tag, name)][:2]
    for name, schema in {**_SCHEMAS, **training.SCHEMAS}.items():
        meta = _META.get(name) or training.META[name]
        if tags:
            of_this = tags if name in training.SCHEMAS else tags[:1]
            library.define(name + schema, tags=tuple(of_this))  # type: ignore[call-arg,unused-ignore]
        else:
            library.define(name + schema)
        for key in ("CPU", "CUDA"):
            library.impl(name, training.OPERATORS.get(name) or getattr(real, name), key)
        library.impl(name, meta, "Meta")
        if not hasattr(torch, "compile"):  # PyTorch 1 has no fallback there
            library.impl(name, meta, "AutogradMeta")
    autograd.register_gradients()
    return library


_library = _register()  # the operators last as long as it does
# Without the choice among overloads, which takes a microsecond.
_ops = types.SimpleNamespace(**{name: getattr(torch.ops.qsim, name).default for name in _SCHEMAS})


def _pair(value: Pair) -> List[int]:
    return [value, value] if isinstance(value, int) else list(value)


def linear_w8(x: torch.Tensor, w: torch.Tensor, scales: torch.Tensor, bias: Optional[torch.Tensor] = None,
              zero_points: Optional[torch.Tensor] = None, group_size: int = 0,
              out_dtype: Optional[torch.dtype] = None, constant_weights: bool = False) -> torch.Tensor:
    """y [..., N] = x [..., K] W^T + bias, the same bits for any number of rows (ADR 0016 defines them).

    x: float32, float16 or bfloat16; y: out_dtype, x's without one. w: int8 [N, K], or 4-bit values as uint8
    [N, ceil(K / 2)], which are unsigned if zero_points are uint8, else signed. scales: float32 [N, groups] or [N];
    group_size: 32, 64, 128, or 0 for one group. zero_points: as scales, int8 or uint8, of 4-bit values. bias: float32 [N].
    constant_weights: a promise that no work before this call on the current stream writes w, scales, zero_points or bias;
    on a GPU they are then read while the kernel before it still runs. Where the promise is broken, y is undefined.
    Raises BadInput for other types, shapes and group sizes.
    """
    return _ops.linear_w8(x, w, scales, bias, zero_points, group_size, out_dtype, constant_weights)


def linear_w8a8(x: torch.Tensor, w: torch.Tensor, scales: torch.Tensor, bias: Optional[torch.Tensor] = None,
                x_scale: Optional[float] = None, out_dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """linear_w8 with x quantized to int8 (W8A8): int8 times int8, times the scales of w and of x.

    w: int8 [N, K]; scales: float32 [N, 1] or [N]; x_scale: the scale of x, at least 2^-126; without one each row has
    max|x| / 127. The rest is as in linear_w8.
    """
    return _ops.linear_w8a8(x, w, scales, bias, x_scale, out_dtype)


def quantize_per_channel(w: torch.Tensor, group_size: int = 0) -> Tuple[torch.Tensor, torch.Tensor]:
    """Float weights [N, K] to (int8 [N, K], scales [N, groups]) for linear_w8: scale = max|W| / 127."""
    return _ops.quantize_per_channel(w, group_size)


def quantize_to_int4(w: torch.Tensor, group_size: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """Float weights [N, K] to (signed 4-bit values, uint8 [N, ceil(K / 2)]; scales [N, groups]): max|W| / 7.

    For linear_w8, int4_to_fp16 and int4_to_fp8. group_size: 32, 64, 128, or 0 for one group.
    """
    return _ops.quantize_to_int4(w, group_size)


def fp16_to_fp8(x: torch.Tensor, q: torch.Tensor, scales: torch.Tensor, group_size: int) -> None:
    """x (float16 or bfloat16, any rank) to q, of x's shape: E4M3, or E5M2 where q is torch.float8_e5m2.

    scales: float32, x's shape with ceil(K / group_size) as the last dimension. group_size: a multiple of 16 from 16 to
    512, or 0: a group a row. q and scales are written, and have no gaps.
    """
    _ops.fp16_to_fp8(x, q, scales, group_size)


def fp16_to_int4(x: torch.Tensor, q: torch.Tensor, scales: torch.Tensor, group_size: int) -> None:
    """x to signed 4-bit values q, uint8 [..., ceil(K / 2)]; otherwise as fp16_to_fp8."""
    _ops.fp16_to_int4(x, q, scales, group_size)


def int4_to_fp8(q: torch.Tensor, scales: torch.Tensor, group_size: int, times_scale: bool = False,
                columns: int = 0) -> torch.Tensor:
    """4-bit values to E4M3: the numbers, exact, whose scales are q's; or the numbers times their scales, rounded.

    columns: elements of a row, where they are odd.
    """
    return _ops.int4_to_fp8(q, scales, group_size, times_scale, columns)


def int4_to_fp16(q: torch.Tensor, scales: torch.Tensor, group_size: int, columns: int = 0) -> torch.Tensor:
    """4-bit values times their scales as float16; `columns` as int4_to_fp8."""
    return _ops.int4_to_fp16(q, scales, group_size, columns)


def fp8_to_fp16(q: torch.Tensor, scales: torch.Tensor, group_size: int) -> torch.Tensor:
    """FP8 codes (uint8: E4M3) times their scales as float16."""
    return _ops.fp8_to_fp16(q, scales, group_size)


def pack_activations(x: torch.Tensor, v: Optional[torch.Tensor] = None) -> torch.Tensor:
    """x [B, C, H, W] (float32) to bits, int64 [B, H, W, N, ceil(C / 64)]: +1 where x + v[j] > 0.5; its sign without v.

    Channel c is bit c % 64 of word c // 64.
    """
    return _ops.pack_activations(x, v)


def binarize_weights(w: torch.Tensor, bases: int, per_channel: bool = False) -> Tuple[torch.Tensor, torch.Tensor]:
    """w [O, C, kh, kw] (float32) to (bits, int64 [O, bases, kh, kw, ceil(C / 64)]; alpha [bases, O]), 1 to 8 bases."""
    return _ops.binarize_weights(w, bases, per_channel)


def binary_conv2d(bits: torch.Tensor, words: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor,
                  bias: Optional[torch.Tensor] = None, *, channels: int, stride: Pair = 1, padding: Pair = 0,
                  dilation: Pair = 1) -> torch.Tensor:
    """y [B, O, OH, OW] (float32) of bits (pack_activations) and words (binarize_weights) of `channels` channels.

    beta: float32 [N], the factor of each base of the activations. A pad is 0 and adds nothing.
    """
    return _ops.binary_conv2d(bits, words, alpha, beta, bias, channels, _pair(stride), _pair(padding),
                              _pair(dilation))


def abc_conv2d(x: torch.Tensor, v: torch.Tensor, words: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor,
               bias: Optional[torch.Tensor] = None, *, stride: Pair = 1, padding: Pair = 0,
               dilation: Pair = 1) -> torch.Tensor:
    """binary_conv2d of x [B, C, H, W] (float32), which is packed with the thresholds v [N] first."""
    return _ops.abc_conv2d(x, v, words, alpha, beta, bias, _pair(stride), _pair(padding), _pair(dilation))


def conv2d_int8(x: torch.Tensor, w: torch.Tensor, scales: torch.Tensor, bias: Optional[torch.Tensor] = None, *,
                stride: Pair = 1, padding: Pair = 0, dilation: Pair = 1, groups: int = 1, x_zero_point: int = 0,
                y_zero_point: int = 0, rounding: str = "float32", lo: Optional[int] = None, hi: Optional[int] = None,
                out_dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    """y [B, O, OH, OW] = clamp(round((sum + bias) * scale) + y_zero_point, lo, hi) of x [B, C, H, W].

    x: int8 or uint8; w: int8 [O, C / groups, kh, kw]; bias: int32 [O]; scales: float32 [O] or [1], which are
    x_scale * w_scale / y_scale; y: out_dtype, int8 or uint8. rounding: float32 (as ONNX Runtime), half_even, half_up or
    floor. lo and hi: the ends of y's type without them.
    """
    return _ops.conv2d_int8(x, w, scales, bias, _pair(stride), _pair(padding), _pair(dilation), groups, x_zero_point,
                            y_zero_point, rounding, lo, hi, out_dtype)
