"""export_onnx(): a QuantizedSequential as an int8 ONNX file of QLinear operators, with the bytes of its eval mode."""
from __future__ import annotations

import copy
import importlib
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .. import _library as lib
from .._torch_operations import torch
from .._training import calls
from . import levels as arithmetic
from . import plan as plans
from . import run as runs
from .module import QuantizedSequential

OPSET, IR_VERSION = 14, 8  # Relu of int8 came with 14
LEAST_RATIO, LARGEST_RATIO = 2.0 ** -16, 2.0 ** 8  # of the scales of an addition, for qsim
SIDECAR_FIELDS = ("resize", "mean", "std", "labels")


def _onnx() -> Any:
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx, from 1.10 on, which is not installed") from error


class _Writer:
    """Nodes and constants of a file. `names` has the tensor of each value of the plan."""

    def __init__(self, onnx: Any, run: runs.Run):
        self.onnx, self.run = onnx, run
        self.nodes: List[Any] = []
        self.constants: Dict[str, Any] = {}
        self.names: List[str] = ["input.levels"] + [""] * (len(run.plan.values) - 1)

    def constant(self, name: str, values: torch.Tensor) -> str:
        if name not in self.constants:
            array = values.detach().cpu().contiguous().numpy()
            self.constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def scale_of(self, value: int) -> List[str]:
        """The names of a tensor's scale and zero_point."""
        known = self.run.plan.values[value]
        point = torch.tensor(known.zero_point, dtype=torch.int8)
        return [self.constant(f"scale.{known.row}", self.run.scale(value)[0].clone()),
                self.constant(f"zero_point.{-known.zero_point}", point)]

    def node(self, operator: str, name: str, reads: Sequence[str], writes: str, **attributes: Any) -> str:
        own = operator.startswith("QLinear") and operator != "QLinearConv" or operator == "QGemm"
        domain = "com.microsoft" if own else ""
        self.nodes.append(self.onnx.helper.make_node(operator, list(reads), [writes], name=name, domain=domain, **attributes))
        return writes

    def quantized(self, value: int) -> List[str]:
        """A tensor, its scale and its zero_point."""
        return [self.names[value], *self.scale_of(value)]

    def after(self, step: Any, made: str) -> None:
        """The ReLU that a step has in it. Where the zero_point is the lowest level, saturation is ReLU."""
        if step.relu and self.run.plan.values[step.y].zero_point == 0:
            made = self.node("Relu", f"{step.name}.relu", [made], f"{step.name}.relu.out")
        self.names[step.y] = made

    def convolution(self, step: plans.Convolution, kept: runs.Tensors) -> None:
        w, w_scales, *norm = kept
        assert w is not None and w_scales is not None
        bias = getattr(step.layer, "bias", None)
        gain, offset = norm[:2] if norm else (None, None if bias is None else bias.detach().double())
        folded = arithmetic.fold(self.run.scale(step.x), w_scales, self.run.scale(step.y), gain, offset)
        sign = torch.where(folded.multipliers < 0, -1, 1).to(torch.int32)  # a scale is positive: the weights take the sign
        weights = w.to(torch.int32) * sign[:, None, None, None]
        if folded.alive is not None:
            weights = weights * folded.alive[:, None, None, None]
        flat = isinstance(step.layer, torch.nn.Linear)
        stored = weights[:, 0, 0] if flat else weights.permute(0, 3, 1, 2)
        products = self.run.scale(step.x) * folded.w_scales
        if not bool((products / self.run.scale(step.y) > 0).all()):
            raise lib.BadInput(f"export_onnx: a scale of layer {step.name} is too small for float32; train its weights on")
        reads = [*self.quantized(step.x), self.constant(f"{step.name}.weight", stored.to(torch.int8)),
                 self.constant(f"{step.name}.weight_scale", folded.w_scales),
                 self.constant(f"{step.name}.weight_zero_point", torch.zeros(len(w), dtype=torch.int8))]
        biases = [] if folded.bias is None else [self.constant(f"{step.name}.bias", folded.bias * sign)]
        made = f"{step.name}.out"
        if flat:
            self.node("QGemm", step.name, [*reads, *(biases or [""]), *self.scale_of(step.y)], made, transB=1)
        else:
            self.node("QLinearConv", step.name, [*reads, *self.scale_of(step.y), *biases], made, group=step.groups or len(w),
                      kernel_shape=list(w.shape[1:3]), **_window(step.window))
        self.after(step, made)

    def add(self, step: plans.Add) -> None:
        for value in (step.x, step.other):
            ratio = float(self.run.scale(value) / self.run.scale(step.y))
            if not LEAST_RATIO <= ratio < LARGEST_RATIO:
                raise lib.Unsupported(f"export_onnx: layer {step.name} adds a tensor whose scale is {ratio} times its result's; "
                                      "allowed: 2^-16 to below 2^8, so train on")
        reads = [*self.quantized(step.x), *self.quantized(step.other), *self.scale_of(step.y)]
        self.after(step, self.node("QLinearAdd", step.name, reads, f"{step.name}.out"))

    def step(self, step: Any, kept: runs.Tensors) -> None:
        if isinstance(step, plans.Convolution):
            self.convolution(step, kept)
        elif isinstance(step, plans.Add):
            self.add(step)
        elif isinstance(step, plans.Dropout):
            self.names[step.y] = self.names[step.x]
        elif isinstance(step, plans.MaxPool):
            self.names[step.y] = self.node("MaxPool", step.name, [self.names[step.x]], f"{step.name}.out",
                                           kernel_shape=list(step.kernel), **_window(step.window))
        elif isinstance(step, plans.Flatten):
            self.names[step.y] = self.node("Flatten", step.name, [self.names[step.x]], f"{step.name}.out", axis=1)
        else:
            reads = [*self.quantized(step.x), *self.scale_of(step.y)]
            self.names[step.y] = self.node("QLinearGlobalAveragePool", step.name, reads, f"{step.name}.out", channels_last=0)

    def model(self, input_shape: Sequence[int]) -> Any:
        helper, float32 = self.onnx.helper, self.onnx.TensorProto.FLOAT
        plan = self.run.plan
        self.node("QuantizeLinear", "input.quantize", ["input", *self.scale_of(0)], self.names[0])
        for step, kept in zip(plan.steps, self.run.kept):
            self.step(step, kept)
        self.node("DequantizeLinear", "output.dequantize", self.quantized(plan.output), "output")
        _, height, width, channels = self.run.shapes[plan.output]
        output_shape = [channels] if plan.flat_output else [channels, height, width]
        ends = [[helper.make_tensor_value_info(name, float32, ["N", *shape])]
                for name, shape in (("input", input_shape), ("output", output_shape))]
        graph = helper.make_graph(self.nodes, "qsim", *ends, initializer=list(self.constants.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="qsim")


def _window(window: Sequence[int]) -> Dict[str, List[int]]:
    return {"strides": list(window[:2]), "pads": list(window[2:6]), "dilations": list(window[6:8])}


def _sidecar(fields: Mapping[str, Any]) -> str:
    """The YAML file beside a model (docs/reference/sidecar.md)."""
    unknown = [name for name in fields if name not in SIDECAR_FIELDS]
    if unknown:
        raise lib.BadInput(f"export_onnx: the sidecar has a field '{unknown[0]}'; allowed: {', '.join(SIDECAR_FIELDS)}")
    lists = {name: "[" + ", ".join(str(one) for one in values) + "]" for name, values in fields.items()}
    parts = [f"{name}: {lists[name]}" for name in SIDECAR_FIELDS[:3] if name in lists]
    text = "preprocess: {" + ", ".join(parts) + "}\n" if parts else ""
    return text + (f"labels: {lists['labels']}\n" if "labels" in lists else "")


def export_onnx(model: torch.nn.Module, path: Union[str, os.PathLike[str]], input_shape: Sequence[int],
                sidecar: Optional[Mapping[str, Any]] = None) -> None:
    """Writes a QuantizedSequential, as it is in eval mode, as an int8 ONNX file: `qsim run` and ONNX Runtime give its bytes.

    input_shape: (C, H, W) or (K,), without the batch. sidecar: resize, mean, std and labels, for the YAML file of the same name
    (docs/reference/sidecar.md). Needs the package onnx. Raises Unsupported for another model or rounding="toward_zero".
    """
    onnx = _onnx()
    importlib.import_module("onnx.numpy_helper")
    if not isinstance(model, QuantizedSequential):
        raise lib.Unsupported(f"export_onnx: the model is a {type(model).__name__}; allowed: QuantizedSequential")
    if model._settings.input.rounding != calls.HALF_EVEN:
        raise lib.Unsupported("export_onnx: x is rounded toward_zero, which ONNX does not have; train with half_even")
    shape = [int(size) for size in input_shape]
    if len(shape) != (1 if model._plan.flat_input else 3) or min(shape) < 1:
        raise lib.BadInput(f"export_onnx: input_shape is {tuple(shape)}; allowed: (K,) where the first layer is a Linear, else "
                           "(C, H, W)")
    chain = copy.deepcopy(model).cpu().eval()
    x = torch.zeros((1, *shape))
    chain._check(x)
    run = chain.new_run()
    runs.forward(run, chain.channels_last(x), True)
    written = _Writer(onnx, run).model(shape)
    text = None if sidecar is None else _sidecar(sidecar)
    onnx.save(written, os.fspath(path))
    if text is not None:
        pathlib.Path(path).with_suffix(".yaml").write_text(text)
