"""QuantizedSequential.of(): the float layers of a network of quantized ones, their options, and the chain's first scales."""
from __future__ import annotations

import copy
import itertools
from typing import Any, Dict, Iterable, Iterator, List, Set, Tuple

from .. import _library as lib
from .._torch_operations import torch
from .._training.forward_steps import DROPOUTS, Step, Steps, copy_of, left_out, steps_of, what_of
from .._training.layers import QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear
from .plan import Residual

nn = torch.nn
QUANTIZED = (QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear)
OPTIONS = ("weight_bits", "rounding", "scale", "zero_points")
CALLER = "QuantizedSequential.of"
SCALES = ("float", "power_of_two")
MODAL = (nn.BatchNorm1d, nn.BatchNorm2d, nn.Dropout)  # what training mode changes


def float_layers(model: nn.Module, x: torch.Tensor) -> nn.Sequential:
    """A copy of the model with float layers in place of quantized ones: as it was before convert().

    An nn.Sequential keeps its names. A forward pass of another kind is traced with x: its layers are called by their paths.
    """
    model = copy_of(model, CALLER)
    if _is_nest(model):
        _check_calls(model)
        return _sequential(model if isinstance(model, nn.Sequential) else nn.Sequential(model), {})
    modes = {module: module.training for module in model.modules()}
    traced = steps_of(model.eval(), x, CALLER)
    for module, training in modes.items():
        module.training = training
    return _sequential(_Region(traced).layers(), {})


def _is_nest(layer: Any) -> bool:
    """Whether it is a layer, or an nn.Sequential or Residual of such."""
    if isinstance(layer, Residual):
        ways = (layer.body, layer.shortcut)
        return all(_is_nest(way) and not _changes_x(way) for way in ways)
    if isinstance(layer, nn.Sequential) and not hasattr(layer, "levels_scale"):
        return all(_is_nest(child) for child in layer.children())
    return type(layer) in QUANTIZED or hasattr(layer, "levels_scale") or not any(True for _ in layer.children())


def _changes_x(layer: nn.Module) -> bool:
    """Whether it can change what it reads in place: the other way of a Residual reads it too."""
    leaves = (one for one in layer.modules() if not any(True for _ in one.children()))
    first = next((one for one in leaves if not isinstance(one, (*DROPOUTS, nn.Identity, nn.Flatten, nn.Sequential))), None)
    return bool(getattr(first, "inplace", False))


def _check_calls(model: nn.Module) -> None:
    """Refuses modules whose call does more than a chain of them would."""
    for name, module in model.named_modules():
        reason = left_out(module)
        if reason:
            raise lib.Unsupported(f"QuantizedSequential.of: {what_of(name, module)} {reason}")


class _Region:
    """Traced steps as a chain. An addition is a Residual, of what its operands do with the tensor that both come from."""

    def __init__(self, traced: Steps):
        self.traced = traced
        self.steps: Dict[Any, Step] = {step.node: step for step in traced.steps}
        self.before: Dict[Any, Any] = {}  # each node's last one that all of it comes from
        self.taken: Set[Any] = set()
        for step in traced.steps:
            self.before[step.node] = step.reads[0] if step.module is not None else self._meeting(*step.reads)

    def _way(self, node: Any) -> List[Any]:
        way = [node]
        while way[-1] in self.before:
            way.append(self.before[way[-1]])
        return way

    def _meeting(self, one: Any, other: Any) -> Any:
        others = set(self._way(other))
        return next((node for node in self._way(one) if node in others), self.traced.start)

    def layers(self) -> nn.Sequential:
        return self._between(self.traced.start, self.traced.end)

    def _between(self, start: Any, end: Any) -> nn.Sequential:
        found: List[Tuple[str, nn.Module]] = []
        while end is not start:
            step = self.steps[end]
            if end in self.taken:
                raise lib.Unsupported(f"QuantizedSequential.of: {step.what} is read in two places that no addition joins; allowed: "
                                      "chains of layers and residual blocks")
            self.taken.add(end)
            end = self.before[end]
            if step.module is None:
                body, shortcut = (self._between(end, operand) for operand in step.reads)
                if len(body) == 0:
                    body, shortcut = shortcut, body
                found.append((step.name, Residual(body, shortcut, relu=False)))
            elif not step.keeps or isinstance(step.module, DROPOUTS):
                found.append((step.name, step.module))
        result = nn.Sequential()
        for name, module in reversed(found):
            key = name.replace(".", "_")
            while key in result._modules:
                key += "_"
            result.add_module(key, module)
        return result


