"""Writes what training learned: a float ONNX file and its scales as JSON (qsim.scales/1), for `qsim quantize --scales`.

Whoever quantizes the float file with these scales gets the integers of training, however they round: weights and biases
that lie near a tie between two levels are moved to the level that training computed with.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper

from export_onnx import OPSET, POOL_ATTRIBUTES, GraphBuilder, sidecar
from qat_graph import IMAGE, Node, Nodes
from qat_integers import SCHEMA, IntegerNetwork, save_integers
from qat_layers import INPUT_LEVELS, INPUT_SCALE, QatWeights
from qat_network import QatNetwork
from qat_scales import Levels

TIE = 2.0**-10  # of a step; a float32 quotient of up to 128 steps errs by 2^-17 of one
LARGEST_FREE_BIAS = 2**12  # in steps: up to here a float32 quotient errs by less than TIE

Arrays = dict[str, np.ndarray]


def off_ties(values: np.ndarray, steps: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """`values` as float32, those near a tie (or with a quotient that float32 cannot tell) replaced by level * step."""
    quotients = values.astype(np.float64) / steps
    fractions = quotients - np.floor(quotients)
    near = (np.abs(fractions - 0.5) < TIE) | (np.abs(quotients) > LARGEST_FREE_BIAS)
    return np.where(near, (levels * steps).astype(np.float32), values.astype(np.float32))


def describe(levels: Levels, scale: float) -> dict[str, Any]:
    return {"scale": scale, "zero_point": levels.zero_point, "lo": levels.lo, "hi": levels.hi}


@torch.no_grad()
def trained(model: QatNetwork, size: int = 32) -> tuple[Arrays, dict[str, Any]]:
    """({"<node>.weight" and ".bias": float32}, the scales as JSON)."""
    device = next(model.parameters()).device
    scales = {name: scale for name, (_, scale) in model.tensors(torch.zeros(1, 3, size, size, device=device)).items()}
    document: dict[str, Any] = {"schema": SCHEMA, "input": describe(INPUT_LEVELS, INPUT_SCALE), "tensors": {}, "weights": {}}
    arrays: Arrays = {}
    for node in model.nodes:
        if node.kind == "max_pool":
            continue
        document["tensors"][node.name] = describe(model.levels[node.name], float(scales[node.name]))
        layer = model.layers[node.name]
        if not isinstance(layer, QatWeights):
            continue
        scale_x = scales[node.reads[0]]
        _, scale_w = layer.scales(scale_x)
        weight, step = layer.float_weight().cpu().numpy(), scale_w.double().cpu().numpy()
        step_w = step.reshape(-1, *[1] * (weight.ndim - 1))
        integers = layer.weight_integers(scale_w).double().cpu().numpy()
        arrays[f"{node.name}.weight"] = off_ties(weight, np.broadcast_to(step_w, weight.shape), integers)
        bias = layer.bias_integers(scale_x, scale_w).cpu().numpy()
        arrays[f"{node.name}.bias"] = off_ties(layer.float_bias().cpu().numpy(), step * float(scale_x), bias)
        document["weights"][node.name] = {"scales": [float(s) for s in scale_w], "bits": model.settings.bits}
    return arrays, document


def add_node(builder: GraphBuilder, node: Node, arrays: Arrays, tensors: dict[str, str], last: bool) -> str:
    """Appends a node with its ReLU; returns the name of the tensor that they write."""
    builder.value = tensors[node.reads[0]]
    inputs = [builder.constant(f"{node.name}.{part}", arrays[f"{node.name}.{part}"])
              for part in ("weight", "bias") if node.has_weights]
    output = "logits" if last and not node.relu else None
    if node.kind == "conv":
        attributes = {"kernel_shape": [node.kernel] * 2, "strides": [node.stride] * 2, "pads": [node.pad] * 4}
        builder.node("Conv", node.name, inputs, output, **attributes)
    elif node.kind == "fc":
        builder.node("Gemm", node.name, inputs, output, transB=1)
    elif node.kind == "add":
        builder.node("Add", node.name, [tensors[node.reads[1]]], output)
    elif node.kind == "max_pool":
        builder.node("MaxPool", node.name, [], output, **POOL_ATTRIBUTES)
    else:
        builder.node("GlobalAveragePool", node.name, [], output)
    if node.relu:
        builder.node("Relu", f"{node.name}.relu", [], "logits" if last else None)
    return str(builder.value)


def float_model(nodes: Nodes, arrays: Arrays, name: str) -> onnx.ModelProto:
    """Conv, Relu, MaxPool, Add, GlobalAveragePool, Flatten and Gemm; layers have the names of the nodes."""
    builder = GraphBuilder()
    tensors = {IMAGE: IMAGE}
    flat = ""
    for node in nodes:
        if node.kind == "fc" and not flat:
            builder.value = tensors[node.reads[0]]
            flat = "flatten"
            builder.node("Flatten", flat, [], axis=1)
            tensors[node.reads[0]] = builder.value
        tensors[node.name] = add_node(builder, node, arrays, tensors, node is nodes[-1])
    return builder.model(name, [helper.make_opsetid("", OPSET)])


def export(model: QatNetwork, folder: Path, stem: str) -> IntegerNetwork:
    """Writes STEM.onnx with its sidecar, STEM.scales.json and STEM.npz (its integers), and returns these integers."""
    arrays, document = trained(model)
    onnx.save(float_model(model.nodes, arrays, stem), str(folder / f"{stem}.onnx"))
    (folder / f"{stem}.yaml").write_text(sidecar(stem))
    (folder / f"{stem}.scales.json").write_text(json.dumps(document, indent=1) + "\n")
    integers = IntegerNetwork.of(model.nodes, arrays, document, model.settings.rounding)
    save_integers(folder / f"{stem}.npz", integers)
    return integers
