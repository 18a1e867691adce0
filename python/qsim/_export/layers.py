"""Quantized layers among float ones as an ONNX file of their arithmetic: int32 sums, and float32 numbers in between.

What becomes of a layer is in _LAYERS; all else is refused, because its bits differ from library to library.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, NoReturn, Sequence

from .. import _library as lib
from .._chain import plan as plans
from .._torch_operations import torch
from .._training.forward_steps import Step, copy_of, steps_of
from .._training.layers import QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear
from .integer_layer import write_integer_layer
from .onnx_file import OnnxFile, window_attributes

nn = torch.nn
FACTORS = (1.0, 2.0 ** -8, 2.0 ** 8)  # of the random pictures that the steps are tried with
QUANTIZED = (QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear)
ALLOWED = ("allowed: quantized layers, ReLU, MaxPool2d, Flatten, Dropout, Identity, Residual and additions; a QuantizedSequential "
           "has BatchNorm and average pools too")


class LayersFile(OnnxFile):
    """`names` has the tensor of each node of torch.fx."""

    def __init__(self, onnx: Any, start: Any):
        super().__init__(onnx)
        self.names: Dict[Any, str] = {start: "input"}

    def refuse(self, what: str, why: str) -> NoReturn:
        raise lib.Unsupported(f"export_onnx: {what} {why}")

    def add(self, step: Step) -> None:
        if step.keeps:
            self.names[step.node] = self.names[step.reads[0]]
            return
        known = _add if step.module is None else _LAYERS.get(type(step.module))
        if known is None:
            self.refuse(step.what, f"is not written; {ALLOWED}")
        known(self, step, step.module)

    def write(self, step: Step, kind: str, **attributes: Any) -> None:
        """The step as one node."""
        reads = [self.names[one] for one in step.reads]
        self.names[step.node] = self.node(kind, step.name, reads, f"{step.name}.out", **attributes)


def _quantized(file: LayersFile, step: Step, layer: Any) -> None:
    rank = 2 if isinstance(layer, QuantizedLinear) else 4
    if len(step.shapes[0]) != rank:
        file.refuse(step.what, f"reads a tensor of {len(step.shapes[0])} dimensions; allowed: {rank}")
    file.names[step.node] = write_integer_layer(file, step.name, step.what, file.names[step.reads[0]], layer)


def _max_pool(file: LayersFile, step: Step, layer: Any) -> None:
    x, y = step.shapes
    kernel, stride = plans.pair(layer.kernel_size), plans.pair(layer.stride)
    pads, dilation = plans.pair(layer.padding), plans.pair(layer.dilation)
    # What ceil_mode adds is written as pads, which are less than any number.
    ends = [max(pad, (count - 1) * move + distance * (size - 1) + 1 - given - pad)
            for pad, count, move, distance, size, given in zip(pads, y[2:], stride, dilation, kernel, x[2:])]
    if any(end >= size for end, size in zip(ends, kernel)):
        file.refuse(step.what, f"needs pads of {ends} where its kernel is {list(kernel)}; allowed: pads below the kernel, which "
                    "ceil_mode=False has")
    file.write(step, "MaxPool", kernel_shape=list(kernel), **window_attributes((*stride, *pads, *ends, *dilation)))


def _flatten(file: LayersFile, step: Step, _layer: Any) -> None:
    x, y = step.shapes
    if tuple(y) != (x[0], x[1:].numel()):
        file.refuse(step.what, f"makes {list(y[1:])} of {list(x[1:])}; allowed: one dimension beside the batch")
    if x == y:
        file.names[step.node] = file.names[step.reads[0]]
    else:
        file.write(step, "Flatten", axis=1)


def _relu(file: LayersFile, step: Step, _layer: Any) -> None:
    file.write(step, "Relu")


def _add(file: LayersFile, step: Step, _layer: Any) -> None:
    file.write(step, "Add")


_LAYERS: Dict[type, Callable[..., None]] = {
    **dict.fromkeys(QUANTIZED, _quantized), nn.ReLU: _relu, nn.MaxPool2d: _max_pool, nn.Flatten: _flatten,
}


def layers_file(onnx: Any, model: nn.Module, shape: Sequence[int]) -> Any:
    """The ModelProto of a model in eval mode that reads pictures of this shape."""
    x = torch.randn((len(FACTORS), *shape), generator=torch.Generator().manual_seed(0))
    factors = torch.tensor(FACTORS).reshape(-1, *(1 for _ in shape))
    traced = steps_of(copy_of(model, "export_onnx").cpu().eval(), factors * x, "export_onnx")
    file = LayersFile(onnx, traced.start)
    for step in traced.steps:
        file.add(step)
    if not any(isinstance(step.module, QUANTIZED) for step in traced.steps):
        file.refuse("the model", f"has no quantized layer; {ALLOWED}")
    file.node("Identity", "output.identity", [file.names[traced.end]], "output")
    return file.made(shape, traced.shape[1:])
