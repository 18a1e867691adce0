"""torch.jit.trace, and torch.onnx.export that uses it: what of qsim they may see."""
from __future__ import annotations

from typing import Any

from .. import _library as lib


def refuse_tracing(module: Any, *_inputs: Any, **_keywords: Any) -> Any:
    """As a module's _slow_forward, which PyTorch calls in place of forward() while it traces.

    A trace does not have what the library computes: it would give other numbers, or a file without layers, and no error.
    """
    raise lib.Unsupported(f"{type(module).__name__} cannot be traced (torch.jit.trace, torch.onnx.export); qsim.torch.export_onnx "
                          "writes a file, torch.compile makes a graph")
