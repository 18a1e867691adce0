"""A network in integers alone, made of float weights and scales (qsim.scales/1): the reference for what QAT exports.

It shares no arithmetic with the training: sums are int64, and requantizing is as core/numerics/requantize.h, core/numerics/requantizer.h and
core/numerics/adder.h define it, with shifts where all scales are powers of two, else with multipliers of 24 bits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import numpy as np
import torch
import torch.nn.functional as F

from qat_graph import IMAGE, Node, Nodes

SCHEMA = "qsim.scales/1"
FRACTION_BITS = 39  # of the adder's units
Integers = np.ndarray  # int64


@dataclass(frozen=True)
class Quantization:
    """real = (level - zero_point) * scale, lo <= level <= hi."""

    scale: np.float32
    zero_point: int
    lo: int
    hi: int

    @staticmethod
    def of(entry: Mapping[str, Any]) -> Quantization:
        scale = np.float32(entry["scale"])
        if not (np.isfinite(scale) and scale > 0):
            raise ValueError(f"a scale is {entry['scale']}, not a positive number")
        return Quantization(scale, int(entry["zero_point"]), int(entry["lo"]), int(entry["hi"]))

    def quantize(self, reals: np.ndarray) -> Integers:
        levels = np.rint(reals.astype(np.float32) / self.scale).astype(np.int64) + self.zero_point
        return np.clip(levels, self.lo, self.hi)


@dataclass(frozen=True)
class IntegerWeights:
    """levels int8 [out, ...], bias int32 [out], scales float32 [out]."""

    levels: np.ndarray
    bias: np.ndarray
    scales: np.ndarray


def quantize_weights(weight: np.ndarray, bias: np.ndarray, entry: Mapping[str, Any], scale_x: np.float32) -> IntegerWeights:
    most = 2 ** (int(entry["bits"]) - 1) - 1
    scales = np.broadcast_to(np.asarray(entry["scales"], dtype=np.float32), (len(weight),)).copy()
    steps = scales.astype(np.float64).reshape(-1, *[1] * (weight.ndim - 1))
    levels = np.clip(np.rint(weight.astype(np.float64) / steps), -most, most)
    total = np.rint(bias.astype(np.float64) / (scales.astype(np.float64) * float(scale_x)))
    if np.abs(total).max() >= 2**31:
        raise OverflowError("a bias leaves int32")
    return IntegerWeights(levels.astype(np.int8), total.astype(np.int32), scales)


def rounding_shift(total: Integers, shift: Integers | np.int64, rounding: str) -> Integers:
    """total / 2^shift, rounded."""
    half = (np.int64(1) << shift) >> 1
    if rounding == "floor":
        return total >> shift
    if rounding == "half_up":
        return (total + half) >> shift
    if rounding == "half_even":
        return (total + np.where(shift > 0, half - 1 + ((total >> shift) & 1), 0)) >> shift
    raise ValueError(f"unknown rounding '{rounding}'")


def multiplier_of(scale: np.ndarray) -> tuple[Integers, Integers]:
    """float32 scales as multiplier / 2^shift, the multiplier of 24 bits."""
    fraction, exponent = np.frexp(scale.astype(np.float64))
    return np.rint(fraction * 2**24).astype(np.int64), 24 - exponent.astype(np.int64)


def requantize(total: Integers, scale: np.ndarray, to: Quantization, rounding: str) -> Integers:
    """clamp(round(total * scale) + zero_point); total [N, out, ...], scale float32 [out] or [1]."""
    if np.abs(total).max(initial=0) >= 2**31:
        raise OverflowError("an accumulator leaves int32")
    scale = np.asarray(scale, dtype=np.float32).reshape(-1, *[1] * (total.ndim - 2))
    if rounding == "float32":
        levels = np.rint(total.astype(np.float32) * scale).astype(np.int64)
    else:
        multiplier, shift = multiplier_of(scale)
        if shift.min() < 0 or shift.max() > 62:
            raise ValueError(f"a requantizer shifts by {shift.min()}..{shift.max()}, outside 0..62")
        levels = rounding_shift(total * multiplier, shift, rounding)
    return np.clip(levels + to.zero_point, to.lo, to.hi)


def nearest_float32(value: Integers | np.int64) -> Integers:
    """The float32 nearest to each integer below 2^62, as an integer."""
    return np.asarray(value).astype(np.float32).astype(np.int64)


def add(a: Integers, b: Integers, read: tuple[Quantization, Quantization], to: Quantization, rounding: str) -> Integers:
    """Two levels times their ratios of scales, in units of 2^-39."""
    unit = 2.0**FRACTION_BITS
    ratios = [np.int64(np.float64(np.float32(q.scale / to.scale)) * unit) for q in read]
    one = np.int64(1) << FRACTION_BITS
    if rounding == "float32":
        zero = nearest_float32(ratios[0] * read[0].zero_point + nearest_float32(ratios[1] * read[1].zero_point))
        fixed = nearest_float32(to.zero_point * one - zero)
        total = nearest_float32(a * ratios[0] + nearest_float32(b * ratios[1] + fixed))
        levels = rounding_shift(total, np.int64(FRACTION_BITS), "half_even")
    else:
        total = (a - read[0].zero_point) * ratios[0] + (b - read[1].zero_point) * ratios[1]
        levels = rounding_shift(total, np.int64(FRACTION_BITS), rounding) + to.zero_point
    return np.clip(levels, to.lo, to.hi)


def sums(node: Node, x: Integers, weights: np.ndarray) -> Integers:
    """Sums of x * weights. Matrix products in float64 are exact: every partial sum is an integer far below 2^53."""
    matrix = torch.from_numpy(weights.reshape(len(weights), -1).astype(np.float64))
    values = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float64))
    if node.kind == "fc":
        found = values.flatten(1) @ matrix.T
    else:
        height = (x.shape[2] + 2 * node.pad - node.kernel) // node.stride + 1
        columns = F.unfold(values, node.kernel, padding=node.pad, stride=node.stride)
        found = (matrix @ columns).view(len(x), len(weights), height, -1)
    result: Integers = found.numpy().astype(np.int64)
    return result


def max_pool(x: Integers) -> Integers:
    n, c, h, w = x.shape
    result: Integers = x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
    return result


@dataclass(frozen=True)
class IntegerNetwork:
    """Everything that the integers of a network follow from."""

    nodes: Nodes
    tensors: dict[str, Quantization]  # of each node and of the input
    weights: dict[str, IntegerWeights]
    rounding: str

    @staticmethod
    def of(nodes: Nodes, arrays: Mapping[str, np.ndarray], document: Mapping[str, Any], rounding: str) -> IntegerNetwork:
        """`arrays`: "<node>.weight" and "<node>.bias"; `document`: qsim.scales/1."""
        if document.get("schema") != SCHEMA:
            raise ValueError(f"the scales have the schema '{document.get('schema')}', expected {SCHEMA}")
        tensors, weights = {IMAGE: Quantization.of(document["input"])}, {}
        for node in nodes:
            if node.kind == "max_pool":
                tensors[node.name] = tensors[node.reads[0]]
                continue
            tensors[node.name] = Quantization.of(document["tensors"][node.name])
            if node.has_weights:
                weight, bias = arrays[f"{node.name}.weight"], arrays[f"{node.name}.bias"]
                scale_x = tensors[node.reads[0]].scale
                weights[node.name] = quantize_weights(weight, bias, document["weights"][node.name], scale_x)
        return IntegerNetwork(nodes, tensors, weights, rounding)

    def run_node(self, node: Node, values: Mapping[str, Integers]) -> Integers:
        x, read = values[node.reads[0]], self.tensors[node.reads[0]]
        to = self.tensors[node.name]
        if node.kind == "max_pool":
            return max_pool(x)
        if node.kind == "add":
            other = node.reads[1]
            return add(x, values[other], (read, self.tensors[other]), to, self.rounding)
        if node.kind == "average_pool":
            total = (x - read.zero_point).sum(axis=(2, 3), keepdims=True)
            count = np.float32(x.shape[2] * x.shape[3])
            return requantize(total, np.array([read.scale / (to.scale * count)]), to, self.rounding)
        layer = self.weights[node.name]
        total = sums(node, x - read.zero_point, layer.levels)
        total += layer.bias.astype(np.int64).reshape(-1, *[1] * (total.ndim - 2))
        return requantize(total, read.scale * layer.scales / to.scale, to, self.rounding)

    def run(self, images: np.ndarray) -> dict[str, Integers]:
        """{node: levels of its ofmap} of normalized float32 pictures [N, 3, H, W]."""
        values = {IMAGE: self.tensors[IMAGE].quantize(images)}
        for node in self.nodes:
            values[node.name] = self.run_node(node, values)
        return values

    def logits(self, images: np.ndarray, batch: int = 100) -> np.ndarray:
        """float32 [N, 10], dequantized."""
        last, parts = self.nodes[-1].name, range(0, len(images), batch)
        levels = np.concatenate([self.run(images[at : at + batch])[last] for at in parts])
        result: np.ndarray = (levels - self.tensors[last].zero_point).astype(np.float32) * self.tensors[last].scale
        return result


def read_scales(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text())
    if not isinstance(document, dict):
        raise ValueError(f"{path}: not a JSON object")
    return document


def save_integers(path: Path, network: IntegerNetwork) -> None:
    """An .npz with <node>.weight int8, <node>.bias int32 and <node>.scales float32."""
    arrays: dict[str, np.ndarray] = {}
    for name, layer in network.weights.items():
        arrays |= {f"{name}.weight": layer.levels, f"{name}.bias": layer.bias, f"{name}.scales": layer.scales}
    np.savez(path, **arrays)
