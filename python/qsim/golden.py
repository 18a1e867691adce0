"""The kernels of libqsim_golden on arrays of any library that speaks DLPack (numpy, PyTorch, CuPy, JAX, ...).

Functions take such arrays, with any strides, and give an Array, which numpy.asarray() and every from_dlpack() take
without a copy. Pictures are [B, H, W, C], weights of convolutions [O, kh, kw, C]. FP8 and other codes may be uint8
arrays; 4-bit values are uint8, two a byte, the first in the low nibble. Neither numpy nor PyTorch is needed.
"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

from . import _dlpack
from . import _convolutions as convolutions
from . import _library as lib
from . import _operations as ops

__all__ = ["Array", "Quantized", "abc_conv2d", "binarize_weights", "binary_conv2d", "conv2d_int8", "dequantize",
           "int4_to_fp8", "linear_w8", "linear_w8a8", "pack_activations", "quantize", "quantize_per_channel", "quantize_to_int4"]

Pair = Union[int, Sequence[int]]
_BYTES = {"int8": 1, "uint8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "int32": 4,
          "int64": 8}
# numpy's names; bfloat16 has none.
_TYPESTR = {"int8": "|i1", "uint8": "|u1", "float16": "<f2", "float32": "<f4", "int32": "<i4", "int64": "<i8"}


class Array:
    """A row-major array in memory of its own: a result. `kind` is float32, float16, bfloat16, int8, uint8 or int64."""

    def __init__(self, shape: Sequence[int], kind: str):
        self.shape = tuple(shape)
        self.kind = kind
        count = _BYTES[kind]
        for size in self.shape:
            count *= size
        # 64 bytes more: the first element is aligned to them.
        self._memory = (ctypes.c_uint8 * (count + 64))()
        self._bytes = count
        self.address = -(-ctypes.addressof(self._memory) // 64) * 64
        if kind in _TYPESTR:
            self.__array_interface__ = {"version": 3, "shape": self.shape, "typestr": _TYPESTR[kind],
                                        "data": (self.address, False)}

    def __dlpack__(self, *, stream: Any = None, **_later: Any) -> Any:
        """A DLPack capsule that shares the memory."""
        return _dlpack.give(self, self.address, self.kind, self.shape)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _dlpack.CPU, 0

    def __bytes__(self) -> bytes:
        return ctypes.string_at(self.address, self._bytes)

    def __repr__(self) -> str:
        return f"qsim.golden.Array(shape={self.shape}, kind='{self.kind}')"


class _ArrayBackend:
    """Backend of DLPack arrays (_operations.py); each call sees an array once, as _dlpack.Taken or Array."""

    entries: Mapping[str, bytes] = {}

    def shape(self, array: Any) -> Tuple[int, ...]:
        return array.shape

    def kind(self, array: Any) -> str:
        return array.kind

    def describe(self, a: lib.Arena, array: Any, dtype: Optional[int] = None,
                 shape: Optional[Sequence[int]] = None) -> int:
        if isinstance(array, Array):
            return a.tensor(array.address, dtype or ops.KINDS[array.kind], lib.CPU, 0, shape or array.shape, None)
        code = ops.KINDS.get(array.kind)
        if code is None:
            raise lib.BadInput(f"an array of {array.text} has no type in qsim; allowed: {', '.join(ops.KINDS)}")
        if dtype is not None and array.kind != "uint8" and code != dtype:
            raise lib.BadInput(f"an array of {array.text} has codes of another type; give uint8, or the type itself")
        device, index = array.device
        on_gpu = device in (_dlpack.CUDA, _dlpack.CUDA_MANAGED)
        if not on_gpu and device not in (_dlpack.CPU, _dlpack.CUDA_HOST):
            raise lib.BadInput(f"an array is on DLPack device {device}; allowed: CPU and CUDA")
        if dtype is None:
            return a.tensor(array.address, code, int(on_gpu), index, array.shape, array.strides)
        strides = array.strides if shape is None or tuple(shape) == array.shape else None
        if strides is None and not _is_dense(array):
            raise lib.BadInput("an array of codes has strides with gaps; this tensor takes none")
        return a.tensor(array.address, dtype, int(on_gpu), index, shape or array.shape, strides)

    def empty(self, shape: Sequence[int], kind: str, like: Any) -> Array:
        if not isinstance(like, Array) and like.device[0] in (_dlpack.CUDA, _dlpack.CUDA_MANAGED):
            raise lib.Unsupported("qsim.golden makes arrays on the CPU alone; qsim.torch takes CUDA tensors")
        return Array(shape, kind)

    def memory(self, array: Array) -> Tuple[int, int]:
        return array.address, len(bytes(array))

    def threads(self) -> int:
        return 0

    def stream(self, like: Any) -> int:
        return 0

    def is_on_gpu(self, array: Any) -> bool:
        return False


_b = _ArrayBackend()


def _is_dense(array: Any) -> bool:
    step = 1
    for size, stride in zip(reversed(array.shape), reversed(array.strides or ())):
        if size > 1 and stride != step:
            return False
        step *= max(size, 1)
    return True


def _take(array: Any) -> Any:
    """An argument as the backend sees it. The result must live as long as the call."""
    if array is None or isinstance(array, Array):
        return array
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{type(array).__name__} is no DLPack array; numpy.asarray() or torch.tensor() makes one")
    return _dlpack.Taken(array)


def linear_w8(x: Any, w: Any, scales: Any, bias: Any = None, zero_points: Any = None, group_size: int = 0,
              out: Optional[str] = None) -> Array:
    """y [M, N] = x [M, K] W^T + bias, the same bits for any number of rows.

    x: float32, float16, bfloat16; y: `out`, x's kind without one. w: int8 [N, K], or 4-bit values as uint8
    [N, ceil(K / 2)], which are unsigned if zero_points are uint8, else signed. scales: float32 [N, groups] or [N];
    group_size: 32, 64, 128, or 0 for one group. zero_points: as scales, int8 or uint8, of 4-bit values. bias: float32.
    """
    x, w, scales, bias, zero_points = map(_take, (x, w, scales, bias, zero_points))
    return ops.linear_w8(_b, x, w, scales, bias, zero_points, group_size, _out(out, ops.float_kind(x.kind)))


def linear_w8a8(x: Any, w: Any, scales: Any, bias: Any = None, x_scale: Optional[float] = None,
                out: Optional[str] = None) -> Array:
    """linear_w8 with x quantized to int8 (W8A8): w is int8 [N, K], scales [N, 1] or [N].

    x_scale: the scale of x, at least 2^-126; without one each row has max|x| / 127.
    """
    x, w, scales, bias = map(_take, (x, w, scales, bias))
    return ops.linear_w8a8(_b, x, w, scales, bias, x_scale, _out(out, ops.float_kind(x.kind)))


def _out(kind: Optional[str], default: str) -> str:
    wanted = kind or default
    if wanted not in _BYTES:
        raise lib.BadInput(f"out is '{wanted}'; allowed: {', '.join(_BYTES)}")
    return wanted


def quantize_per_channel(w: Any, group_size: int = 0) -> Tuple[Array, Array]:
    """Float weights [N, K] to (int8 [N, K], scales [N, groups]): scale = max|W| / 127."""
    return ops.quantize_per_channel(_b, _take(w), group_size)


def quantize_to_int4(w: Any, group_size: int, zero_point: bool = False) -> Tuple[Array, Array, Optional[Array]]:
    """Float weights [N, K] to (signed 4-bit values, scales, zero_points or None) for linear_w8.

    The scale is max|W| / 7 of a group; with `zero_point` it is (max - min) / 15.
    """
    return ops.quantize_to_int4(_b, _take(w), group_size, zero_point)


@dataclass(frozen=True)
class Quantized:
    """A quantized array: codes (uint8; int8 of int8), scales, and how they were made."""
    shape: Tuple[int, ...]
    values: Array
    scales: Array
    zero_points: Optional[Array]
    global_scale: Optional[Array]
    how: Any

    def _parts(self) -> Tuple[Any, ...]:
        return self.values, self.scales, self.zero_points, self.global_scale


def quantize(x: Any, preset: Optional[str] = None, *, format: Optional[str] = None, group: Optional[int] = None,
             scales: Optional[str] = None, scale_rounding: Optional[str] = None, column_major: bool = False,
             zero_point: bool = False, seed: Optional[int] = None, clip_value: Optional[float] = None,
             clip_percentile: Optional[float] = None) -> Quantized:
    """x (float16 or bfloat16, any shape and strides) with a scale a group (docs/reference/kernels.md).

    preset: mxfp8, mxfp8_e5m2, mxfp4, nvfp4. format: int8, fp8_e4m3, fp8_e5m2, int4, fp4_e2m1. group: 16 to 512, 0 a row,
    -1 the array. scales: fp32, ue8m0 (scale_rounding: floor, ceil, half_up), e4m3. seed: rounds stochastically.
    """
    x = _take(x)
    ppm = None if clip_percentile is None else round(clip_percentile * 10000)
    how = ops.quantization(preset, format=format, group=group, scale_format=scales, scale_rounding=scale_rounding,
                           column_major=int(column_major), zero_point=int(zero_point), clip_ppm=ppm, seed=seed,
                           stochastic=None if seed is None else 1, clip_value=clip_value)
    kind = "int8" if how.format == lib.INT8 else "uint8"
    grouped = ops.scale_shape(x.shape, how) if how.group >= -1 else (1,)
    q = Quantized(x.shape, Array(ops.packed_shape(x.shape, how.format), kind),
                  Array(grouped, "float32" if how.scale_format == lib.FLOAT32 else "uint8"),
                  Array(grouped, "int8") if zero_point else None,
                  Array((1,), "float32") if how.scale_format == lib.FP8_E4M3 else None, how)
    ops.quantize_into(_b, x, how, q._parts())
    return q


def dequantize(q: Quantized, out: str = "float16") -> Array:
    """Numbers times scales as float16 or bfloat16."""
    return ops.dequantize(_b, q.shape, q.how, q._parts(), _out(out, out))


def int4_to_fp8(q: Quantized, times_scale: bool = False, format: str = "fp8_e4m3") -> Array:
    """INT4 codes to FP8 codes (uint8): the numbers, whose scales are q's; or numbers times scales, rounded."""
    code = ops.word("format", format, {"fp8_e4m3": lib.FP8_E4M3, "fp8_e5m2": lib.FP8_E5M2})
    return ops.int4_to_fp8(_b, q.shape, q.how, q._parts(), times_scale, "uint8", code)


