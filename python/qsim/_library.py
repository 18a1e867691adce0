"""libqsim_golden by ctypes: its structs (include/qsim/golden.h), its functions, its errors."""
from __future__ import annotations

import ctypes
import operator
import os
import pathlib
import struct
from typing import Any, List, Optional, Sequence

ABI_VERSION = 1

# qsim_dtype
FLOAT32, FLOAT16, BFLOAT16, INT8, UINT8, INT32, FP8_E4M3, FP8_E5M2, INT4, UINT4, FP4_E2M1, UE8M0, BITS64 = range(1, 14)
CPU, CUDA = 0, 1
# Their names in this package.
FORMATS = {"int8": INT8, "fp8_e4m3": FP8_E4M3, "fp8_e5m2": FP8_E5M2, "int4": INT4, "fp4_e2m1": FP4_E2M1}
SCALE_FORMATS = {"fp32": FLOAT32, "ue8m0": UE8M0, "e4m3": FP8_E4M3}
SCALE_ROUNDINGS = {"floor": 0, "ceil": 1, "half_up": 2}
ROUNDINGS = {"floor": 0, "half_even": 1, "half_up": 2, "float32": 3}
PER_TOKEN, PER_TENSOR = 0, -1


class Error(Exception):
    """What libqsim_golden refused, or could not do: one line that says where, what, and what is allowed."""


class BadInput(Error, ValueError):
    """A shape, type, stride, device or value that is not allowed."""


class Unsupported(Error, NotImplementedError):
    """Well-formed, but the library has no kernel for it."""


class NoMemory(Error, MemoryError):
    """Host memory is used up."""


class DeviceError(Error, RuntimeError):
    """CUDA refused."""


class InternalError(Error, RuntimeError):
    """A bug of qsim."""


_ERRORS = {1: BadInput, 2: Unsupported, 3: NoMemory, 4: DeviceError, 5: InternalError}


class Quantization(ctypes.Structure):
    """qsim_quantization"""
    _fields_ = [("struct_bytes", ctypes.c_size_t), ("format", ctypes.c_int32), ("scale_format", ctypes.c_int32),
                ("scale_rounding", ctypes.c_int32), ("column_major", ctypes.c_int32), ("group", ctypes.c_int64),
                ("zero_point", ctypes.c_int32), ("stochastic", ctypes.c_int32), ("seed", ctypes.c_uint64),
                ("clip_value", ctypes.c_float), ("clip_ppm", ctypes.c_int32)]


# The other structs, as they lie in memory; pointers are numbers.
LINEAR_WEIGHTS = struct.Struct("QQQq")  # values, scales, zero_points, group_size
QUANTIZED = struct.Struct("QQQQ")  # values, scales, zero_points, global_scale
WINDOW = struct.Struct("8q")  # stride, pads (top, left, bottom, right), dilation
BINARY_WEIGHTS = struct.Struct("qQQQQ")  # channels, words, alpha, beta, bias
REQUANTIZATION = struct.Struct("Q5i4x")  # scales, rounding, x_zero_point, y_zero_point, lo, hi
RUN = struct.Struct("6Qi4x")  # struct_bytes, threads, stream, workspace and its bytes, query, check_values
_TENSOR = "Q4i2Q"  # data, dtype, device, device_index, rank, shape, strides
TENSOR_BYTES = struct.calcsize(_TENSOR)
TENSORS = [struct.Struct(f"{_TENSOR}{2 * rank}q") for rank in range(17)]


INT32_RANGE, INT64_RANGE = (-2**31, 2**31 - 1), (-2**63, 2**63 - 1)


def whole(name: str, value: int, least: int, most: int) -> int:
    """The value, an integer of a field with these limits: ctypes cuts off what does not fit."""
    number = operator.index(value)
    if not least <= number <= most:
        raise BadInput(f"{name} is {number}; allowed: {least} to {most}")
    return number


