"""The operators of qsim.torch as functions of tensors: what torch.ops.qsim.* calls on CPU and CUDA tensors."""
from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple

try:
    import torch
except ImportError as error:
    raise ImportError("qsim.torch needs PyTorch, from 1.13 on, which is not installed; qsim.golden does not") from error

from . import _convolutions as convolutions
from . import _library as lib
from . import _operations as ops

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "int8": torch.int8,
           "uint8": torch.uint8, "int32": torch.int32, "int64": torch.int64,
           "fp8_e4m3": getattr(torch, "float8_e4m3fn", torch.uint8),
           "fp8_e5m2": getattr(torch, "float8_e5m2", torch.uint8)}
_KINDS = {dtype: kind for kind, dtype in reversed(list(DTYPES.items()))}
_KINDS[torch.uint8] = "uint8"
_FLOATS = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
_CODES = {dtype: ops.KINDS[kind] for dtype, kind in _KINDS.items()}


class _Team:
    """A qsim_threads, which ends with this object. A child after fork() has its memory and not its threads."""

    def __init__(self, count: int):
        self.count = count
        self.process = os.getpid()
        self.pointer = lib.threads_create(count)

    def is_of(self, count: int) -> bool:
        return self.count == count and self.process == os.getpid()

    def __del__(self) -> None:
        if hasattr(self, "pointer") and self.process == os.getpid():
            lib.threads_destroy(self.pointer)


class _Threads(threading.local):
    """The team of each Python thread; it ends with the thread."""
    team: Optional[_Team] = None

    def pointer(self) -> int:
        """As many as set_threads() said."""
        wanted = _thread_count
        if self.team is None or not self.team.is_of(wanted):
            self.team = _Team(wanted)
        return self.team.pointer


_threads = _Threads()
_thread_count = 1


def set_threads(count: int) -> None:
    """How many threads a CPU operator uses, with the caller's own; 0: one a processor. At first 1."""
    global _thread_count
    if not 0 <= count <= 1024:
        raise lib.BadInput(f"set_threads: count is {count}; allowed: 0 to 1024")
    _thread_count = count


def _current_stream(index: int) -> int:
    """The cudaStream_t of the current stream of a device."""
    if _raw_stream is not None:
        return _raw_stream(index)
    return torch.cuda.current_stream(index).cuda_stream


# A tenth of the time of current_stream(), which makes an object; what torch.compile's own code calls.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


class _TorchBackend:
    """Backend of PyTorch tensors (_library.py)."""

    entries: Mapping[str, bytes] = lib.fast_entries(torch.Tensor)

    def shape(self, array: torch.Tensor) -> Sequence[int]:
        return array.shape

    def kind(self, array: torch.Tensor) -> str:
        return _KINDS.get(array.dtype, str(array.dtype))

    def describe(self, a: lib.Arena, array: torch.Tensor, dtype: Optional[int] = None,
                 shape: Optional[Sequence[int]] = None) -> int:
        index = array.get_device()  # -1 of the CPU
        place = lib.CPU if index < 0 else lib.CUDA if array.is_cuda else -1
        if dtype is not None:
            return self._describe_codes(a, array, dtype, place, max(index, 0), shape)
        code = _CODES.get(array.dtype)
        sizes = array.shape
        rank = len(sizes)
        if code is None or rank > 16:
            raise lib.BadInput(f"a tensor of {array.dtype} with {rank} dimensions has no place in qsim; allowed: "
                               f"{', '.join(DTYPES)}, 0 to 16 dimensions")
        # Arena.tensor(), without a call: this is most of what a short operator costs.
        offset = a.used
        where = a.base + offset
        kind = lib.TENSORS[rank]
        a.used = offset + kind.size
        kind.pack_into(a.memory, offset, array.data_ptr(), code, place, max(index, 0), rank, where + lib.TENSOR_BYTES,
                       where + lib.TENSOR_BYTES + 8 * rank, *sizes, *array.stride())
        return where

    @staticmethod
    def _describe_codes(a: lib.Arena, array: torch.Tensor, dtype: int, place: int, index: int,
                        shape: Optional[Sequence[int]]) -> int:
        is_int64 = dtype == lib.INT64 and array.dtype is torch.int64  # BITS64 is the same type to PyTorch
        if array.dtype is not torch.uint8 and _CODES.get(array.dtype) != dtype and not is_int64:
            raise lib.BadInput(f"a tensor of {array.dtype} has codes of another type; give uint8, or the type itself")
        if not array.is_contiguous():
            raise lib.BadInput("a tensor of codes has strides with gaps; this tensor takes none")
        return a.tensor(array.data_ptr(), dtype, place, index, array.shape if shape is None else shape, None)

    def empty(self, shape: Sequence[int], kind: str, like: torch.Tensor) -> torch.Tensor:
        dtype = DTYPES[kind]
        if dtype is like.dtype:
            return like.new_empty(shape)  # half the time
        return like.new_empty(shape, dtype=dtype)

    def is_on_gpu(self, array: torch.Tensor) -> bool:
        return array.is_cuda

    def memory(self, array: torch.Tensor) -> Tuple[int, int]:
        return array.data_ptr(), array.numel()

    def threads(self) -> int:
        return _threads.pointer() if _thread_count != 1 else 0

    def stream(self, like: torch.Tensor) -> int:
        return _current_stream(like.get_device()) if like.is_cuda else 0


