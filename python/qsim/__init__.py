"""Kernels of quantized inference with defined bits, and the qsim accelerator simulator.

qsim.golden takes and gives arrays by DLPack, qsim.torch PyTorch tensors; both call libqsim_golden. run() and
verify() call the qsim program and return its JSON as Python objects.
"""
from ._errors import BadInput, DeviceError, Error, InternalError, NoMemory, Unsupported
from ._library import version
from ._program import ProgramError, run, verify

__version__ = version()
__all__ = ["BadInput", "DeviceError", "Error", "InternalError", "NoMemory", "ProgramError", "Unsupported", "run",
           "verify", "version"]
