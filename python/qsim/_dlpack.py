"""DLPack (dmlc.github.io/dlpack) by ctypes: what other libraries give, and what qsim.golden.Array gives them."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Tuple

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
# (DLDataTypeCode, bits) of the kinds of elements, and back.
CODES = {"int8": (0, 8), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8), "uint64": (1, 64),
         "float16": (2, 16), "float32": (2, 32), "bfloat16": (4, 16), "fp8_e4m3": (10, 8), "fp8_e5m2": (12, 8),
         "ue8m0": (14, 8)}
KINDS = {code: kind for kind, code in CODES.items()}
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    """DLTensor"""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    """DLManagedTensor"""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
# The same by the object's address: a destructor must not count references to what is being freed.
_functions = ctypes.PyDLL(None)
_is_valid_at: Callable[[int, bytes], int] = _functions.PyCapsule_IsValid
_functions.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_functions.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_functions.PyCapsule_GetPointer.restype = ctypes.c_void_p

# What has been given away, by the address of its DLManagedTensor.
_given: Dict[int, Tuple[Any, ...]] = {}


@_Deleter
def _delete(managed: Any) -> None:
    _given.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _destroy(capsule: int) -> None:
    """A capsule that nobody took frees what it holds; one that was taken has another name."""
    if _is_valid_at(capsule, _NAME):
        _given.pop(_functions.PyCapsule_GetPointer(capsule, _NAME), None)


def give(owner: Any, address: int, kind: str, shape: Tuple[int, ...]) -> Any:
    """A capsule of row-major CPU memory, which `owner` keeps."""
    rank = len(shape)
    sizes = (ctypes.c_int64 * rank)(*shape)
    strides = (ctypes.c_int64 * rank)()
    step = 1
    for axis in reversed(range(rank)):
        strides[axis] = step
        step *= max(shape[axis], 1)
    code, bits = CODES[kind]
    tensor = _Tensor(address, CPU, 0, rank, code, bits, 1, sizes, strides, 0)
    managed = _Managed(tensor, None, _delete)
    where = ctypes.addressof(managed)
    _given[where] = (owner, managed, sizes, strides)
    return _new(where, _NAME, _destroy)


class Taken:
    """Another library's array: pointer, kind, device, shape and strides. It lives as long as this."""

    def __init__(self, array: Any):
        # Where the capsule is not renamed, its own destructor frees the tensor.
        self._array = array
        self._capsule = self._ask(array)
        tensor = _Managed.from_address(_pointer(self._capsule, _NAME)).tensor
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.device = (tensor.device_type, tensor.device_id)
        self.shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
        self.strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides else None
        plain = tensor.lanes == 1
        self.kind = KINDS.get((tensor.code, tensor.bits), "") if plain else ""
        self.text = self.kind or f"DLPack type {tensor.code} of {tensor.bits} bits"

    @staticmethod
    def _ask(array: Any) -> Any:
        device, _ = array.__dlpack_device__()
        if device in (CUDA, CUDA_MANAGED):
            return array.__dlpack__(stream=1)  # the default stream, which qsim.golden uses
        return array.__dlpack__()