backend = _TorchBackend()
_b = backend


def kind_of(dtype: Optional[torch.dtype], default: str) -> str:
    if dtype is None:
        return default
    if dtype not in _KINDS:
        raise lib.BadInput(f"a result of {dtype} is not possible; see the function's text for what is")
    return _KINDS[dtype]


def nhwc(picture: torch.Tensor, what: str) -> torch.Tensor:
    """[B, C, H, W] as [B, H, W, C], without a copy."""
    ops.require_rank(what, picture.shape, 4)
    return picture.permute(0, 2, 3, 1)


def elements_shape(q: torch.Tensor, columns: int) -> Tuple[int, ...]:
    """The shape of 4-bit elements in bytes; `columns` 0: two in each byte."""
    last = columns if columns > 0 else 2 * q.shape[-1]
    if (last + 1) // 2 != q.shape[-1]:
        raise lib.BadInput(f"q has rows of {q.shape[-1]} bytes; {columns} columns of 4 bits need {(columns + 1) // 2}")
    return (*q.shape[:-1], last)


def linear_w8(x: torch.Tensor, w: torch.Tensor, scales: torch.Tensor, bias: Optional[torch.Tensor] = None,
              zero_points: Optional[torch.Tensor] = None, group_size: int = 0,
              out_dtype: Optional[torch.dtype] = None, constant_weights: bool = False) -> torch.Tensor:
    if _linear_entry is not None and out_dtype is None and _thread_count == 1 and w.dtype is torch.int8 and x.dim() == w.dim() == 2:
        # The ordinary call, in as little Python as possible. What it refuses, the rest takes or says what is wrong.
        y = x.new_empty((x.shape[0], w.shape[0]))
        if not _run_entry(_linear_entry, x, w, scales, zero_points, group_size, bias, y, 0, None, constant_weights):
            return y
    kind = _FLOATS.get(x.dtype, "float32") if out_dtype is None else kind_of(out_dtype, "")
    if x.is_cuda:  # kernels there take no gaps
        x, w, scales, bias, zero_points = _dense(x, w, scales, bias, zero_points)
    return _of_rows(x, w, "linear_w8", lambda rows: ops.linear_w8(_b, rows, w, scales, bias, zero_points, group_size, kind,
                                                                  constant_weights))


_linear_entry = _b.entries.get("linear_w8")
_run_entry: Any = lib._run_entry


def _dense(*arrays: Optional[torch.Tensor]) -> List[Any]:
    """The tensors, or of those with gaps copies."""
    return [array if array is None or array.is_contiguous() else array.contiguous() for array in arrays]


