"""VGG-8 and ResNet-14 with batch norm folded, as a list of nodes: what QAT trains, exports and computes in integers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

import resnet14
import vgg8

IMAGE = "image"  # the name of the network's input


@dataclass(frozen=True)
class Node:
    """One ONNX node with the ReLU after it. `kind`: conv, fc, add, max_pool (2x2) or average_pool (of the whole picture).

    A fully connected node flattens what it reads, channel-major as ONNX does. The last node writes the logits.
    """

    name: str
    kind: str
    reads: tuple[str, ...]
    relu: bool = False
    inputs: int = 0
    outputs: int = 0
    kernel: int = 3
    stride: int = 1

    @property
    def has_weights(self) -> bool:
        return self.kind in ("conv", "fc")

    @property
    def pad(self) -> int:
        return self.kernel // 2


Nodes = tuple[Node, ...]


def vgg8_nodes() -> Nodes:
    nodes: list[Node] = []
    read = IMAGE
    for spec in vgg8.LAYERS:
        nodes.append(Node(spec.name, spec.kind, (read,), spec.relu, spec.inputs, spec.outputs))
        read = spec.name
        if spec.pool:
            nodes.append(Node(spec.pool, "max_pool", (read,)))
            read = spec.pool
    return tuple(nodes)


def conv_node(spec: resnet14.ConvSpec, read: str, relu: bool) -> Node:
    return Node(spec.name, "conv", (read,), relu, spec.inputs, spec.outputs, spec.kernel, spec.stride)


def resnet14_nodes() -> Nodes:
    nodes = [conv_node(resnet14.STEM, IMAGE, relu=True)]
    read = resnet14.STEM.name
    for block in resnet14.BLOCKS:
        nodes.append(conv_node(block.conv1, read, relu=True))
        nodes.append(conv_node(block.conv2, block.conv1.name, relu=False))
        if block.shortcut:
            nodes.append(conv_node(block.shortcut, read, relu=False))
        shortcut = block.shortcut.name if block.shortcut else read
        nodes.append(Node(f"{block.name}_add", "add", (block.conv2.name, shortcut), relu=True))
        read = f"{block.name}_add"
    nodes.append(Node("pool", "average_pool", (read,)))
    nodes.append(Node("fc", "fc", ("pool",), False, resnet14.FEATURES, 10))
    return tuple(nodes)


NETWORKS = {"vgg8": vgg8_nodes, "resnet14": resnet14_nodes}

Weights = dict[str, Tensor]  # "<node>.weight" and "<node>.bias"


def preactivation(node: Node, weights: Weights, read: list[Tensor]) -> Tensor:
    """What a node computes of floats, before its ReLU."""
    if node.kind == "conv":
        weight, bias = weights[f"{node.name}.weight"], weights[f"{node.name}.bias"]
        return F.conv2d(read[0], weight, bias, stride=node.stride, padding=node.pad)
    if node.kind == "fc":
        return F.linear(read[0].flatten(1), weights[f"{node.name}.weight"], weights[f"{node.name}.bias"])
    if node.kind == "add":
        return read[0] + read[1]
    if node.kind == "max_pool":
        return F.max_pool2d(read[0], 2)
    if node.kind == "average_pool":
        return read[0].mean(dim=(2, 3), keepdim=True)
    raise ValueError(f"node '{node.name}' has the unknown kind '{node.kind}'")


def run_float(nodes: Nodes, weights: Weights, images: Tensor) -> dict[str, Tensor]:
    """{node: what it writes, after its ReLU} of normalized pictures [N, 3, H, W]."""
    values = {IMAGE: images}
    for node in nodes:
        value = preactivation(node, weights, [values[name] for name in node.reads])
        values[node.name] = F.relu(value) if node.relu else value
    return values


def float_logits(nodes: Nodes, weights: Weights, images: Tensor) -> Tensor:
    return run_float(nodes, weights, images)[nodes[-1].name]


def check_weights(nodes: Nodes, weights: Weights, where: str) -> None:
    """Every tensor is there, with its shape, and finite."""
    for node in (n for n in nodes if n.has_weights):
        window = (node.kernel, node.kernel) if node.kind == "conv" else ()
        for part, shape in (("weight", (node.outputs, node.inputs, *window)), ("bias", (node.outputs,))):
            name = f"{node.name}.{part}"
            if name not in weights:
                raise ValueError(f"{where}: no tensor {name}")
            if tuple(weights[name].shape) != shape:
                raise ValueError(f"{where}: {name} has shape {tuple(weights[name].shape)}, expected {shape}")
            if not bool(torch.isfinite(weights[name]).all()):
                raise ValueError(f"{where}: {name} has values that are not finite")
