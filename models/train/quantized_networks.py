"""VGG-16, VGG-8 and ResNet-14 for pictures of any size, of plain torch.nn layers and on the accelerator's integers.

Both have the same layers and the same names in state_dict(), so the weights of one load into the other.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable

import torch
from torch import Tensor, nn

import resnet14
import vgg8
from data import STD

# Output channels of 3x3 convolutions with a ReLU, or a 2x2 max-pool. Configuration D of Simonyan and Zisserman (2014).
POOL = 0
VGG16_FEATURES = (64, 64, POOL, 128, 128, POOL, 256, 256, 256, POOL, 512, 512, 512, POOL, 512, 512, 512, POOL)
VGG16_HIDDEN = 4096
SMALLEST = {"vgg16": 32, "vgg8": 8, "resnet14": 4}  # pixels a side; of a smaller picture the pools leave nothing
PIXEL_SCALE = 1 / 255 / STD  # of a normalized picture: its levels are the pixels, less 128


@dataclass(frozen=True)
class Quantization:
    """Keywords of qsim.torch.QuantizedSequential."""

    weight_bits: int = 8
    scale: str = "float"
    observer: str = "moving_average"
    momentum: float = 0.1
    zero_points: bool = False


def qsim_torch() -> Any:
    """qsim.torch, installed or from this repository's python/ with the library that QSIM_GOLDEN_LIBRARY names."""
    try:
        return importlib.import_module("qsim.torch")
    except ModuleNotFoundError as missing:
        if missing.name != "qsim":
            raise
        sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))
        return importlib.import_module("qsim.torch")


def vgg16(classes: int, size: int, dropout: float) -> list[nn.Module]:
    """torchvision's vgg16, whose weights it takes (vgg16_weights): of 224x224 pictures the same layers.

    Of other sizes the first linear layer reads 512 channels of (size // 32)^2 pixels, without an average pool.
    """
    layers: list[nn.Module] = []
    channels = 3
    for outputs in VGG16_FEATURES:
        if outputs == POOL:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.ReLU()]
        channels = outputs
    layers.append(nn.Flatten())
    inputs = channels * (size // 32) ** 2
    for _ in range(2):
        layers += [nn.Linear(inputs, VGG16_HIDDEN), nn.ReLU(), nn.Dropout(dropout)]
        inputs = VGG16_HIDDEN
    layers.append(nn.Linear(inputs, classes))
    for layer in layers:
        if isinstance(layer, (nn.Conv2d, nn.Linear)):  # deep and without batch norm: variances must stay
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return layers


def vgg16_weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """torchvision's names (features.0.weight, classifier.0.weight) as those of vgg16() above."""
    first = len(VGG16_FEATURES) + sum(c != POOL for c in VGG16_FEATURES) + 1
    found = {}
    for name, tensor in state.items():
        part, index, kind = name.split(".")
        found[f"{int(index) + (first if part == 'classifier' else 0)}.{kind}"] = tensor
    return found


def vgg8_layers(classes: int, size: int, dropout: float) -> list[nn.Module]:
    """vgg8.Vgg8 as one chain."""
    layers: list[nn.Module] = []
    inputs = 3
    for spec in vgg8.LAYERS:
        if spec.is_conv:
            layers += [nn.Conv2d(inputs, spec.outputs, 3, padding=1, bias=False), nn.BatchNorm2d(spec.outputs)]
            inputs = spec.outputs
        else:
            if not any(isinstance(layer, nn.Flatten) for layer in layers):
                layers.append(nn.Flatten())
                inputs *= (size // 8) ** 2
            outputs = spec.outputs if spec.relu else classes
            layers += [nn.Dropout(dropout), nn.Linear(inputs, outputs, bias=not spec.relu)]
            if spec.relu:
                layers.append(nn.BatchNorm1d(outputs))
            inputs = outputs
        if spec.relu:
            layers.append(nn.ReLU())
        if spec.pool:
            layers.append(nn.MaxPool2d(2))
    return layers


def conv_norm(spec: resnet14.ConvSpec) -> list[nn.Module]:
    conv = nn.Conv2d(spec.inputs, spec.outputs, spec.kernel, stride=spec.stride, padding=spec.pad, bias=False)
    return [conv, nn.BatchNorm2d(spec.outputs)]


class PlainResidual(nn.Module):
    """relu(body(x) + shortcut(x)), with the names of qsim.torch.Residual in state_dict()."""

    def __init__(self, body: list[nn.Module], shortcut: list[nn.Module] | None) -> None:
        super().__init__()
        self.body, self.shortcut = nn.Sequential(*body), nn.Sequential(*(shortcut or ()))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def residual(block: resnet14.Block, make: Callable[..., nn.Module]) -> nn.Module:
    """It starts as its shortcut."""
    body = [*conv_norm(block.conv1), nn.ReLU(), *conv_norm(block.conv2)]
    nn.init.zeros_(body[-1].weight)  # type: ignore[arg-type]
    return make(body, conv_norm(block.shortcut) if block.shortcut else None)


def resnet14_layers(classes: int, size: int, dropout: float, make: Callable[..., nn.Module] = PlainResidual) -> list[nn.Module]:
    """resnet14.Resnet14 as a chain with residual blocks; `make` makes one of its body and its shortcut."""
    blocks = [residual(block, make) for block in resnet14.BLOCKS]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(resnet14.FEATURES, classes)]
    return [*conv_norm(resnet14.STEM), nn.ReLU(), *blocks, *end]


NETWORKS: dict[str, Callable[..., list[nn.Module]]] = {
    "vgg16": vgg16, "vgg8": vgg8_layers, "resnet14": resnet14_layers}


def make_network(name: str, classes: int, size: int, dropout: float, quantization: Quantization | None) -> nn.Module:
    """Normalized float pictures [N, 3, size, size] -> float logits [N, classes]; plain where `quantization` is None."""
    least = SMALLEST[name]
    if size < least:
        raise ValueError(f"pictures of {size}x{size} pixels are too small for {name}, which needs {least}x{least}")
    if quantization is None:
        return nn.Sequential(*NETWORKS[name](classes, size, dropout))
    qt = qsim_torch()
    layers = NETWORKS[name](classes, size, dropout, **({"make": qt.Residual} if name == "resnet14" else {}))
    found: nn.Module = qt.QuantizedSequential(*layers, input_scale=PIXEL_SCALE, **asdict(quantization))
    return found
