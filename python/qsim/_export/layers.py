"""Quantized layers among float ones as an ONNX file of their arithmetic: int32 sums, and float32 numbers in between.

torch.fx traces the model, so that any module whose forward pass does not depend on numbers can be written. What becomes of a
node is in _MODULES and _FUNCTIONS; all else is refused, because its bits differ from library to library.
"""
from __future__ import annotations

import copy
import operator
from typing import Any, Callable, Dict, List, NoReturn, Sequence, Set

from .. import _library as lib
from .._chain import plan as plans
from .._torch_operations import torch
from .._training.layers import QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear
from .integer_layer import write_integer_layer
from .onnx_file import OnnxFile, window_attributes

nn, fx = torch.nn, torch.fx
functional = torch.nn.functional
BATCH = 2  # of the pass that finds shapes
QUANTIZED = (QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear)
DROPOUTS = (nn.Dropout, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
ALLOWED = ("allowed: quantized layers, ReLU, MaxPool2d, Flatten, Dropout, Identity, Residual and additions; a QuantizedSequential "
           "has BatchNorm and average pools too")


class _Model(nn.Module):
    """The model as a submodule, so that it may be a layer itself."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)


class _Tracer(fx.Tracer):
    """Its nodes are the modules that are not made of others."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, QUANTIZED) or hasattr(m, "levels_scale") or super().is_leaf_module(m, module_qualified_name)


def _traced(model: nn.Module) -> fx.GraphModule:
    whole = _Model(model)
    try:
        return fx.GraphModule(whole, _Tracer().trace(whole))
    except fx.proxy.TraceError as error:
        raise lib.Unsupported(f"export_onnx: the model's forward pass depends on its numbers ({error}); allowed: the same steps for "
                              "each x") from error


class LayersFile(OnnxFile):
    """The file while the traced model runs. `names` has the tensor of each node, `values` what it computed."""

    def __init__(self, onnx: Any):
        super().__init__(onnx)
        self.names: Dict[Any, str] = {}
        self.values: Dict[Any, Any] = {}
        self.changed: List[Any] = []  # (what, tensor) of operations in place
        self.layers = 0
        self.used: Set[str] = set()
        self.output_shape: List[int] = []

    def refuse(self, what: str, why: str) -> NoReturn:
        raise lib.Unsupported(f"export_onnx: {what} {why}")

    def unique(self, path: str) -> str:
        """A name for a layer; with a number where the layer is used again."""
        name, count = path, 1
        while name in self.used:
            count += 1
            name = f"{path}.{count}"
        self.used.add(name)
        return name

    def add(self, node: Any, module: Any, value: Any) -> None:
        """One node of the traced model, after it has run."""
        self.values[node] = value
        if node.op == "placeholder":
            self.names[node] = "input"
        elif node.op == "call_module":
            self._add_module(node, module)
        elif node.op == "output":
            self._finish(node.args[0])
        elif node.op == "get_attr":
            self.refuse(f"'{_path(node.target)}'", f"is a tensor of the model itself; {ALLOWED}")
        elif isinstance(value, torch.Tensor):
            known = _FUNCTIONS.get(node.target)
            if known is None:
                self.refuse(f"the operation {_name_of(node.target)}", f"is not written; {ALLOWED}")
            known(self, self.unique(node.name), node)

    def _add_module(self, node: Any, module: Any) -> None:
        name = _path(node.target) or type(module).__name__
        what = f"layer {name} ({type(module).__name__})"
        if module._forward_hooks or module._forward_pre_hooks:
            self.refuse(what, "has a hook, which no file has")
        same = isinstance(module, nn.AdaptiveAvgPool2d) and self.same_shape(node)
        known = _keep if same or isinstance(module, DROPOUTS) else _MODULES.get(type(module))
        if known is None:
            self.refuse(what, f"is not written; {ALLOWED}")
        known(self, self.unique(name), what, node, module)

    def same_shape(self, node: Any) -> bool:
        return self.values[node.args[0]].shape == self.values[node].shape

    def step(self, node: Any, kind: str, name: str, *read: Any, **attributes: Any) -> None:
        """A node of the file that reads the first argument, and `read`."""
        reads = [self.names[one] for one in (node.args[0], *read)]
        self.names[node] = self.node(kind, name, reads, f"{name}.out", **attributes)

    def _finish(self, last: Any) -> None:
        if not isinstance(last, fx.Node) or last not in self.names:
            self.refuse("the model", "gives something else than a tensor; allowed: one tensor")
        if self.layers == 0:
            self.refuse("the model", f"has no quantized layer; {ALLOWED}")
        self.node("Identity", "output.identity", [self.names[last]], "output")
        reads = [name for node in self.nodes for name in node.input]
        for what, name in self.changed:
            if reads.count(name) > 1:
                self.refuse(what, "changes a tensor in place that is read elsewhere too; allowed: inplace=False")
        self.output_shape = list(self.values[last].shape[1:])


def _path(target: str) -> str:
    """A module's name in the model."""
    return target[len("model."):] if target.startswith("model.") else ""


def _name_of(target: Any) -> str:
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def _keep(file: LayersFile, _name: str, _what: str, node: Any, _module: Any) -> None:
    file.names[node] = file.names[node.args[0]]


def _quantized(file: LayersFile, name: str, what: str, node: Any, module: Any) -> None:
    x = file.values[node.args[0]]
    rank = 2 if isinstance(module, QuantizedLinear) else 4
    if x.dim() != rank:
        file.refuse(what, f"reads a tensor of {x.dim()} dimensions; allowed: {rank}")
    file.names[node] = write_integer_layer(file, name, what, file.names[node.args[0]], module)
    file.layers += 1


def _relu(file: LayersFile, name: str, what: str, node: Any, module: Any) -> None:
    if module.inplace:
        file.changed.append((what, file.names[node.args[0]]))
    file.step(node, "Relu", name)


def _max_pool(file: LayersFile, name: str, what: str, node: Any, module: Any) -> None:
    x, y = file.values[node.args[0]], file.values[node]
    if module.return_indices or x.dim() != 4:
        file.refuse(what, "has return_indices, or reads no pictures, which is not possible here")
    kernel, stride = plans.pair(module.kernel_size), plans.pair(module.stride)
    pads, dilation = plans.pair(module.padding), plans.pair(module.dilation)
    # What ceil_mode adds is written as pads, which are less than any number.
    ends = [max(pad, (count - 1) * step + distance * (size - 1) + 1 - given - pad)
            for pad, count, step, distance, size, given in zip(pads, y.shape[2:], stride, dilation, kernel, x.shape[2:])]
    file.step(node, "MaxPool", name, kernel_shape=list(kernel), **window_attributes((*stride, *pads, *ends, *dilation)))


def _flatten(file: LayersFile, name: str, what: str, node: Any, _module: Any = None) -> None:
    x, y = file.values[node.args[0]], file.values[node]
    if tuple(y.shape) != (BATCH, x[0].numel()):
        file.refuse(what, f"makes {list(y.shape[1:])} of {list(x.shape[1:])}; allowed: one dimension beside the batch")
    if file.same_shape(node):
        return _keep(file, name, what, node, _module)
    return file.step(node, "Flatten", name, axis=1)


def _add(file: LayersFile, name: str, node: Any) -> None:
    one, other = node.args[:2] if len(node.args) > 1 else (node.args[0], node.kwargs.get("other"))
    if not isinstance(one, fx.Node) or not isinstance(other, fx.Node) or node.kwargs.get("alpha", 1) != 1 or file.values[one].shape != file.values[other].shape:
        file.refuse(f"the operation {_name_of(node.target)}", "does not add two tensors of one shape")
    if node.target in (operator.iadd, "add_"):
        file.changed.append((f"the operation {_name_of(node.target)}", file.names[one]))
    file.step(node, "Add", name, other)


def _call_relu(file: LayersFile, name: str, node: Any) -> None:
    inplace = node.target in (functional.relu_, torch.relu_, "relu_") or node.kwargs.get("inplace") or True in node.args[1:]
    _relu(file, name, f"the operation {_name_of(node.target)}", node, nn.ReLU(bool(inplace)))


def _call_max_pool(file: LayersFile, name: str, node: Any) -> None:
    _max_pool(file, name, "the operation max_pool2d", node, nn.MaxPool2d(*node.args[1:], **node.kwargs))


def _call_flatten(file: LayersFile, name: str, node: Any) -> None:
    _flatten(file, name, f"the operation {_name_of(node.target)}", node)


def _call_dropout(file: LayersFile, name: str, node: Any) -> None:
    if not torch.equal(file.values[node], file.values[node.args[0]]) or node.kwargs.get("training", True) is not False:
        file.refuse("the operation dropout", "drops in eval mode too; allowed: training=self.training")
    _keep(file, name, "", node, None)


_MODULES: Dict[type, Callable[..., None]] = {
    **dict.fromkeys(QUANTIZED, _quantized), nn.ReLU: _relu, nn.MaxPool2d: _max_pool, nn.Flatten: _flatten, nn.Identity: _keep,
}
_FUNCTIONS: Dict[Any, Callable[..., None]] = {
    **dict.fromkeys((operator.add, operator.iadd, torch.add, "add", "add_"), _add),
    **dict.fromkeys((functional.relu, functional.relu_, torch.relu, torch.relu_, "relu", "relu_"), _call_relu),
    **dict.fromkeys((torch.flatten, "flatten", "view", "reshape", torch.reshape), _call_flatten),
    **dict.fromkeys((functional.max_pool2d, torch.max_pool2d), _call_max_pool), functional.dropout: _call_dropout,
    "contiguous": lambda file, name, node: _keep(file, name, "", node, None),
}


class _Writing(fx.Interpreter):
    """Runs the traced model and writes each node after it."""

    def write(self, file: LayersFile, x: torch.Tensor) -> None:
        """As run(x), which puts its own lines under those of an error."""
        modules = dict(self.module.named_modules())
        self.args_iter = iter((x,))
        for node in self.module.graph.nodes:  # type: ignore[union-attr,unused-ignore]
            self.env[node] = self.run_node(node)
            file.add(node, modules.get(str(node.target)), self.env[node])


def layers_file(onnx: Any, model: nn.Module, shape: Sequence[int]) -> Any:
    """The ModelProto of a model in eval mode that reads pictures of this shape."""
    file = LayersFile(onnx)
    traced = _traced(copy.deepcopy(model).cpu().eval())
    with torch.no_grad():
        _Writing(traced).write(file, torch.zeros((BATCH, *shape)))
    return file.made(shape, file.output_shape)
