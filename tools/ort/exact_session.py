"""ONNX Runtime sessions that compute int8 networks exactly on every x86 processor.

With AVX2 and without VNNI, ONNX Runtime's kernels for uint8 data and int8 weights add two products in
16 bits and saturate there. Weights as uint8, 128 larger and with a zero_point 128 larger, are equal in
value and take kernels that are exact; exact_model() writes them so. int8 data with int8 weights takes
exact kernels as it is. worst_case.py checks all of that on the machine at hand before a session is given.
"""
import functools

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import worst_case

# In all three: data, its scale and zero_point, then weights, their scale and zero_point.
OPERATORS = ("QLinearConv", "QLinearMatMul", "QGemm")
DATA_ZERO_POINT, WEIGHTS, WEIGHTS_ZERO_POINT = 2, 3, 5
OPTIMIZATIONS = {"all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
                 "disabled": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL}


class NotExact(Exception):
    """The model, or ONNX Runtime on this processor, gives no exact answer; one line says why."""


def constants_of(graph):
    """Name -> tensor, of initializers and Constant nodes."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            tensors |= {node.output[0]: a.t for a in node.attribute if a.name == "value"}
    return tensors


def is_int8(tensor):
    return tensor is not None and tensor.data_type == onnx.TensorProto.INT8


def shift_to_uint8(graph, constants, node, index):
    """Lets the node read a copy of its int8 constant, as uint8 and 128 larger."""
    name = node.input[index]
    copy = f"{name} as uint8"
    if copy not in constants:
        values = numpy_helper.to_array(constants[name]).astype(np.int16) + 128
        constants[copy] = numpy_helper.from_array(values.astype(np.uint8), copy)
        graph.initializer.append(constants[copy])
    node.input[index] = copy


def described(node):
    return f"node '{node.name}' ({node.op_type})"


def rewrite_weights(graph, constants, node):
    for index in (DATA_ZERO_POINT, WEIGHTS, WEIGHTS_ZERO_POINT):
        if index >= len(node.input) or node.input[index] not in constants:
            raise NotExact(f"{described(node)}: weights and zero_points must be constants of the model")
    data, weights, zero_point = (constants[node.input[index]]
                                 for index in (DATA_ZERO_POINT, WEIGHTS, WEIGHTS_ZERO_POINT))
    if is_int8(data) or not is_int8(weights):
        return  # both kinds of kernels are exact
    if not is_int8(zero_point):
        raise NotExact(f"{described(node)}: the zero_point of int8 weights must be int8")
    shift_to_uint8(graph, constants, node, WEIGHTS)
    shift_to_uint8(graph, constants, node, WEIGHTS_ZERO_POINT)


def remove_unread(graph):
    read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    kept = [tensor for tensor in graph.initializer if tensor.name in read]
    inputs = [value for value in graph.input
              if value.name in read or value.name not in {t.name for t in graph.initializer}]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    del graph.input[:]
    graph.input.extend(inputs)


def exact_model(model):
    """A model of equal value that ONNX Runtime computes exactly; NotExact where none is known.

    Operators without int8 weights are left as they are."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    constants = constants_of(graph)
    for node in graph.node:
        if node.op_type in OPERATORS:
            rewrite_weights(graph, constants, node)
            continue
        if any(a.HasField("g") or a.graphs for a in node.attribute):
            raise NotExact(f"{described(node)}: subgraphs are not supported")
        for name in node.input:
            if is_int8(constants.get(name)) and len(constants[name].dims) > 1:
                raise NotExact(f"{described(node)}: int8 weights; supported in {', '.join(OPERATORS)}")
    remove_unread(graph)
    return model


def open_plain_session(model, optimization="all"):
    """The model as it is, on one thread: what a user gets. Not exact on every processor."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = OPTIMIZATIONS[optimization]
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def open_rewritten_session(model, optimization):
    return open_plain_session(exact_model(model), optimization)


@functools.lru_cache(maxsize=None)
def prove(optimization):
    """Once a process: ONNX Runtime computes the worst cases exactly on this processor, or NotExact."""
    for fault in worst_case.faults(lambda model: open_rewritten_session(model, optimization)):
        raise NotExact(f"ONNX Runtime {onnxruntime.__version__} is no witness on this processor: {fault}")


def open_session(model, optimization="all"):
    """A session on one thread for a path or a ModelProto, exact, which ONNX Runtime has proved before."""
    prove(optimization)
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load(str(model))
    return open_rewritten_session(model, optimization)
