"""Linear layers and conversions, once for all kinds of arrays: shapes and types of results, and calls of the library.

A Backend knows one kind of array: how to describe one to the library, and how to make one. _convolutions.py has the
other operations.
"""
from __future__ import annotations

import ctypes
import functools
import math
from typing import Any, Optional, Sequence, Tuple

from . import _library as lib

# qsim_dtype by the kind of an array's elements. 4-bit and 8-bit floats may be uint8 arrays.
KINDS = {"float32": lib.FLOAT32, "float16": lib.FLOAT16, "bfloat16": lib.BFLOAT16, "int8": lib.INT8,
         "uint8": lib.UINT8, "int32": lib.INT32, "fp8_e4m3": lib.FP8_E4M3, "fp8_e5m2": lib.FP8_E5M2,
         "int64": lib.BITS64, "uint64": lib.BITS64}
_TWO_A_BYTE = (lib.INT4, lib.UINT4, lib.FP4_E2M1)


Backend = lib.Backend


def rows_of(shape: Sequence[int]) -> int:
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
              out_kind: str, constant: bool = False) -> Any:
    """y of x [M, K]; 4-bit weights are uint8 [N, ceil(K / 2)], unsigned ones where zero_points are uint8."""
    rows, columns = _two(b, "linear_w8: x", x)
    channels, _ = _two(b, "linear_w8: w", w)
    y = b.empty((rows, channels), out_kind, x)
    lib.call(b, "linear_w8", x, _weights(b, w, zero_points, columns), scales, zero_points, group_size, bias, y,
             b.threads(), None, constant)
    return y


def linear_w8a8(b: Backend, x: Any, w: Any, scales: Any, bias: Any, x_scale: Optional[float], out_kind: str) -> Any:
    """y of x [M, K], which is quantized to int8: with `x_scale`, or with a scale of each row."""
    rows, _ = _two(b, "linear_w8a8: x", x)
    channels, _ = _two(b, "linear_w8a8: w", w)
    y = b.empty((rows, channels), out_kind, x)
    number = None if x_scale is None else ctypes.c_float(x_scale)
    arguments = (x, 0 if number is None else ctypes.addressof(number), w, scales, None, 0, bias, y, b.threads())
    lib.call(b, "linear_w8a8", *arguments, workspace_of(b, "linear_w8a8", x, arguments))
    return y


def workspace_of(b: Backend, name: str, like: Any, arguments: Sequence[Any]) -> Any:
    """The workspace that a call with these arguments asks for; None on the CPU, where none is needed."""
    if not b.is_on_gpu(like):
        return None
    size = ctypes.c_size_t()
    lib.call(b, name, *arguments, ctypes.addressof(size))
    return b.empty((size.value,), "uint8", like) if size.value > 0 else None


def _two(b: Backend, what: str, array: Any) -> Sequence[int]:
    """The shape of an array of two dimensions."""
    shape = b.shape(array)
    if len(shape) != 2:
        require_rank(what, shape, 2)
    return shape


def _weights(b: Backend, w: Any, zero_points: Any, columns: int) -> Any:
    """The argument of weights of `columns` input features, of 8 bits or of two in a byte."""
    if b.kind(w) != "uint8":
        return w
    rows, row_bytes = b.shape(w)
    if row_bytes != (columns + 1) // 2:
        raise lib.BadInput(f"linear_w8: w has rows of {row_bytes} bytes of two 4-bit weights; x, with {columns} "
                           f"columns, needs {(columns + 1) // 2}")
    unsigned = zero_points is not None and b.kind(zero_points) == "uint8"
    return w, lib.UINT4 if unsigned else lib.INT4, (rows, columns)


def quantize_per_channel(b: Backend, w: Any, group_size: int) -> Tuple[Any, Any]:
    """(int8 [N, K], scales [N, groups])"""
    channels, columns = _two(b, "quantize_per_channel: w", w)
    values = b.empty((channels, columns), "int8", w)
    scales = b.empty((channels, groups_of(columns, group_size)), "float32", w)
    lib.call(b, "quantize_per_channel", w, lib.whole("group_size", group_size, *lib.INT64_RANGE), values, scales,
             b.threads(), None)
    return values, scales


