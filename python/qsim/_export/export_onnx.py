"""export_onnx(): a trained module in eval mode as an ONNX file."""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

from .. import _library as lib
from .._chain.module import QuantizedSequential
from .._torch_operations import torch
from .chain import chain_file
from .layers import layers_file
from .onnx_file import onnx_package, save


def export_onnx(model: torch.nn.Module, path: Union[str, os.PathLike[str]], input_shape: Sequence[int],
                sidecar: Optional[Mapping[str, Any]] = None) -> None:
    """Writes a trained module, as it is in eval mode, as an ONNX file that has its bits.

    A QuantizedSequential becomes an int8 file: `qsim run`, `qsim golden run` and ONNX Runtime give its bytes. Quantized layers
    in other modules (convert()) hand real numbers on: their file has sums of integers and float32 in between, which
    `qsim golden run` and ONNX Runtime run, and the accelerator does not; QuantizedSequential.of() makes a chain of them.

    input_shape: (C, H, W) or (K,), without the batch. sidecar: resize, mean, std and labels, for the YAML file of the same name
    (docs/reference/eval.md). Needs the package onnx. Raises Unsupported for what no file gives the same bits.
    """
    onnx = onnx_package()
    shape = [int(size) for size in input_shape]
    if len(shape) not in (1, 3) or min(shape) < 1:
        raise lib.BadInput(f"export_onnx: input_shape is {tuple(shape)}; allowed: (C, H, W) or (K,), without the batch")
    made = chain_file(onnx, model, shape) if isinstance(model, QuantizedSequential) else layers_file(onnx, model, shape)
    save(onnx, made, path, sidecar)
