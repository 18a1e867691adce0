"""An ONNX file while it is written: its nodes and constants, and the sidecar beside it."""
from __future__ import annotations

import importlib
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .. import _library as lib
from .._torch_operations import torch

OPSET, IR_VERSION = 14, 8  # Relu of int8 came with 14
SIDECAR_FIELDS = ("resize", "mean", "std", "labels")


def onnx_package() -> Any:
    """The package onnx."""
    try:
        importlib.import_module("onnx.numpy_helper")
        return importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx, from 1.10 on, which is not installed") from error


class OnnxFile:
    """Nodes and constants of a file whose float32 tensors "input" and "output" have a symbolic batch."""

    def __init__(self, onnx: Any):
        self.onnx = onnx
        self.nodes: List[Any] = []
        self.constants: Dict[str, Any] = {}

    def constant(self, name: str, values: torch.Tensor) -> str:
        """Its name. A constant of this name that is there already stays."""
        if name not in self.constants:
            array = values.detach().cpu().contiguous().numpy()
            self.constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def node(self, operator: str, name: str, reads: Sequence[str], writes: str, **attributes: Any) -> str:
        """The name of what it writes."""
        own = operator.startswith("QLinear") and operator != "QLinearConv" or operator == "QGemm"
        domain = "com.microsoft" if own else ""
        self.nodes.append(self.onnx.helper.make_node(operator, list(reads), [writes], name=name, domain=domain, **attributes))
        return writes

    def made(self, input_shape: Sequence[int], output_shape: Sequence[int]) -> Any:
        """The ModelProto. Shapes are without the batch."""
        helper, float32 = self.onnx.helper, self.onnx.TensorProto.FLOAT
        ends = [[helper.make_tensor_value_info(name, float32, ["N", *shape])]
                for name, shape in (("input", input_shape), ("output", output_shape))]
        graph = helper.make_graph(self.nodes, "qsim", *ends, initializer=list(self.constants.values()))
        domains = {node.domain for node in self.nodes} - {""}
        opsets = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="qsim")


def window_attributes(window: Sequence[int]) -> Dict[str, List[int]]:
    """Of stride, pads and dilation, as _convolutions.Window has them."""
    return {"strides": list(window[:2]), "pads": list(window[2:6]), "dilations": list(window[6:8])}


def sidecar_text(fields: Mapping[str, Any]) -> str:
    """The YAML file beside a model (docs/reference/eval.md)."""
    unknown = [name for name in fields if name not in SIDECAR_FIELDS]
    if unknown:
        raise lib.BadInput(f"export_onnx: the sidecar has a field '{unknown[0]}'; allowed: {', '.join(SIDECAR_FIELDS)}")
    lists = {name: "[" + ", ".join(str(one) for one in values) + "]" for name, values in fields.items()}
    parts = [f"{name}: {lists[name]}" for name in SIDECAR_FIELDS[:3] if name in lists]
    text = "preprocess: {" + ", ".join(parts) + "}\n" if parts else ""
    return text + (f"labels: {lists['labels']}\n" if "labels" in lists else "")


def save(onnx: Any, model: Any, path: Union[str, os.PathLike[str]], sidecar: Optional[Mapping[str, Any]]) -> None:
    """Writes the model, and its sidecar where there is one."""
    text = None if sidecar is None else sidecar_text(sidecar)
    onnx.save(model, os.fspath(path))
    if text is not None:
        pathlib.Path(path).with_suffix(".yaml").write_text(text)
