"""A model's forward pass as steps, each a layer or an addition, found by torch.fx: for what makes another form of a model."""
from __future__ import annotations

import contextlib
import copy
import operator
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Tuple, TypeVar

from .. import _library as lib
from .._errors import Error
from .._torch_operations import torch
from .layers import QuantizedConv2d, QuantizedLinear

nn, fx = torch.nn, torch.fx
functional = torch.nn.functional
DROPOUTS = (nn.Dropout, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
IN_PLACE = (operator.iadd, "add_", functional.relu_, torch.relu_, "relu_")
Module = TypeVar("Module", bound=nn.Module)


class Step(NamedTuple):
    """node: what fx calls it. what: its name for messages. module None: an addition. keeps: y is x."""
    node: fx.Node
    name: str
    what: str
    reads: List[fx.Node]
    module: Optional[nn.Module]
    shapes: List[torch.Size]  # of x and of y
    keeps: bool


class Steps(NamedTuple):
    """In the order of the forward pass, which reads `start` and gives `end`."""
    steps: List[Step]
    start: fx.Node
    end: fx.Node
    shape: torch.Size  # of the result


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
        own = isinstance(m, (QuantizedConv2d, QuantizedLinear)) or hasattr(m, "levels_scale")
        return own or super().is_leaf_module(m, module_qualified_name)


def what_of(name: str, module: nn.Module) -> str:
    """A layer for messages. name: its path."""
    kind = type(module).__name__
    return f"layer {name or kind} ({kind})"


def left_out(module: nn.Module) -> Optional[str]:
    """What a call of this module does that its layer's formula does not have."""
    if module._forward_hooks or module._forward_pre_hooks:
        return "has a hook, which would be left out; remove it"
    return "has a forward of its own, which would be left out; remove it" if "forward" in vars(module) else None


def copy_of(model: Module, caller: str) -> Module:
    """A deep copy. caller: opens its errors."""
    for name, module in model.named_modules():
        for key, value in (*vars(module).items(), *module._buffers.items()):
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                raise lib.Unsupported(f"{caller}: {what_of(name, module)} has a tensor '{key}' that is computed of others; make it "
                                      "a parameter again (remove_weight_norm, prune.remove), or delete it")
    return copy.deepcopy(model)


def _name_of(target: Any) -> str:
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


class _Maker(fx.Interpreter):
    """Makes the steps while the traced model runs. Each step reads copies: what changes them in place changes nothing else."""

    def __init__(self, traced: fx.GraphModule, caller: str):
        super().__init__(traced)
        self.caller = caller
        self.modules = dict(traced.named_modules())
        self.steps: List[Step] = []
        self.used: Dict[str, int] = {}

    def refuse(self, what: str, why: str) -> NoReturn:
        raise lib.Unsupported(f"{self.caller}: {what} {why}")

    def fetch_args_kwargs_from_env(self, n: fx.Node) -> Tuple[Any, Any]:
        """run_node() reads them."""
        found = super().fetch_args_kwargs_from_env(n)
        return fx.node.map_aggregate(found, lambda one: one.clone() if isinstance(one, torch.Tensor) else one)  # type: ignore

    def run_all(self, x: torch.Tensor, model: nn.Module) -> Steps:
        """As run(x), which puts its own lines under those of an error. Refuses steps that do not give the model's bits."""
        self.args_iter = iter((x,))
        graph: Any = self.module.graph
        nodes = list(graph.nodes)
        for node in nodes:
            self.env[node] = self.run_node(node)
            if node.op == "get_attr":
                self.refuse(f"'{str(node.target)[len('model.'):]}'", "is a tensor of the model itself, which no layer has")
            if node.op not in ("placeholder", "output") and isinstance(self.env[node], torch.Tensor):
                self.add(node)
        end = nodes[-1].args[0]
        if not isinstance(end, fx.Node) or not isinstance(self.env[end], torch.Tensor):
            self.refuse("the model", "gives something else than a tensor; allowed: one tensor")
        self.check_in_place(end)
        if not _same_bits(self.env[end], model(x.clone())):
            self.refuse("the model", "gives other numbers than its traced steps; write `y = y + x` for a `y += x` of a tensor that "
                        "is read elsewhere too, and leave out what is no layer and no operation")
        return Steps(self.steps, nodes[0], end, self.env[end].shape)

    def add(self, node: fx.Node) -> None:
        reads = [one for one in node.all_input_nodes if isinstance(self.env[one], torch.Tensor)]
        if node.op == "call_module":
            module = self.modules[str(node.target)]
            name = str(node.target)[len("model."):] or type(module).__name__
            what = what_of(name, module)
            self.check_call(node, what, module)
        else:
            name, what = node.name, f"the operation {_name_of(node.target)}"
            if node.target in ADDITIONS:
                return self.add_addition(node, what, name)
            known = _FUNCTIONS.get(node.target)
            if known is None:
                self.refuse(what, "is no layer, and none of relu, flatten, view, reshape, pools, dropout and additions")
            module = known(self, node, what)
        if len(reads) != 1:
            self.refuse(what, f"reads {len(reads)} tensors; allowed: 1")
        shapes = [self.env[one].shape for one in (reads[0], node)]
        same = isinstance(module, nn.AdaptiveAvgPool2d) and shapes[0] == shapes[1]
        self.steps.append(Step(node, self.unique(name), what, reads, module, shapes,
                               same or isinstance(module, (*DROPOUTS, nn.Identity))))
        if node.op != "call_module" and not self.steps[-1].keeps:
            self.env[node] = module(self.env[reads[0]].clone())  # what is made of the operation must have its bits
        return None

    def check_call(self, node: fx.Node, what: str, module: nn.Module) -> None:
        """Refuses what a layer's formula does not have."""
        for name, part in module.named_modules():
            reason = left_out(part)
            if reason:
                self.refuse(f"the {name} of {what}" if name else what, reason)
        if len(node.args) + len(node.kwargs) != 1:
            self.refuse(what, "is called with more than x; allowed: x alone")

    def add_addition(self, node: Any, what: str, name: str) -> None:
        one, other = node.args[:2] if len(node.args) > 1 else (node.args[0], node.kwargs.get("other"))
        tensors = [self.env[each] for each in (one, other) if isinstance(each, fx.Node)]
        shapes = [tensor.shape for tensor in tensors if isinstance(tensor, torch.Tensor)]
        if len(shapes) != 2 or node.kwargs.get("alpha", 1) != 1 or shapes[0] != shapes[1]:
            self.refuse(what, "does not add two tensors of one shape")
        self.steps.append(Step(node, self.unique(name), what, [one, other], None, shapes, False))

    def unique(self, path: str) -> str:
        """A step's name; with a number where the layer is used again."""
        name = path
        while name in self.used:
            self.used[path] += 1
            name = f"{path}.{self.used[path]}"
        self.used[name] = 1
        return name

    def check_in_place(self, end: fx.Node) -> None:
        """Refuses steps that change what others read."""
        source: Dict[fx.Node, fx.Node] = {}
        readers: Dict[fx.Node, int] = {end: 1}
        for step in self.steps:
            roots = [source.get(one, one) for one in step.reads]
            if step.keeps or isinstance(step.module, nn.Flatten):  # y can be a view of x
                source[step.node] = roots[0]
                readers[roots[0]] = readers.get(roots[0], 0) + (step.node is end)
                continue
            for root in roots:
                readers[root] = readers.get(root, 0) + 1
        for step in self.steps:
            changes = step.node.target in IN_PLACE or getattr(step.module, "inplace", False)
            if changes and not step.keeps and readers[source.get(step.reads[0], step.reads[0])] > 1:
                self.refuse(step.what, "changes a tensor in place that is read elsewhere too; allowed: inplace=False")


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(*(each.contiguous().flatten().view(torch.uint8) for each in (one, other)))


@contextlib.contextmanager
def _defined_bits(x: torch.Tensor) -> Iterator[None]:
    """Float layers give the same bits twice: cuDNN takes the algorithm that it took before."""
    cudnn: Any = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    if not x.is_cuda or before == (True, False):
        yield
        return
    cudnn.deterministic, cudnn.benchmark = True, False
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark = before


def _relu(_maker: _Maker, node: fx.Node, _what: str) -> nn.Module:
    return nn.ReLU(bool(node.kwargs.get("inplace") or True in node.args[1:]))


def _flatten(maker: _Maker, node: Any, what: str) -> nn.Module:
    x, y = maker.env[node.all_input_nodes[0]], maker.env[node]
    if y.dim() != 2 or tuple(y.shape) != (x.shape[0], x[0].numel()):
        maker.refuse(what, f"makes {list(y.shape[1:])} of {list(x.shape[1:])}; allowed: one dimension beside the batch")
    return nn.Flatten()


def _as_layer(kind: Any, *names: str) -> Callable[[_Maker, Any, str], nn.Module]:
    """Of a function that has the layer's arguments, in this order."""
    def made(_maker: _Maker, node: Any, _what: str) -> nn.Module:
        given = {**dict(zip(("input", *names), node.args)), **node.kwargs}
        kept = {name: value for name, value in given.items() if name != "input" and value not in ([], ())}  # stride=() is none
        return kind(**kept)  # type: ignore[no-any-return]
    return made


def _dropout(maker: _Maker, node: fx.Node, what: str) -> nn.Module:
    if node.kwargs.get("training", True) is not False:
        maker.refuse(what, "drops in eval mode too; allowed: training=self.training")
    return nn.Identity()


ADDITIONS = (operator.add, operator.iadd, torch.add, "add", "add_")
_FUNCTIONS: Dict[Any, Callable[[_Maker, fx.Node, str], nn.Module]] = {
    **dict.fromkeys((functional.relu, functional.relu_, torch.relu, torch.relu_, "relu", "relu_"), _relu),
    **dict.fromkeys((torch.flatten, torch.reshape, "flatten", "view", "reshape"), _flatten),
    **dict.fromkeys((functional.max_pool2d, torch.max_pool2d),
                    _as_layer(nn.MaxPool2d, "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")),
    functional.avg_pool2d: _as_layer(nn.AvgPool2d, "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad",
                                     "divisor_override"),
    functional.adaptive_avg_pool2d: _as_layer(nn.AdaptiveAvgPool2d, "output_size"),
    functional.dropout: _dropout, "contiguous": lambda _maker, _node, _what: nn.Identity(),
}


def steps_of(model: nn.Module, x: torch.Tensor, caller: str) -> Steps:
    """The steps of a model in eval mode; for x they give its bits. caller: opens its errors."""
    whole = _Model(model)
    try:
        traced = fx.GraphModule(whole, _Tracer().trace(whole))
    except fx.proxy.TraceError as error:
        raise lib.Unsupported(f"{caller}: the model's forward pass depends on its numbers ({error}); allowed: the same steps for "
                              "each x") from error
    except Error:
        raise
    except Exception as error:  # what the forward pass makes of torch.fx's stand-in for x can be any
        reason = str(error).strip().split("\n")[0]
        raise lib.Unsupported(f"{caller}: torch.fx cannot trace the model's forward pass ({reason}); allowed: layers, and "
                              "operations that are the same for each x") from error
    with torch.no_grad(), _defined_bits(x):
        return _Maker(traced, caller).run_all(x, whole)
