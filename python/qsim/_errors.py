"""What the library refuses or cannot do, as exceptions."""
from __future__ import annotations


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


BY_STATUS = {1: BadInput, 2: Unsupported, 3: NoMemory, 4: DeviceError, 5: InternalError}