def quantize_to_int4(b: Backend, w: Any, group_size: int, zero_point: bool) -> Tuple[Any, Any, Any]:
    """(two signed values a byte [N, ceil(K / 2)], scales [N, groups], zero_points or None)"""
    channels, columns = _two(b, "quantize_to_int4: w", w)
    groups = groups_of(columns, group_size)
    values = b.empty((channels, (columns + 1) // 2), "uint8", w)
    scales = b.empty((channels, groups), "float32", w)
    points = b.empty((channels, groups), "int8", w) if zero_point else None
    lib.call(b, "quantize_to_int4", w, lib.whole("group_size", group_size, *lib.INT64_RANGE),
             (values, lib.INT4, (channels, columns)), scales, points, b.threads(), None)
    return values, scales, points


def quantization(preset: Optional[str] = None, **fields: Any) -> lib.Quantization:
    """The default or a preset, with these fields of qsim_quantization changed; words stand for codes."""
    how = lib.Quantization()
    if preset is None:
        lib.plain_call("quantization_default", ctypes.addressof(how))
    else:
        name = ctypes.create_string_buffer(preset.encode())
        lib.plain_call("quantization_preset", ctypes.addressof(name), ctypes.addressof(how))
    words = {"format": lib.FORMATS, "scale_format": lib.SCALE_FORMATS, "scale_rounding": lib.SCALE_ROUNDINGS}
    for field, value in fields.items():
        if value is not None:
            setattr(how, field, word(field, value, words[field]) if field in words else _number(field, value))
    return how


# The least and largest value of the other fields of qsim_quantization.
_LIMITS = {"group": lib.INT64_RANGE, "seed": (0, 2**64 - 1), "clip_ppm": lib.INT32_RANGE, "column_major": lib.INT32_RANGE,
           "zero_point": lib.INT32_RANGE,
           "stochastic": lib.INT32_RANGE}


def _number(field: str, value: Any) -> Any:
    """The value of a field that holds it; ctypes cuts off what does not fit."""
    if field == "clip_value":
        if not math.isinf(value) and abs(value) > _LARGEST_FLOAT:
            raise lib.BadInput(f"clip_value is {value}; allowed: a float32")
        return value
    return lib.whole(field, value, *_LIMITS[field])


_LARGEST_FLOAT = (2 - 2**-23) * 2.0**127


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
        return (groups, rows_of(shape))
    return (*shape[:-1], groups) if len(shape) > 0 else (1, 1)


@functools.lru_cache(maxsize=256)
def group_quantization(name: str, group: int) -> lib.Quantization:
    """The same quantization for each call with a format and a group size alone."""
    return quantization(format=name, group=group)


def _quantized(b: Backend, shape: Sequence[int], how: lib.Quantization, parts: Sequence[Any]) -> Tuple[Any, ...]:
    """The arguments of a qsim_quantized: values, scales, zero_points, global_scale; codes are uint8 or of their kind."""
    values, scales, zero_points, global_scale = parts
    if how.scale_format != lib.FLOAT32:
        scales = (scales, how.scale_format, None)
    # The library checks the shape of codes of a byte; that of others is not the array's.
    return (values, how.format, shape if how.format in _TWO_A_BYTE else None), scales, zero_points, global_scale


def quantize_into(b: Backend, x: Any, how: lib.Quantization, parts: Sequence[Any]) -> None:
    """x to given values, scales, zero_points and global_scale, of packed_shape() and scale_shape()."""
    shape = b.shape(x)
    expected = packed_shape(shape, how.format) if how.format in _TWO_A_BYTE else None
    if expected is not None and tuple(b.shape(parts[0])) != expected:
        raise lib.BadInput(f"quantize: the values have the shape {list(b.shape(parts[0]))}; expected {list(expected)}")
    arguments = (x, ctypes.addressof(how), *_quantized(b, shape, how, parts), b.threads())
    needs = how.group <= 0 or how.scale_format == lib.FP8_E4M3
    lib.call(b, "quantize", *arguments, workspace_of(b, "quantize", x, arguments) if needs else None)


def dequantize(b: Backend, shape: Sequence[int], how: lib.Quantization, parts: Sequence[Any], out_kind: str) -> Any:
    """Values, scales, zero_points and global_scale to an array of `shape`."""
    y = b.empty(shape, out_kind, parts[0])
    lib.call(b, "dequantize", *_quantized(b, shape, how, parts), ctypes.addressof(how), y, b.threads(), None)
    return y


def int4_to_fp8(b: Backend, shape: Sequence[int], how: lib.Quantization, parts: Sequence[Any], times_scale: bool,
                out_kind: str, out_format: int) -> Any:
    """INT4 values to FP8 of `shape`: the numbers, or the numbers times their scales."""
    y = b.empty(shape, out_kind, parts[0])
    lib.call(b, "int4_to_fp8", *_quantized(b, shape, how, parts), ctypes.addressof(how), int(times_scale),
             (y, out_format, shape), b.threads(), None)
    return y
