"""libqsim_golden (include/qsim/golden.h): its structs and functions by ctypes, or by _fast_call where arrays allow it."""
from __future__ import annotations

import ctypes
import importlib
import operator
import os
import pathlib
import struct
from typing import Any, Dict, List, Mapping, Optional, Protocol, Sequence, Tuple

from ._errors import BY_STATUS, BadInput, InternalError, Unsupported
from ._signatures import SIGNATURES, c_types, struct_of

_fast_call: Any
try:
    _fast_call = importlib.import_module("._fast_call", __package__)  # CPython 3.10 and later
except ImportError:
    _fast_call = None

ABI_VERSION = 1

# qsim_dtype
FLOAT32, FLOAT16, BFLOAT16, INT8, UINT8, INT32, FP8_E4M3, FP8_E5M2, INT4, UINT4, FP4_E2M1, UE8M0, BITS64, INT64 = range(1, 15)
CPU, CUDA = 0, 1
# Their names in this package.
FORMATS = {"int8": INT8, "fp8_e4m3": FP8_E4M3, "fp8_e5m2": FP8_E5M2, "int4": INT4, "fp4_e2m1": FP4_E2M1}
SCALE_FORMATS = {"fp32": FLOAT32, "ue8m0": UE8M0, "e4m3": FP8_E4M3}
SCALE_ROUNDINGS = {"floor": 0, "ceil": 1, "half_up": 2}
ROUNDINGS = {"floor": 0, "half_even": 1, "half_up": 2, "float32": 3}
PER_TOKEN, PER_TENSOR = 0, -1


class Quantization(ctypes.Structure):
    """qsim_quantization"""
    _fields_ = [("struct_bytes", ctypes.c_size_t), ("format", ctypes.c_int32), ("scale_format", ctypes.c_int32),
                ("scale_rounding", ctypes.c_int32), ("column_major", ctypes.c_int32), ("group", ctypes.c_int64),
                ("zero_point", ctypes.c_int32), ("stochastic", ctypes.c_int32), ("seed", ctypes.c_uint64),
                ("clip_value", ctypes.c_float), ("clip_ppm", ctypes.c_int32)]


# struct_bytes, threads, stream, workspace and its bytes, query, check_values, constant_weights
RUN = struct.Struct("6Qii")
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


class Backend(Protocol):
    """One kind of array."""

    entries: Mapping[str, bytes]  # fast_entries() of its class

    def shape(self, array: Any) -> Sequence[int]:
        """Its shape."""

    def kind(self, array: Any) -> str:
        """A key of _operations.KINDS, or another word, which the library refuses."""

    def describe(self, a: Arena, array: Any, dtype: Optional[int] = None, shape: Optional[Sequence[int]] = None) -> int:
        """The address of its qsim_tensor; with `dtype` and `shape` those of the elements in its bytes, without gaps."""

    def empty(self, shape: Sequence[int], kind: str, like: Any) -> Any:
        """A new array on the device of `like`."""

    def memory(self, array: Any) -> Tuple[int, int]:
        """Address and bytes of a workspace, which empty() made."""

    def threads(self) -> int:
        """The qsim_threads of a call; 0: the calling thread alone."""

    def stream(self, like: Any) -> int:
        """The stream for work on the device of `like`; 0 for the default."""

    def is_on_gpu(self, array: Any) -> bool:
        """Whether a call with it only enqueues, and may need a workspace."""


# Arenas that no call uses. list's pop() and append() are atomic, so that threads share it.
_free: List[Arena] = []


def _load() -> ctypes.CDLL:
    """The library of QSIM_GOLDEN_LIBRARY, else the wheel's, else, of a checkout, that of build/release."""
    here = pathlib.Path(__file__).resolve()
    packed, built = here.with_name("libqsim_golden.so"), here.parent.parent.parent / "build/release/golden/c_interface/libqsim_golden.so"
    path = os.environ.get("QSIM_GOLDEN_LIBRARY") or (built if built.exists() and not packed.exists() else packed)
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
        function.argtypes = [ctypes.c_void_p]
        function.restype = None
    library.qsim_binary_layer_packed.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.qsim_binary_layer_packed.restype = ctypes.c_void_p
    for name, signature in SIGNATURES.items():
        try:
            function = getattr(library, "qsim_" + name)
        except AttributeError:
            raise ImportError(f"{path} is older than this package; build it again") from None
        function.argtypes = c_types(signature)
        function.restype = ctypes.c_int
    return library


