"""The operations, once for all kinds of arrays: shapes and types of results, and the calls of the library.

A Backend knows one kind of array: how to describe one to the library, and how to make one.
"""
from __future__ import annotations

import ctypes
import functools
from typing import Any, List, Optional, Protocol, Sequence, Tuple

from . import _library as lib

# qsim_dtype by the kind of an array's elements. 4-bit and 8-bit floats may be uint8 arrays.
KINDS = {"float32": lib.FLOAT32, "float16": lib.FLOAT16, "bfloat16": lib.BFLOAT16, "int8": lib.INT8,
         "uint8": lib.UINT8, "int32": lib.INT32, "fp8_e4m3": lib.FP8_E4M3, "fp8_e5m2": lib.FP8_E5M2,
         "int64": lib.BITS64, "uint64": lib.BITS64}
_TWO_A_BYTE = (lib.INT4, lib.UINT4, lib.FP4_E2M1)


class Backend(Protocol):
    """One kind of array."""

    def shape(self, array: Any) -> Sequence[int]:
        """Its shape."""

    def kind(self, array: Any) -> str:
        """A key of KINDS, or another word, which the library refuses."""

    def describe(self, a: lib.Arena, array: Any, dtype: Optional[int] = None,
                 shape: Optional[Sequence[int]] = None) -> int:
        """The address of its description; with `dtype` and `shape` those of the elements in its bytes, which have no gaps."""

    def empty(self, shape: Sequence[int], kind: str, like: Any) -> Any:
        """A new array on the device of `like`."""

    def run(self, a: lib.Arena, like: Any, workspace: Any = None) -> int:
        """The address of a qsim_run for work on the device of `like`; 0 for the default."""

    def is_on_gpu(self, array: Any) -> bool:
        """Whether a call with it only enqueues, and may need a workspace."""


def _optional(b: Backend, a: lib.Arena, array: Any) -> int:
    return 0 if array is None else b.describe(a, array)


def _rows(shape: Sequence[int]) -> int:
    count = 1
    for size in shape[:-1]:
        count *= size
    return count


def require_rank(what: str, shape: Sequence[int], rank: int) -> None:
    """Raises BadInput for another number of dimensions."""
    if len(shape) != rank:
        raise lib.BadInput(f"{what} has {len(shape)} dimensions; allowed: {rank}")


