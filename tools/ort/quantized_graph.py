"""Runs a quantized ONNX graph by the rules of operator_rules.py and table_rules.py, without ONNX Runtime.

It takes QOperator graphs, and QDQ graphs as ONNX Runtime fuses them (docs/reference/onnx.md#qdq-graphs): a
float operator between DequantizeLinear and QuantizeLinear nodes is its QLinear operator, or stays float. What ONNX
Runtime adds up as float is computed in float64 and rounded to float32 once; run() returns these nodes.
"""
import collections
import dataclasses

import numpy as np
import onnx
from onnx import numpy_helper

import graph_operators as operators
from operator_rules import F, Quantization, dequantize_linear, limits, quantize_linear


@dataclasses.dataclass
class Dequantized:
    """What a DequantizeLinear gives, before anyone needs it as float: bytes (or an int32 bias) and Quantization.
    shared: more than one node reads it."""
    x: np.ndarray
    q: Quantization
    axis: int = 1
    shared: bool = False

    def values(self):
        if np.ndim(self.q.scale) == 0:
            return dequantize_linear(self.x, self.q)
        shape = [-1 if i == self.axis else 1 for i in range(self.x.ndim)]
        return (self.x.astype(np.int64) - np.reshape(self.q.zero_point, shape)).astype(F) * self.q.scale.reshape(shape)


@dataclasses.dataclass
class Pending:
    """A float operator whose inputs are Dequantized: a QuantizeLinear after it decides what it is. clips: the
    functions of Relu and Clip nodes between the two, with their ranges."""
    node: onnx.NodeProto
    inputs: list
    clips: tuple = ()


def scalar_or_vector(array):
    return array.reshape(-1)[0] if array.size == 1 else array.reshape(-1)


class Run:
    """One evaluation: values by name, and the nodes that ran as float although their rounding order is not known."""

    def __init__(self, model, inputs):
        self.values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.values.update(inputs)
        self.values[""] = None
        readers = collections.Counter(name for node in model.graph.node for name in node.input)
        self.shared = {name for node in model.graph.node if node.op_type == "DequantizeLinear"
                       for name in (node.input[0], node.output[0]) if readers[node.output[0]] > 1}
        self.inexact = []
        self.fma = True

    def quantization(self, scale, zero_point, dtype=None):
        """Quantization of named tensors; int32 has no zero_point other than 0."""
        scale = scalar_or_vector(np.asarray(self.values[scale], F))
        array = self.values.get(zero_point) if zero_point else None
        if array is None:
            return Quantization(scale, 0, dtype or np.uint8)
        distinct = np.unique(array)
        return Quantization(scale, int(distinct[0]) if distinct.size == 1 else scalar_or_vector(array), array.dtype.type)

    def as_float(self, value):
        if isinstance(value, Dequantized):
            return value.values()
        if isinstance(value, Pending):
            result = self.run_float(value.node, value.inputs)
            for function, _ in value.clips:
                result = function(result)
            return result
        return value

    def run_float(self, node, inputs):
        arrays = [self.as_float(value) for value in inputs]
        result, exact = operators.float_operator(node, arrays)
        if not exact:
            self.inexact.append(node)
        return result

    def quantize(self, value, yq, shared):
        """QuantizeLinear of whatever came before: a fused operator, or bytes of float values."""
        if isinstance(value, Pending) and all(covers(bounds, yq) for _, bounds in value.clips):
            fused = operators.fused(value.node, value.inputs, yq, shared, self.fma)
            if fused is not None:
                return fused
        return quantize_linear(self.as_float(value), yq)

    def dequantize(self, node):
        x = self.values[node.input[0]]
        q = self.quantization(node.input[1], node.input[2] if len(node.input) > 2 else "", x.dtype.type)
        return Dequantized(x, q, operators.attribute(node, "axis", 1) % max(x.ndim, 1), node.output[0] in self.shared)

    def float_node(self, node):
        """A node of ONNX's float operators: it waits where all its inputs are Dequantized, else it runs."""
        inputs = [self.values[name] for name in node.input]
        clip = operators.clip_of(node, inputs)
        if clip and isinstance(inputs[0], Pending):
            return Pending(inputs[0].node, inputs[0].inputs, (*inputs[0].clips, clip))
        data = [value for value in inputs if value is not None]
        if operators.may_fuse(node) and all(isinstance(value, Dequantized) for value in data):
            return Pending(node, inputs)
        if isinstance(inputs[0], np.ndarray) and inputs[0].dtype != F and node.op_type in operators.ON_BYTES:
            return operators.ON_BYTES[node.op_type](node, inputs)
        return self.run_float(node, inputs)

    def step(self, node):
        kind = node.op_type
        if kind == "QuantizeLinear":
            yq = self.quantization(node.input[1], node.input[2] if len(node.input) > 2 else "")
            return self.quantize(self.values[node.input[0]], yq, node.output[0] in self.shared)
        if kind == "DequantizeLinear":
            return self.dequantize(node)
        if kind in operators.CONSTANTS:
            return operators.CONSTANTS[kind](node, [self.values[name] for name in node.input])
        if kind.startswith("QLinear") or kind == "QGemm":
            return operators.qlinear(node, [self.values[name] for name in node.input], self.quantization, self.fma)
        return self.float_node(node)


def covers(bounds, yq):
    """Whether saturation to the type of yq alone does what a clamp to `bounds` does: ONNX Runtime drops it then."""
    low, high = (quantize_linear(np.asarray(bound, F), yq._replace(dtype=np.int32)) if np.isfinite(bound) else None
                 for bound in bounds)
    smallest, largest = limits(yq.dtype)
    return (low is None or low <= smallest) and (high is None or high >= largest)


def output_of(run, value):
    """A graph's output: a Gemm of Dequantized inputs without a QuantizeLinear is QGemm with a float output."""
    if isinstance(value, Pending) and not value.clips:
        fused = operators.fused(value.node, value.inputs, None, False, run.fma)
        if fused is not None:
            return fused
    return run.as_float(value)


def run(model, inputs, fma=True):
    """(the model's first output, names and operators of nodes that ran as float in an unknown order).

    inputs: name -> array. fma: see operator_rules.py. An operator that is not known is a KeyError with its name.
    """
    evaluation = Run(model, inputs)
    evaluation.fma = fma
    for node in model.graph.node:
        evaluation.values[node.output[0]] = evaluation.step(node)
    result = output_of(evaluation, evaluation.values[model.graph.output[0].name])
    return result, [f"{node.op_type} '{node.name}'" for node in evaluation.inexact]