def _sequential(layers: nn.Sequential, made: Dict[nn.Module, nn.Module]) -> nn.Sequential:
    result = nn.Sequential()
    result.train(layers.training)
    children: List[Tuple[str, Any]] = list(layers._modules.items())
    for index, (key, layer) in enumerate(children):
        after = children[index + 1][1] if index + 1 < len(children) else None
        if key in result._modules:  # the ReLU of the layer before
            continue
        result.add_module(key, _float(layer, made))
        if type(layer) is QuantizedConv2dReLU:
            relu = nn.ReLU()
            relu.train(layer.training)
            result.add_module(children[index + 1][0] if type(after) is nn.Identity else f"{key}_relu", relu)
    return result


def _float(layer: Any, made: Dict[nn.Module, nn.Module]) -> nn.Module:
    """One for a layer of two places."""
    if layer not in made:
        made[layer] = _unquantized(layer) if type(layer) in QUANTIZED else layer
        if isinstance(layer, Residual):
            layer.body, layer.shortcut = _sequential(layer.body, made), _sequential(layer.shortcut, made)
        elif isinstance(layer, nn.Sequential) and not hasattr(layer, "levels_scale"):
            made[layer] = _sequential(layer, made)
    return made[layer]


def _unquantized(layer: Any) -> nn.Module:
    kind: Any = nn.Linear if isinstance(layer, QuantizedLinear) else nn.Conv2d
    result = kind.__new__(kind)
    own = {"options", "_how", "_setup", "observer", "weight_step"}
    for name, value in layer.__dict__.items():
        if name in own:
            continue
        result.__dict__[name] = copy.copy(value) if isinstance(value, dict) else value
        if isinstance(value, dict):  # parameters, modules, hooks
            for key in own & set(value):
                del result.__dict__[name][key]
    return result


def options_of(model: nn.Module, given: Dict[str, Any]) -> Dict[str, Any]:
    """A chain's options that all quantized layers share, beside those that are given."""
    layers = [(name or "model", layer.options) for name, layer in model.named_modules() if type(layer) in QUANTIZED]
    for name, options in layers:
        if options.bits != 8:
            raise lib.Unsupported(f"QuantizedSequential.of: layer {name} has bits {options.bits}; a chain's tensors have 8")
    result: Dict[str, Any] = {}
    for option in OPTIONS if layers else ():
        values = {getattr(options, option) or 8 if option == "weight_bits" else getattr(options, option) for _, options in layers}
        if option in given:
            continue
        if len(values) > 1 or (option == "scale" and not values <= set(SCALES)):
            found = ", ".join(sorted(str(value) for value in values))
            raise lib.Unsupported(f"QuantizedSequential.of: the layers have {option} {found}; allowed: one that a chain has, or "
                                  f"{option}= as an argument")
        result[option] = values.pop()
    return result


def batches_of(pictures: Any) -> List[Any]:
    """(the first batch, all of them): x, or many of it, alone or before labels."""
    batches = iter([pictures] if isinstance(pictures, torch.Tensor) else pictures)
    every: Iterator[Any] = (batch[0] if isinstance(batch, (tuple, list)) else batch for batch in batches)
    first = next(every, None)
    if first is None:
        raise lib.BadInput("QuantizedSequential.of: there are no pictures; give x, or more of them")
    return [first, itertools.chain((first,), every)]


def measure(chain: Any, batches: Iterable[torch.Tensor]) -> None:
    """Scales of the chain from these pictures; nothing else of it changes."""
    modes = {module: module.training for module in chain.modules()}
    device = next(chain.parameters()).device
    chain.to(device).train()
    for module in modes:
        if type(module) in MODAL:
            module.eval()
    with torch.no_grad():
        for batch in batches:
            chain(batch.to(device))
    for module, training in modes.items():
        module.training = training