def pack_activations(x: Any, v: Any = None) -> Array:
    """x [B, H, W, C] (float32) to bits, int64 [B, H, W, N, ceil(C / 64)]: +1 where x + v[j] > 0.5; its sign without v."""
    return convolutions.pack_activations(_b, _take(x), _take(v))


def binarize_weights(w: Any, bases: int, u: Any = None, per_channel: bool = False) -> Tuple[Array, Array]:
    """w [O, kh, kw, C] (float32) to (bits, int64 [O, bases, kh, kw, ceil(C / 64)]; alpha [bases, O]). u: [bases]."""
    return convolutions.binarize_weights(_b, _take(w), bases, _take(u), per_channel)


def _window(stride: Pair, padding: Pair, dilation: Pair) -> convolutions.Window:
    return convolutions.window_of(*([value] if isinstance(value, int) else list(value) for value in (stride, padding, dilation)))


def binary_conv2d(bits: Any, words: Any, alpha: Any, beta: Any, bias: Any = None, *, channels: int, stride: Pair = 1,
                  padding: Pair = 0, dilation: Pair = 1) -> Array:
    """y [B, OH, OW, O] (float32) of bits and words of `channels` channels. A pad is 0 and adds nothing."""
    bits, words, alpha, beta, bias = map(_take, (bits, words, alpha, beta, bias))
    return convolutions.binary_conv2d(_b, bits, None, words, alpha, beta, bias, channels,
                                      _window(stride, padding, dilation))


