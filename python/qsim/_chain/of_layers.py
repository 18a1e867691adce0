"""QuantizedSequential.of(): the float layers of a network of quantized ones, their options, and the chain's first scales."""
from __future__ import annotations

import copy
from typing import Any, Dict, Iterable, List, Tuple

from .. import _library as lib
from .._torch_operations import torch
from .._training.layers import QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear
from .plan import Residual

nn = torch.nn
QUANTIZED = (QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear)
OPTIONS = ("weight_bits", "rounding", "scale", "zero_points")
SCALES = ("float", "power_of_two")
ALWAYS_EVAL = (nn.BatchNorm1d, nn.BatchNorm2d, nn.Dropout)  # while scales are measured


def float_layers(model: nn.Module) -> nn.Sequential:
    """A copy of the model with float layers in place of quantized ones: as it was before convert()."""
    model = copy.deepcopy(model)
    return _sequential(model if isinstance(model, nn.Sequential) else nn.Sequential(model), {})


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
    own = {"options", "_how", "observer", "weight_step"}
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


def measure(chain: Any, pictures: Any) -> None:
    """Scales of the chain from these pictures; nothing else of it changes."""
    modes = {module: module.training for module in chain.modules()}
    device = next(chain.parameters()).device
    chain.to(device).train()
    for module in modes:
        if type(module) in ALWAYS_EVAL:
            module.eval()
    batches: Iterable[Any] = [pictures] if isinstance(pictures, torch.Tensor) else pictures
    with torch.no_grad():
        for batch in batches:
            chain((batch[0] if isinstance(batch, (tuple, list)) else batch).to(device))
    if not chain.is_measured():
        raise lib.BadInput("QuantizedSequential.of: there are no pictures; give x, or more of them")
    for module, training in modes.items():
        module.training = training