_library = _load()
_calls = {name: getattr(_library, "qsim_" + name) for name in SIGNATURES}


def version() -> str:
    """The version of the library, "0.1.0"."""
    return _library.qsim_version().decode()


def has_cuda() -> bool:
    """Whether the library has CUDA kernels."""
    return bool(_library.qsim_has_cuda())


_run_entry: Any = _fast_call.call if _fast_call is not None else None


def _arena() -> Arena:
    try:
        return _free.pop()
    except IndexError:
        return Arena()


def plain_call(name: str, *arguments: int) -> None:
    """call() without arrays."""
    status = _calls[name](*arguments)
    if status != 0:
        raise BY_STATUS.get(status, InternalError)(_library.qsim_last_error().decode())


def fast_entries(kind: type) -> Dict[str, bytes]:
    """What call() is fast with for arrays of this class, by function: none without DLPack's exchange API."""
    if _fast_call is None:
        return {}
    found = {name: _fast_call.entry(kind, ctypes.cast(_calls[name], ctypes.c_void_p).value, signature)
             for name, signature in SIGNATURES.items()}
    return {name: entry for name, entry in found.items() if entry is not None}


def call(b: Backend, name: str, *arguments: Any) -> None:
    """Calls qsim_NAME with the arguments of its signature; raises the error of its status. The GIL is released meanwhile.

    An array may be (array, dtype, shape): elements of this type and shape in its bytes, which have no gaps. A workspace is
    None, an array of bytes, or the address of the answer to a query.
    """
    entry = b.entries.get(name)
    status = -1 if entry is None else _run_entry(entry, *arguments)
    if status == -1:  # what the short way leaves to this one
        a = _arena()
        status = _calls[name](*_described(b, a, SIGNATURES[name], arguments))
        a.used = 0
        _free.append(a)
    if status != 0:
        raise BY_STATUS.get(status, InternalError)(_library.qsim_last_error().decode())


def _described(b: Backend, a: Arena, signature: str, arguments: Sequence[Any]) -> List[Any]:
    """The arguments of the C function: numbers, and addresses of structs in the arena."""
    given = iter(arguments)
    like = None
    result: List[Any] = []
    open_structs: List[Tuple[List[Any], str]] = []  # those around the current one, and their letters so far
    into, letters = result, ""
    for kind in signature:
        if kind == "(":
            open_structs.append((into, letters))
            into, letters = [], ""
        elif kind == ")":
            where = a.put(struct_of(letters), *into)
            into, letters = open_structs.pop()
            into.append(where)
            letters += "p"
        elif kind in "RS":
            result.append(_run(b, a, like, next(given), next(given), int(next(given)) if kind == "S" else 0))
        else:
            value = next(given)
            if kind == "T":
                array = value[0] if isinstance(value, tuple) else value
                like = array if like is None else like
                value = 0 if array is None else b.describe(a, *value) if array is not value else b.describe(a, array)
            into.append(value)
            letters += kind
    return result


def _run(b: Backend, a: Arena, like: Any, threads: int, workspace: Any, constant: int) -> int:
    """The address of a qsim_run on the stream of `like`; 0 for the default."""
    stream = b.stream(like)
    if isinstance(workspace, int):
        return a.put(RUN, RUN.size, threads, stream, 0, 0, workspace, 0, constant)
    if workspace is not None:
        address, size = b.memory(workspace)
        return a.put(RUN, RUN.size, threads, stream, address, size, 0, 0, constant)
    if not (threads or stream or constant):
        return 0
    return a.put(RUN, RUN.size, threads, stream, 0, 0, 0, 0, constant)


def threads_create(count: int) -> int:
    """A qsim_threads of `count` threads (0: one a processor), for Run.threads."""
    made = ctypes.c_void_p()
    plain_call("threads_create", count, ctypes.addressof(made))
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