def groups_of(columns: int, group_size: int) -> int:
    """Groups of a row; 0 and below are one group."""
    return -(-columns // group_size) if group_size > 0 else 1


def float_kind(kind: str) -> str:
    """The kind itself where it is a float that linear_w8 knows; else one, for the library to refuse x."""
    return kind if kind in ("float32", "float16", "bfloat16") else "float32"


def linear_w8(b: Backend, x: Any, w: Any, scales: Any, bias: Any, zero_points: Any, group_size: int,
              out_kind: str) -> Any:
    """y of x [M, K]; 4-bit weights are uint8 [N, ceil(K / 2)], unsigned ones where zero_points are uint8."""
    rows, columns = _two(b, "linear_w8: x", x)
    channels, _ = _two(b, "linear_w8: w", w)
    y = b.empty((rows, channels), out_kind, x)
    a = lib.arena()
    weights = a.put(lib.LINEAR_WEIGHTS, _weights(b, a, w, zero_points, columns), b.describe(a, scales),
                    _optional(b, a, zero_points), group_size)
    lib.call("linear_w8", b.describe(a, x), weights, _optional(b, a, bias), b.describe(a, y), b.run(a, x), of=a)
    return y


def _two(b: Backend, what: str, array: Any) -> Sequence[int]:
    """The shape of an array of two dimensions."""
    shape = b.shape(array)
    if len(shape) != 2:
        require_rank(what, shape, 2)
    return shape


def _weights(b: Backend, a: lib.Arena, w: Any, zero_points: Any, columns: int) -> int:
    """The description of weights of `columns` input features, of 8 bits or of two in a byte."""
    if b.kind(w) != "uint8":
        return b.describe(a, w)
    rows, row_bytes = b.shape(w)
    if row_bytes != (columns + 1) // 2:
        raise lib.BadInput(f"linear_w8: w has rows of {row_bytes} bytes of two 4-bit weights; x, with {columns} "
                           f"columns, needs {(columns + 1) // 2}")
    unsigned = zero_points is not None and b.kind(zero_points) == "uint8"
    return b.describe(a, w, lib.UINT4 if unsigned else lib.INT4, (rows, columns))


def quantize_per_channel(b: Backend, w: Any, group_size: int) -> Tuple[Any, Any]:
    """(int8 [N, K], scales [N, groups])"""
    channels, columns = _two(b, "quantize_per_channel: w", w)
    values = b.empty((channels, columns), "int8", w)
    scales = b.empty((channels, groups_of(columns, group_size)), "float32", w)
    a = lib.arena()
    lib.call("quantize_per_channel", b.describe(a, w), group_size, b.describe(a, values), b.describe(a, scales),
             b.run(a, w), of=a)
    return values, scales


def quantize_to_int4(b: Backend, w: Any, group_size: int, zero_point: bool) -> Tuple[Any, Any, Any]:
    """(two signed values a byte [N, ceil(K / 2)], scales [N, groups], zero_points or None)"""
    channels, columns = _two(b, "quantize_to_int4: w", w)
    groups = groups_of(columns, group_size)
    values = b.empty((channels, (columns + 1) // 2), "uint8", w)
    scales = b.empty((channels, groups), "float32", w)
    points = b.empty((channels, groups), "int8", w) if zero_point else None
    a = lib.arena()
    lib.call("quantize_to_int4", b.describe(a, w), group_size,
             b.describe(a, values, lib.INT4, (channels, columns)), b.describe(a, scales),
             _optional(b, a, points), b.run(a, w), of=a)
    return values, scales, points


def quantization(preset: Optional[str] = None, **fields: Any) -> lib.Quantization:
    """The default or a preset, with these fields of qsim_quantization changed; words stand for codes."""
    how = lib.Quantization()
    if preset is None:
        lib.call("quantization_default", ctypes.addressof(how))
    else:
        lib.call("quantization_preset", preset.encode(), ctypes.addressof(how))
    words = {"format": lib.FORMATS, "scale_format": lib.SCALE_FORMATS, "scale_rounding": lib.SCALE_ROUNDINGS}
    for name, value in fields.items():
        if value is not None:
            setattr(how, name, word(name, value, words[name]) if name in words else value)
    return how


def word(field: str, value: str, allowed: Any) -> int:
    """The code of a word; BadInput for another one."""
    if value not in allowed:
        raise lib.BadInput(f"{field} is '{value}'; allowed: {', '.join(allowed)}")
    return allowed[value]


def packed_shape(shape: Sequence[int], dtype: int) -> Tuple[int, ...]:
    """The shape of the bytes that have elements of this type."""
    if dtype not in _TWO_A_BYTE:
        return tuple(shape)
    return (*shape[:-1], (shape[-1] + 1) // 2) if len(shape) > 0 else (1,)


def scale_shape(shape: Sequence[int], how: lib.Quantization) -> Tuple[int, ...]:
    """The shape of the scales: the source's with groups last, [groups, rows], or [1]."""
    if how.group == lib.PER_TENSOR:
        return (1,)
    columns = shape[-1] if len(shape) > 0 else 1
    groups = groups_of(columns, how.group)
    if how.column_major:
        return (groups, _rows(shape))
    return (*shape[:-1], groups) if len(shape) > 0 else (1, 1)


@functools.lru_cache(maxsize=256)
def group_quantization(name: str, group: int) -> lib.Quantization:
    """The same quantization for each call with a format and a group size alone."""
    return quantization(format=name, group=group)


def _quantized(b: Backend, a: lib.Arena, shape: Sequence[int], how: lib.Quantization, parts: Sequence[Any]) -> int:
    """A qsim_quantized of values, scales, zero_points, global_scale; codes are uint8 arrays or of their own kind."""
    values, scales, zero_points, global_scale = parts
    floats = how.scale_format == lib.FLOAT32
    return a.put(lib.QUANTIZED, b.describe(a, values, how.format, shape),
                 b.describe(a, scales) if floats else b.describe(a, scales, how.scale_format, b.shape(scales)),
                 _optional(b, a, zero_points), _optional(b, a, global_scale))


def quantize_into(b: Backend, x: Any, how: lib.Quantization, parts: Sequence[Any]) -> None:
    """x to given values, scales, zero_points and global_scale, of packed_shape() and scale_shape()."""
    shape = b.shape(x)
    expected = packed_shape(shape, how.format)
    if tuple(b.shape(parts[0])) != expected:
        raise lib.BadInput(f"quantize: the values have the shape {list(b.shape(parts[0]))}; expected {list(expected)}")
    a = lib.arena()
    arguments = (b.describe(a, x), ctypes.addressof(how), _quantized(b, a, shape, how, parts))
    workspace = None
    if b.is_on_gpu(x) and (how.group <= 0 or how.scale_format == lib.FP8_E4M3):
        size = ctypes.c_size_t()
        lib.call("quantize", *arguments, a.put(lib.RUN, lib.RUN.size, 0, 0, 0, 0, ctypes.addressof(size), 0))
        workspace = b.empty((size.value,), "uint8", x) if size.value > 0 else None
    lib.call("quantize", *arguments, b.run(a, x, workspace), of=a)


def dequantize(b: Backend, shape: Sequence[int], how: lib.Quantization, parts: Sequence[Any], out_kind: str) -> Any:
    """Values, scales, zero_points and global_scale to an array of `shape`."""
    y = b.empty(shape, out_kind, parts[0])
    a = lib.arena()
    q = _quantized(b, a, shape, how, parts)
    lib.call("dequantize", q, ctypes.addressof(how), b.describe(a, y), b.run(a, y), of=a)
    return y


def int4_to_fp8(b: Backend, shape: Sequence[int], how: lib.Quantization, parts: Sequence[Any], times_scale: bool,
                out_kind: str, out_format: int) -> Any:
    """INT4 values to FP8 of `shape`: the numbers, or the numbers times their scales."""
    y = b.empty(shape, out_kind, parts[0])
    a = lib.arena()
    q = _quantized(b, a, shape, how, parts)
    lib.call("int4_to_fp8", q, ctypes.addressof(how), int(times_scale), b.describe(a, y, out_format, shape),
             b.run(a, y), of=a)
    return y


# stride, pads (top, left, bottom, right), dilation, as lib.WINDOW has them
Window = Tuple[int, int, int, int, int, int, int, int]


def window_of(stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]) -> Window:
    """[h, w] each; one number stands for both."""
    pairs: List[Tuple[int, int]] = []
    for name, given in (("stride", stride), ("padding", padding), ("dilation", dilation)):
        both = tuple(given) * 2 if len(given) == 1 else tuple(given)
        if len(both) != 2:
            raise lib.BadInput(f"{name} has {len(both)} numbers; allowed: 1 and 2")
        pairs.append(both)  # type: ignore[arg-type]
    (sh, sw), (ph, pw), (dh, dw) = pairs
    return sh, sw, ph, pw, ph, pw, dh, dw


def output_size(window: Window, size: Sequence[int], kernel: Sequence[int]) -> Tuple[int, int]:
    """[height, width] of a convolution; at least 0."""
    sizes = []
    for axis in (0, 1):
        stride, dilation = window[axis], window[6 + axis]
        span = size[axis] + window[2 + axis] + window[4 + axis] - (kernel[axis] - 1) * dilation - 1
        sizes.append(max(span // stride + 1, 0) if stride > 0 else 0)
    return sizes[0], sizes[1]


def pack_activations(b: Backend, x: Any, v: Any) -> Any:
    """Bits [B, H, W, N, words] of x [B, H, W, C]."""
    require_rank("pack_activations: x", b.shape(x), 4)
    bases = 1 if v is None else b.shape(v)[0]
    bits = b.empty((*b.shape(x)[:3], bases, -(-b.shape(x)[3] // 64)), "int64", x)
    a = lib.arena()
    lib.call("pack_activations", b.describe(a, x), _optional(b, a, v), b.describe(a, bits), b.run(a, x), of=a)
    return bits


def binarize_weights(b: Backend, w: Any, bases: int, u: Any, per_channel: bool) -> Tuple[Any, Any]:
    """(words [O, M, kh, kw, words], alpha [M, O]) of w [O, kh, kw, C]."""
    require_rank("binarize_weights: w", b.shape(w), 4)
    out, height, width, channels = b.shape(w)
    words = b.empty((out, max(bases, 0), height, width, -(-channels // 64)), "int64", w)
    alpha = b.empty((max(bases, 0), out), "float32", w)
    a = lib.arena()
    lib.call("binarize_weights", b.describe(a, w), _optional(b, a, u), int(per_channel), b.describe(a, words),
             b.describe(a, alpha), b.run(a, w), of=a)
    return words, alpha


def binary_conv2d(b: Backend, x: Any, v: Any, words: Any, alpha: Any, beta: Any, bias: Any, channels: int,
                  window: Window) -> Any:
    """y [B, OH, OW, O] of bits [B, H, W, N, words], or with v of floats [B, H, W, C]."""
    name = "binary_conv2d" if v is None else "abc_conv2d"
    require_rank(f"{name}: {'bits' if v is None else 'x'}", b.shape(x), 5 if v is None else 4)
    require_rank(f"{name}: words", b.shape(words), 5)
    size = output_size(window, b.shape(x)[1:3], b.shape(words)[2:4])
    y = b.empty((b.shape(x)[0], *size, b.shape(words)[0]), "float32", x)
    a = lib.arena()
    weights = a.put(lib.BINARY_WEIGHTS, channels, b.describe(a, words), b.describe(a, alpha), b.describe(a, beta),
                    _optional(b, a, bias))
    thresholds = () if v is None else (b.describe(a, v),)
    lib.call(name, b.describe(a, x), *thresholds, weights, a.put(lib.WINDOW, *window), b.describe(a, y), b.run(a, x),
             of=a)
    return y


def binary_layer(b: Backend, channels: int, words: Any, alpha: Any, beta: Any, bias: Any, window: Window,
                 size: Sequence[int], device: int) -> int:
    """A qsim_binary_layer of weights on the CPU for bits of `size` (batch, height, width) on a GPU."""
    made = ctypes.c_void_p()
    a = lib.arena()
    weights = a.put(lib.BINARY_WEIGHTS, channels, b.describe(a, words), b.describe(a, alpha), b.describe(a, beta),
                    _optional(b, a, bias))
    lib.call("binary_layer_create", weights, a.put(lib.WINDOW, *window), *size, device, ctypes.addressof(made), of=a)
    assert made.value is not None
    return made.value


def binary_layer_run(b: Backend, bits: Any, packed: Any, layer: int, size: Sequence[int]) -> Any:
    """y of `size` (height, width, channels) by a layer."""
    y = b.empty((b.shape(bits)[0], *size), "float32", bits)
    a = lib.arena()
    lib.call("binary_layer_run", layer, b.describe(a, packed), b.describe(a, bits), b.describe(a, y), b.run(a, bits),
             of=a)
    return y


def conv2d_int8(b: Backend, x: Any, w: Any, scales: Any, bias: Any, window: Window, groups: int,
                zero_points: Tuple[int, int], rounding: str, clamp: Tuple[Optional[int], Optional[int]],
                out_kind: str) -> Any:
    """y [B, OH, OW, O] of x [B, H, W, C] and w [O, kh, kw, C / groups]."""
    require_rank("conv2d_int8: x", b.shape(x), 4)
    require_rank("conv2d_int8: w", b.shape(w), 4)
    mode = word("rounding", rounding, lib.ROUNDINGS)
    size = output_size(window, b.shape(x)[1:3], b.shape(w)[1:3])
    y = b.empty((b.shape(x)[0], *size, b.shape(w)[0]), out_kind, x)
    least, most = (0, 255) if out_kind == "uint8" else (-128, 127)
    a = lib.arena()
    how = a.put(lib.REQUANTIZATION, b.describe(a, scales), mode, *zero_points, least if clamp[0] is None else clamp[0],
                most if clamp[1] is None else clamp[1])
    lib.call("conv2d_int8", b.describe(a, x), b.describe(a, w), _optional(b, a, bias), a.put(lib.WINDOW, *window),
             groups, how, b.describe(a, y), b.run(a, x), of=a)
    return y