def _of_rows(x: torch.Tensor, w: torch.Tensor, name: str, layer: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A layer of x [..., K], which takes [M, K]."""
    if x.dim() == 2:
        return layer(x)
    if x.dim() == 0:
        raise lib.BadInput(f"{name}: x has 0 dimensions; allowed: 1 and more")
    rows = x.shape[:-1].numel()  # -1 is refused for no columns
    return layer(x.reshape(rows, x.shape[-1])).reshape(*x.shape[:-1], w.shape[0])


def linear_w8a8(x: torch.Tensor, w: torch.Tensor, scales: torch.Tensor, bias: Optional[torch.Tensor] = None,
                x_scale: Optional[float] = None, out_dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    kind = _FLOATS.get(x.dtype, "float32") if out_dtype is None else kind_of(out_dtype, "")
    if x.is_cuda:
        x, w, scales, bias = _dense(x, w, scales, bias)
    return _of_rows(x, w, "linear_w8a8", lambda rows: ops.linear_w8a8(_b, rows, w, scales, bias, x_scale, kind))


def quantize_per_channel(w: torch.Tensor, group_size: int = 0) -> Tuple[torch.Tensor, torch.Tensor]:
    return ops.quantize_per_channel(_b, w, group_size)


def quantize_to_int4(w: torch.Tensor, group_size: int) -> Tuple[torch.Tensor, torch.Tensor]:
    values, scales, _ = ops.quantize_to_int4(_b, w, group_size, False)
    return values, scales


def fp8_of(q: torch.Tensor) -> str:
    return "fp8_e5m2" if q.dtype is getattr(torch, "float8_e5m2", None) else "fp8_e4m3"


def fp16_to_fp8(x: torch.Tensor, q: torch.Tensor, scales: torch.Tensor, group_size: int) -> None:
    ops.quantize_into(_b, x, ops.group_quantization(fp8_of(q), group_size), (q, scales, None, None))


def fp16_to_int4(x: torch.Tensor, q: torch.Tensor, scales: torch.Tensor, group_size: int) -> None:
    ops.quantize_into(_b, x, ops.group_quantization("int4", group_size), (q, scales, None, None))


def int4_to_fp8(q: torch.Tensor, scales: torch.Tensor, group_size: int, times_scale: bool = False,
                 columns: int = 0) -> torch.Tensor:
    how = ops.group_quantization("int4", group_size)
    return ops.int4_to_fp8(_b, elements_shape(q, columns), how, (q, scales, None, None), times_scale, "fp8_e4m3",
                           lib.FP8_E4M3)


def int4_to_fp16(q: torch.Tensor, scales: torch.Tensor, group_size: int, columns: int = 0) -> torch.Tensor:
    how = ops.group_quantization("int4", group_size)
    return ops.dequantize(_b, elements_shape(q, columns), how, (q, scales, None, None), "float16")


def fp8_to_fp16(q: torch.Tensor, scales: torch.Tensor, group_size: int) -> torch.Tensor:
    how = ops.group_quantization(fp8_of(q), group_size)
    return ops.dequantize(_b, q.shape, how, (q, scales, None, None), "float16")


def pack_activations(x: torch.Tensor, v: Optional[torch.Tensor] = None) -> torch.Tensor:
    picture = nhwc(x, "pack_activations: x")
    return convolutions.pack_activations(_b, picture, v)


def binarize_weights(w: torch.Tensor, bases: int, per_channel: bool = False) -> Tuple[torch.Tensor, torch.Tensor]:
    return convolutions.binarize_weights(_b, nhwc(w, "binarize_weights: w"), bases, None, per_channel)


def binary_conv2d(bits: torch.Tensor, words: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor,
                   bias: Optional[torch.Tensor], channels: int, stride: List[int], padding: List[int],
                   dilation: List[int]) -> torch.Tensor:
    window = convolutions.window_of(stride, padding, dilation)
    return convolutions.binary_conv2d(_b, bits, None, words, alpha, beta, bias, channels, window).permute(0, 3, 1, 2)


class PlannedLayer:
    """A qsim_binary_layer, and its tables on the device. Operators take its `number`, which names no other layer."""

    def __init__(self, channels: int, parts: Sequence[Optional[torch.Tensor]], window: convolutions.Window,
                 size: Sequence[int], device: torch.device):
        words, alpha, beta, bias = parts
        self.handle = convolutions.binary_layer(_b, channels, words, alpha, beta, bias, window, size, device.index)
        weakref.finalize(self, lib.binary_layer_destroy, self.handle)
        tables = bytearray(lib.binary_layer_packed(self.handle))
        self.packed = torch.frombuffer(tables, dtype=torch.uint8).to(device)
        self.number = next(_numbers)
        _planned[self.number] = self


_numbers = itertools.count(1)
_planned: weakref.WeakValueDictionary[int, PlannedLayer] = weakref.WeakValueDictionary()


def binary_layer(bits: torch.Tensor, packed: torch.Tensor, layer: int, size: List[int]) -> torch.Tensor:
    found = _planned.get(layer)
    if found is None:
        raise lib.BadInput(f"binary_layer: there is no layer {layer}; BinaryConv2d makes and calls them")
    # The layer's own tables were there before the constructor returned; a copy may be a kernel's result.
    constant = packed.data_ptr() == found.packed.data_ptr()
    return convolutions.binary_layer_run(_b, bits, packed, found.handle, size, constant).permute(0, 3, 1, 2)


def abc_conv2d(x: torch.Tensor, v: torch.Tensor, words: torch.Tensor, alpha: torch.Tensor, beta: torch.Tensor,
                bias: Optional[torch.Tensor], stride: List[int], padding: List[int],
                dilation: List[int]) -> torch.Tensor:
    window = convolutions.window_of(stride, padding, dilation)
    picture = nhwc(x, "abc_conv2d: x")
    return convolutions.binary_conv2d(_b, picture, v, words, alpha, beta, bias, picture.shape[3], window).permute(0, 3, 1, 2)


def conv2d_int8(x: torch.Tensor, w: torch.Tensor, scales: torch.Tensor, bias: Optional[torch.Tensor],
                 stride: List[int], padding: List[int], dilation: List[int], groups: int, x_zero_point: int,
                 y_zero_point: int, rounding: str, lo: Optional[int], hi: Optional[int],
                 out_dtype: Optional[torch.dtype]) -> torch.Tensor:
    y = convolutions.conv2d_int8(_b, nhwc(x, "conv2d_int8: x"), nhwc(w, "conv2d_int8: w"), scales, bias,
                        convolutions.window_of(stride, padding, dilation), groups, (x_zero_point, y_zero_point), rounding,
                        (lo, hi), kind_of(out_dtype, "int8"))
    return y.permute(0, 3, 1, 2)