def abc_conv2d(x: Any, v: Any, words: Any, alpha: Any, beta: Any, bias: Any = None, *, stride: Pair = 1,
               padding: Pair = 0, dilation: Pair = 1) -> Array:
    """binary_conv2d of x [B, H, W, C] (float32), which is packed with the thresholds v [N] first."""
    x, v, words, alpha, beta, bias = map(_take, (x, v, words, alpha, beta, bias))
    channels = x.shape[-1] if x.shape else 0
    return convolutions.binary_conv2d(_b, x, v, words, alpha, beta, bias, channels, _window(stride, padding, dilation))


def conv2d_int8(x: Any, w: Any, scales: Any, bias: Any = None, *, stride: Pair = 1, padding: Pair = 0,
                dilation: Pair = 1, groups: int = 1, x_zero_point: int = 0, y_zero_point: int = 0,
                rounding: str = "float32", lo: Optional[int] = None, hi: Optional[int] = None,
                out: str = "int8") -> Array:
    """y [B, OH, OW, O] = clamp(round((sum + bias) * scale) + y_zero_point, lo, hi) of x [B, H, W, C].

    x: int8 or uint8; w: int8 [O, kh, kw, C / groups]; bias: int32 [O]; scales: float32 [O] or [1], which are
    x_scale * w_scale / y_scale; y: `out`, int8 or uint8. rounding: float32 (as ONNX Runtime), half_even, half_up, floor.
    """
    x, w, scales, bias = map(_take, (x, w, scales, bias))
    return convolutions.conv2d_int8(_b, x, w, scales, bias, _window(stride, padding, dilation), groups,
                           (x_zero_point, y_zero_point), rounding, (lo, hi), _out(out, "int8"))
