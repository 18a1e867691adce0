"""convert(): a float model's layers replaced by quantized ones; unquantized(): what is still float."""
from __future__ import annotations

import collections
import copy
from typing import Any, Collection, Dict, List

from .. import _library as lib
from .._chain.module import QuantizedSequential
from .._torch_operations import torch
from .layer_options import layer_options
from .layers import QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear
from .twins import TorchConv2d, TorchConv2dReLU, TorchLinear

Module = torch.nn.Module

_QUANTIZED = (QuantizedConv2d, QuantizedConv2dReLU, QuantizedLinear)
_PLAIN = (TorchConv2d, TorchConv2dReLU, TorchLinear)
_TYPES = (torch.float32, torch.float16, torch.bfloat16)


def convert(model: Module, inplace: bool = False, plain: bool = False, skip: Collection[str] = (), **options: Any) -> Module:
    """The model with each Conv2d and Linear quantized, and a ReLU that follows a Conv2d in a Sequential within it.

    Weights are the same Parameters where inplace, else copies; names in state_dict stay, and that of the ReLU is an
    Identity. plain: fake quantization by PyTorch (TorchConv2d, ...). skip: names of layers, or of modules around them,
    to leave as they are. options: of LayerOptions. Subclasses of Conv2d and Linear, and layers of float64, are left as they
    are: unquantized() names them. So is what a QuantizedSequential has. export_onnx() writes the result for golden and ONNX
    Runtime; for the accelerator QuantizedSequential.of() makes a chain of it.
    """
    layer_options(options)
    names = (skip,) if isinstance(skip, str) else tuple(skip)
    for name in names:
        if name not in dict(model.named_modules()):
            raise lib.BadInput(f"convert: skip has '{name}'; allowed: names of named_modules()")
    left = (*names, *(name for name, module in model.named_modules() if isinstance(module, QuantizedSequential)))
    model = model if inplace else copy.deepcopy(model)
    kinds = _PLAIN if plain else _QUANTIZED
    uses = collections.Counter(id(child) for parent in model.modules() for child in parent._modules.values())
    swapped: Dict[Module, Module] = {}
    if _is_float(model):
        return _swapped(model, kinds[2 * isinstance(model, torch.nn.Linear)], options, swapped)
    for prefix, parent in list(model.named_modules()):
        children = list(parent._modules.items())
        for index, (name, child) in enumerate(children):
            path = f"{prefix}.{name}" if prefix else name
            if not _is_float(child) or any(not name or path == name or path.startswith(name + ".") for name in left):
                continue
            after = children[index + 1] if index + 1 < len(children) else ("", None)
            fused = (isinstance(child, torch.nn.Conv2d) and isinstance(parent, torch.nn.Sequential)
                     and type(after[1]) is torch.nn.ReLU and uses[id(child)] == 1)
            kind = kinds[2] if isinstance(child, torch.nn.Linear) else kinds[1 if fused else 0]
            parent._modules[name] = _swapped(child, kind, options, swapped)
            if fused:
                parent._modules[after[0]] = torch.nn.Identity()
    return model


def _is_float(module: Any) -> bool:
    """Whether it is a layer that convert() replaces."""
    return type(module) in (torch.nn.Conv2d, torch.nn.Linear) and module.weight.dtype in _TYPES


def _swapped(layer: Any, kind: Any, options: Dict[str, Any], swapped: Dict[Module, Module]) -> Module:
    """The quantized layer with all that the float one has: parameters, hooks and mode. One for a layer of two places."""
    if layer not in swapped:
        made = kind.__new__(kind)
        made.__dict__.update({name: copy.copy(value) if isinstance(value, dict) else value
                              for name, value in layer.__dict__.items()})
        made._set_options(options)
        made.observer.train(layer.training)
        swapped[layer] = made
    return swapped[layer]


def unquantized(model: Module) -> List[str]:
    """"name: class" of each module with weights of two dimensions and more that computes in float: all but quantized layers and chains."""
    result: List[str] = []
    chains: List[str] = []
    for name, module in model.named_modules():
        if isinstance(module, QuantizedSequential):
            chains.append(name)
        of_its_own = [parameter for parameter in module._parameters.values() if parameter is not None]
        inside = any(not chain or name.startswith(chain + ".") for chain in chains)
        if any(parameter.dim() > 1 for parameter in of_its_own) and type(module) not in _QUANTIZED and not inside:
            result.append(f"{name}: {type(module).__name__}")
    return result
