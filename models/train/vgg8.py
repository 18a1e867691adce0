"""VGG-8 for 32x32 pictures: the network as it is trained, and its form with batch norm folded away."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class LayerSpec:
    """One layer with weights; `pool` names the 2x2 max-pool after it, `relu` is false for the logits alone."""

    name: str
    kind: str
    inputs: int
    outputs: int
    pool: str = ""
    relu: bool = True

    @property
    def is_conv(self):
        return self.kind == "conv"


# Convolutions are 3x3, stride 1, padding 1. fc1 reads 256 channels of 4x4 in channel-major order (ONNX Flatten).
LAYERS = (
    LayerSpec("conv1", "conv", 3, 64, pool="pool1"),
    LayerSpec("conv2", "conv", 64, 192, pool="pool2"),
    LayerSpec("conv3", "conv", 192, 384),
    LayerSpec("conv4", "conv", 384, 256),
    LayerSpec("conv5", "conv", 256, 256, pool="pool3"),
    LayerSpec("fc1", "fc", 4096, 256),
    LayerSpec("fc2", "fc", 256, 128),
    LayerSpec("fc3", "fc", 128, 10, relu=False),
)


class Vgg8(nn.Module):
    """float [N, 3, 32, 32] -> float logits [N, 10]; batch norm and ReLU after every layer but the last."""

    def __init__(self, dropout):
        super().__init__()
        self.layers = nn.ModuleDict()
        self.norms = nn.ModuleDict()
        self.dropout = nn.Dropout(dropout)
        for spec in LAYERS:
            if spec.is_conv:
                layer = nn.Conv2d(spec.inputs, spec.outputs, 3, padding=1, bias=False)
                norm = nn.BatchNorm2d(spec.outputs)
            else:
                layer = nn.Linear(spec.inputs, spec.outputs, bias=not spec.relu)
                norm = nn.BatchNorm1d(spec.outputs)
            self.layers[spec.name] = layer
            if spec.relu:
                self.norms[spec.name] = norm

    def forward(self, x):
        for spec in LAYERS:
            if not spec.is_conv:
                x = self.dropout(x.flatten(1))
            x = self.layers[spec.name](x)
            if spec.relu:
                x = F.relu(self.norms[spec.name](x))
            if spec.pool:
                x = F.max_pool2d(x, 2)
        return x


def fold_batch_norm(model):
    """Returns {"conv1.weight": float32 [out, in, 3, 3], "conv1.bias": [out], "fc1.weight": [out, in], ...}.

    norm(w x) = gamma (w x - mean) / sqrt(var + eps) + beta = (g w) x + (beta - g mean), g = gamma / sqrt(var + eps),
    in float64 before the last rounding.
    """
    folded = {}
    for spec in LAYERS:
        layer = model.layers[spec.name]
        weight = layer.weight.detach().double().cpu()
        if spec.relu:
            norm = model.norms[spec.name]
            gamma, beta = norm.weight.detach().double().cpu(), norm.bias.detach().double().cpu()
            mean, var = norm.running_mean.double().cpu(), norm.running_var.double().cpu()
            gain = gamma / torch.sqrt(var + norm.eps)
            weight = weight * gain.view(-1, *[1] * (weight.dim() - 1))
            bias = beta - gain * mean
        else:
            bias = layer.bias.detach().double().cpu()
        folded[f"{spec.name}.weight"] = np.ascontiguousarray(weight.float().numpy())
        folded[f"{spec.name}.bias"] = bias.float().numpy()
    return folded
