"""A whole network in quantization-aware training, made from float weights and calibrated on training pictures."""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qat_graph import IMAGE, Node, Nodes, Weights, run_float
from qat_layers import INPUT_LEVELS, INPUT_SCALE, QatAdd, QatAveragePool, QatNode, QatWeights, Settings
from qat_scales import Levels, activation_levels, power_of_two, round_clamp, weight_levels

CANDIDATES = 40  # step sizes of a kind that is not power_of_two, among which the search takes one


def candidates(largest: Tensor, kind: str) -> Tensor:
    """Step sizes [candidates, groups] at and below those that cover `largest` [groups]."""
    if kind == "power_of_two":
        first = torch.ceil(torch.log2(largest))
        return torch.stack([power_of_two(first - step) for step in range(6)])
    return largest * torch.linspace(1.0, 0.25, CANDIDATES, device=largest.device).view(-1, 1)


def best_scales(values: Tensor, levels: Levels, kind: str) -> Tensor:
    """The step size [groups] of least squared error of `values` [groups, elements]; 1 for a group of zeros."""
    most = values.abs().amax(dim=1)
    largest = torch.where(most > 0, most, torch.ones_like(most)) / (levels.hi - levels.zero_point)
    best, least = torch.ones_like(largest), torch.full_like(largest, float("inf"))
    for scale in candidates(largest, kind):
        step = scale.view(-1, 1)
        found = (round_clamp(values / step, levels.zero_point, levels.lo, levels.hi) - levels.zero_point) * step
        error = (found - values).square().sum(dim=1)
        best, least = torch.where(error < least, scale, best), torch.minimum(error, least)
    return torch.where(most > 0, best, torch.ones_like(best))


def levels_of(nodes: Nodes) -> dict[str, Levels]:
    """The integers that each tensor has. Pools write what cannot be negative if they read such."""
    found = {IMAGE: INPUT_LEVELS}
    for node in nodes:
        if node.kind == "max_pool":
            found[node.name] = found[node.reads[0]]
            continue
        positive = node.relu or (node.kind == "average_pool" and found[node.reads[0]].zero_point == 0)
        found[node.name] = activation_levels(signed=not positive)
    return found


class QatNetwork(nn.Module):
    """Normalized pictures [N, 3, H, W] -> float logits, exactly those of the accelerator."""

    def __init__(self, nodes: Nodes, weights: Weights, images: Tensor, settings: Settings) -> None:
        """`images`: normalized pictures to choose the first step sizes on."""
        super().__init__()
        self.nodes, self.settings, self.levels = nodes, settings, levels_of(nodes)
        self.layers = nn.ModuleDict()
        activation_kind = "float" if settings.kind == "float" else "power_of_two"
        with torch.no_grad():
            values = run_float(nodes, weights, images)
            for node in (n for n in nodes if n.kind != "max_pool"):
                value, levels = values[node.name], self.levels[node.name]
                scale = float(best_scales(value.reshape(1, -1), levels, activation_kind))
                self.layers[node.name] = self.make_layer(node, weights, levels, scale, value[0].numel())

    def make_layer(self, node: Node, weights: Weights, levels: Levels, scale: float, elements: int) -> QatNode:
        if node.kind == "add":
            return QatAdd(node, self.settings, levels, scale, elements)
        if node.kind == "average_pool":
            return QatAveragePool(node, self.settings, levels, scale, elements)
        weight, bias = weights[f"{node.name}.weight"].float(), weights[f"{node.name}.bias"].float()
        groups = weight.flatten(1) if self.settings.per_channel else weight.reshape(1, -1)
        weight_scale = best_scales(groups, weight_levels(self.settings.bits), self.settings.kind)
        return QatWeights(node, self.settings, levels, scale, elements, weight, bias, weight_scale)

    def quantize_input(self, images: Tensor) -> Tensor:
        levels = INPUT_LEVELS
        return round_clamp(images / INPUT_SCALE, levels.zero_point, levels.lo, levels.hi)

    def tensors(self, images: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        """{node: (levels of its ofmap, their scale [1])}, of the input too."""
        values = {IMAGE: (self.quantize_input(images), torch.tensor([INPUT_SCALE], device=images.device))}
        for node in self.nodes:
            x, scale = values[node.reads[0]]
            read = tuple(self.levels[name] for name in node.reads)
            if node.kind == "max_pool":
                values[node.name] = (F.max_pool2d(x, 2), scale)
            elif node.kind == "add":
                other, other_scale = values[node.reads[1]]
                values[node.name] = self.layers[node.name](x, other, read, (scale, other_scale))
            else:
                values[node.name] = self.layers[node.name](x, read[0], scale)
        return values

    def forward(self, images: Tensor) -> Tensor:
        last = self.nodes[-1].name
        levels, scale = self.tensors(images)[last]
        return (levels - self.levels[last].zero_point) * scale

    def weighted_layers(self) -> list[QatWeights]:
        return [layer for layer in self.layers.values() if isinstance(layer, QatWeights)]


@torch.no_grad()
def count_correct(logits_of: Callable[[Tensor], Tensor], images: Tensor, labels: Tensor, batch: int = 250) -> int:
    """Top-1; the first of equal logits counts."""
    parts = zip(images.split(batch), labels.split(batch))
    return sum(int((logits_of(x).argmax(1) == y).sum()) for x, y in parts)