class Arena:
    """Memory for the structs of one call: making ctypes objects for them would take most of a short call's time."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(8192)
        self.base = ctypes.addressof(self.memory)
        self.used = 0

    def put(self, kind: struct.Struct, *values: int) -> int:
        """The address of a struct of these values."""
        offset = self.used
        try:
            kind.pack_into(self.memory, offset, *values)
        except struct.error as error:
            raise BadInput(f"a number of this call is too large for its field: {error}") from None
        self.used = offset + kind.size
        return self.base + offset

    def tensor(self, pointer: int, dtype: int, device: int, index: int, shape: Sequence[int],
               strides: Optional[Sequence[int]]) -> int:
        """The address of a qsim_tensor; strides in elements, None: row-major without gaps."""
        rank = len(shape)
        if rank > 16:
            raise BadInput(f"a tensor has {rank} dimensions; allowed: 0 to 16")
        offset = self.used
        kind = TENSORS[rank]
        sizes = self.base + offset + TENSOR_BYTES
        if strides is None:
            kind.pack_into(self.memory, offset, pointer, dtype, device, index, rank, sizes, 0, *shape, *shape)
        else:
            kind.pack_into(self.memory, offset, pointer, dtype, device, index, rank, sizes, sizes + 8 * rank, *shape,
                           *strides)
        self.used = offset + kind.size
        return self.base + offset


# Arenas that no call uses. list's pop() and append() are atomic, so that threads share it.
_free: List[Arena] = []


def arena() -> Arena:
    """An arena for one call(), which gives it back."""
    try:
        return _free.pop()
    except IndexError:
        return Arena()


_POINTER, _INT32, _INT64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
# The arguments of each function that returns a status; structs go by reference.
_FUNCTIONS = {
    "linear_w8": [_POINTER] * 5,
    "quantize_per_channel": [_POINTER, _INT64, _POINTER, _POINTER, _POINTER],
    "quantize_to_int4": [_POINTER, _INT64, _POINTER, _POINTER, _POINTER, _POINTER],
    "quantization_default": [_POINTER],
    "quantization_preset": [ctypes.c_char_p, _POINTER],
    "quantize": [_POINTER] * 4,
    "dequantize": [_POINTER] * 4,
    "int4_to_fp8": [_POINTER, _POINTER, _INT32, _POINTER, _POINTER],
    "pack_activations": [_POINTER] * 4,
    "binarize_weights": [_POINTER, _POINTER, _INT32, _POINTER, _POINTER, _POINTER],
    "binary_conv2d": [_POINTER] * 5,
    "abc_conv2d": [_POINTER] * 6,
    "binary_layer_create": [_POINTER, _POINTER, _INT64, _INT64, _INT64, _INT32, _POINTER],
    "binary_layer_run": [_POINTER] * 5,
    "conv2d_int8": [_POINTER, _POINTER, _POINTER, _POINTER, _INT64, _POINTER, _POINTER, _POINTER],
    "threads_create": [_INT32, _POINTER],
}


def _load() -> ctypes.CDLL:
    """The library of QSIM_GOLDEN_LIBRARY, else the wheel's."""
    path = os.environ.get("QSIM_GOLDEN_LIBRARY") or pathlib.Path(__file__).with_name("libqsim_golden.so")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"libqsim_golden cannot be loaded: {error}; install the wheel of `./dev wheel`, or set "
                          "QSIM_GOLDEN_LIBRARY to a built library") from None
    found = library.qsim_abi_version()
    if found != ABI_VERSION:
        raise ImportError(f"{path} has ABI version {found}; this package needs {ABI_VERSION}")
    library.qsim_version.restype = ctypes.c_char_p
    library.qsim_last_error.restype = ctypes.c_char_p
    for name in ("threads_destroy", "binary_layer_destroy"):
        function = getattr(library, "qsim_" + name)
        function.argtypes = [_POINTER]
        function.restype = None
    library.qsim_binary_layer_packed.argtypes = [_POINTER, _POINTER]
    library.qsim_binary_layer_packed.restype = _POINTER
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, "qsim_" + name)
        function.argtypes = arguments
        function.restype = ctypes.c_int
    return library


_library = _load()
_calls = {name: getattr(_library, "qsim_" + name) for name in _FUNCTIONS}


def version() -> str:
    """The version of the library, "0.1.0"."""
    return _library.qsim_version().decode()


def has_cuda() -> bool:
    """Whether the library has CUDA kernels."""
    return bool(_library.qsim_has_cuda())


def call(name: str, *arguments: Any, of: Optional[Arena] = None) -> None:
    """Calls qsim_NAME; raises the error of its status. The GIL is released meanwhile.

    `of` has the structs that the arguments point at; it must not be used after this.
    """
    status = _calls[name](*arguments)
    if of is not None:
        of.used = 0
        _free.append(of)
    if status != 0:
        raise _ERRORS.get(status, InternalError)(_library.qsim_last_error().decode())


def threads_create(count: int) -> int:
    """A qsim_threads of `count` threads (0: one a processor), for Run.threads."""
    made = ctypes.c_void_p()
    call("threads_create", count, ctypes.byref(made))
    assert made.value is not None
    return made.value


def threads_destroy(threads: int) -> None:
    """Ends the threads."""
    _library.qsim_threads_destroy(threads)


def binary_layer_packed(layer: int) -> bytes:
    """What a qsim_binary_layer needs on its device."""
    count = ctypes.c_size_t()
    where = _library.qsim_binary_layer_packed(layer, ctypes.byref(count))
    return ctypes.string_at(where, count.value)


def binary_layer_destroy(layer: int) -> None:
    """Frees the layer."""
    _library.qsim_binary_layer_destroy(layer)
