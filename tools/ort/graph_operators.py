"""The operators of quantized_graph.py: attributes of nodes to arguments of rules, float operators, and constants."""
import numpy as np
from onnx import helper, numpy_helper

import operator_rules as rules
import table_rules as tables
from operator_rules import F, Window


def attribute(node, name, default=None):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def window_of(node, kernel):
    """The Window of a convolution or pool; auto_pad and ceil_mode are not supported."""
    if attribute(node, "auto_pad", b"NOTSET") != b"NOTSET" or attribute(node, "ceil_mode", 0):
        raise KeyError(f"{node.op_type} with auto_pad or ceil_mode")
    return Window(tuple(attribute(node, "kernel_shape", kernel)), tuple(attribute(node, "strides", (1, 1))),
                  tuple(attribute(node, "pads", (0, 0, 0, 0))), tuple(attribute(node, "dilations", (1, 1))))


def conv(node, x, xq, w, wq, bias, yq):
    return rules.qlinear_conv(x, xq, w, wq, bias, yq, window_of(node, w.shape[2:]), attribute(node, "group", 1))


def gemm(node, a, aq, b, bq, bias, yq):
    b = b.T if attribute(node, "transB", 0) else b
    return rules.qgemm(a, aq, b, bq, None if bias is None else bias.reshape(-1), yq, attribute(node, "alpha", 1.0))


def average_pool(node, x, xq, yq):
    return rules.qlinear_average_pool(x, xq, yq, window_of(node, None), attribute(node, "count_include_pad", 0))


def global_average_pool(_, x, xq, yq):
    return rules.qlinear_global_average_pool(x, xq, yq)


def softmax(_, x, xq, yq):
    return tables.qlinear_softmax(x, xq, yq)


UNARY = {"AveragePool": average_pool, "GlobalAveragePool": global_average_pool, "Softmax": softmax}
MAPS = {"LeakyRelu": lambda node, fma: tables.leaky_relu(attribute(node, "alpha", 0.01)),
        "Sigmoid": lambda node, fma: tables.sigmoid(fma)}


def unary(kind, node, x, xq, yq, fma):
    if kind in UNARY:
        return UNARY[kind](node, x, xq, yq)
    return tables.mapped(x, xq, yq, MAPS[kind](node, fma))


def qlinear(node, values, quantization, fma):
    """A QLinear operator or QGemm; quantization(scale's name, zero_point's name)."""
    names, kind = node.input, node.op_type.removeprefix("QLinear")
    at = lambda index: quantization(names[index], names[index + 1])  # noqa: E731
    if kind == "Conv":
        return conv(node, values[0], at(1), values[3], at(4), values[8] if len(values) > 8 else None, at(6))
    if kind == "QGemm":
        yq = at(7) if len(names) > 8 and names[8] else None
        return gemm(node, values[0], at(1), values[3], at(4), values[6], yq)
    if kind == "MatMul":
        return rules.qlinear_matmul(values[0], at(1), values[3], at(4), at(6))
    if kind in ("Add", "Mul"):
        extra = (fma,) if kind == "Add" else ()
        rule = rules.qlinear_add if kind == "Add" else rules.qlinear_mul
        return rule(values[0], at(1), values[3], at(4), at(6), *extra)
    if kind == "Concat":
        tensors = [(values[i], at(i + 1)) for i in range(2, len(values), 3)]
        return tables.qlinear_concat(tensors, at(0), attribute(node, "axis"))
    return unary(kind, node, values[0], at(1), at(3), fma)


def may_fuse(node):
    return node.op_type in ("Conv", "Gemm", "MatMul", "Add", "Mul", "Concat", *UNARY, *MAPS)


def as_uint8(x, q):
    """int8 as uint8, 128 larger and with a zero_point 128 larger."""
    return (x.view(np.uint8) ^ np.uint8(128)), q._replace(zero_point=q.zero_point + 128, dtype=np.uint8)


def fused(node, inputs, yq, shared, fma):
    """Bytes of a float operator on Dequantized inputs before a QuantizeLinear (yq None: no QuantizeLinear), or None
    where ONNX Runtime runs it as float. shared: more than one node reads what the QuantizeLinear gives.

    On x86 it makes an int8 tensor that one node reads uint8 first. One that several read stays int8, for which it
    fuses no convolution and no MatMul; and it fuses no operator whose tensors are of both types.
    """
    kind, data = node.op_type, inputs if node.op_type in ("Add", "Mul", "Concat") else inputs[:1]
    ends = [(value.q.dtype, value.shared) for value in data] + ([(yq.dtype, shared)] if yq else [])
    signed = {dtype == np.int8 and read_by_several for dtype, read_by_several in ends}
    if len({dtype for dtype, _ in ends}) != 1 or len(signed) != 1 or (yq is None and kind != "Gemm"):
        return None
    if True in signed and kind in ("Conv", "MatMul"):
        return None
    if ends[0][0] == np.uint8 or True in signed:
        return fused_bytes(node, [(value.x, value.q) for value in inputs if value is not None], yq, fma)
    converted = [as_uint8(value.x, value.q) if index < len(data) else (value.x, value.q)
                 for index, value in enumerate(inputs) if value is not None]
    if yq is None:
        return fused_bytes(node, converted, None, fma)
    y = fused_bytes(node, converted, as_uint8(np.zeros(1, np.int8), yq)[1], fma)
    return (y ^ np.uint8(128)).view(np.int8)


def fused_bytes(node, tensors, yq, fma):
    """The rule of a float operator's QLinear operator; tensors: [(bytes, Quantization), ...], a bias third."""
    kind, bias = node.op_type, tensors[2][0] if len(tensors) > 2 else None
    given = [argument for tensor in tensors[:2] for argument in tensor]
    if kind == "MatMul":
        return rules.qlinear_matmul(*given, yq)
    if kind in ("Conv", "Gemm"):
        return (conv if kind == "Conv" else gemm)(node, *given, bias, yq)
    if kind == "Add":
        return rules.qlinear_add(*given, yq, fma)
    if kind == "Mul":
        return rules.qlinear_mul(*given, yq)
    if kind == "Concat":
        return tables.qlinear_concat(tensors, yq, attribute(node, "axis"))
    return unary(kind, node, *given, yq, fma)


def clip_of(node, inputs):
    """(function, (low, high)) of a Relu or Clip, else None."""
    if node.op_type == "Relu":
        return tables.relu, (0.0, np.inf)
    if node.op_type == "Clip":
        low, high = (float(value) if value is not None else bound for value, bound in zip(
            [*inputs[1:3], None, None], (-np.inf, np.inf)))
        return tables.clip(low, high), (low, high)
    return None


def reshape(node, inputs):
    shape = [inputs[0].shape[i] if size == 0 else int(size) for i, size in enumerate(inputs[1])]
    return inputs[0].reshape(shape)


def flatten(node, inputs):
    axis = attribute(node, "axis", 1)
    return inputs[0].reshape(int(np.prod(inputs[0].shape[:axis])), -1)


def pad(node, inputs):
    count = inputs[0].ndim
    amounts = [int(amount) for amount in inputs[1]]
    value = inputs[2].reshape(-1)[0] if len(inputs) > 2 and inputs[2] is not None else 0
    return np.pad(inputs[0], list(zip(amounts[:count], amounts[count:])), constant_values=value)


def slice_of(_, inputs):
    data, starts, ends = inputs[:3]
    axes = inputs[3] if len(inputs) > 3 and inputs[3] is not None else range(len(starts))
    steps = inputs[4] if len(inputs) > 4 else [1] * len(starts)
    parts = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        # Far beyond the first element, going backwards, means up to it.
        parts[axis] = slice(start, None if step < 0 and end < -data.shape[axis] else end, step)
    return data[tuple(parts)]


def max_pool(node, inputs):
    if inputs[0].dtype == F:
        return rules.windows(inputs[0], window_of(node, None), -np.inf).max((4, 5))
    return rules.max_pool(inputs[0], window_of(node, None))


# Operators that move values or compare them: the same on bytes and on float32.
ON_BYTES = {"Reshape": reshape, "Slice": slice_of, "Flatten": flatten, "Pad": pad, "MaxPool": max_pool,
            "Transpose": lambda node, inputs: inputs[0].transpose(attribute(node, "perm")),
            "Squeeze": lambda node, inputs: inputs[0].squeeze(tuple(int(axis) for axis in inputs[1])),
            "Identity": lambda node, inputs: inputs[0]}


def float_conv(node, x, w, bias=None):
    window = window_of(node, w.shape[2:])
    data = rules.windows(x.astype(np.float64), window, 0.0)
    group = attribute(node, "group", 1)
    parts = zip(np.split(data, group, 1), np.split(w.astype(np.float64), group, 0))
    sums = np.concatenate([np.tensordot(d, v, ((1, 4, 5), (1, 2, 3))) for d, v in parts], -1)
    return (sums + (0 if bias is None else bias)).transpose(0, 3, 1, 2)


def float_gemm(node, a, b, bias=None):
    b = b.T if attribute(node, "transB", 0) else b
    return attribute(node, "alpha", 1.0) * (a.astype(np.float64) @ b) + (0 if bias is None else bias)


def float_average_pool(node, x):
    window = window_of(node, None)
    inside = rules.windows(np.ones((1, 1) + x.shape[2:]), window, 0).sum((4, 5))
    count = window.kernel[0] * window.kernel[1] if attribute(node, "count_include_pad", 0) else inside
    return rules.windows(x.astype(np.float64), window, 0.0).sum((4, 5)) / count


def float_softmax(node, x):
    powers = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def mean(node, x, axes=None):
    axes = attribute(node, "axes") if axes is None else axes
    return x.astype(np.float64).mean(tuple(int(axis) for axis in axes), keepdims=bool(attribute(node, "keepdims", 1)))


def is_picture_mean(node, arrays):
    """A ReduceMean that operator_rules.reduce_mean has: over height and width, by the attribute of opset 13."""
    return node.op_type == "ReduceMean" and arrays[0].ndim == 4 and attribute(node, "axes") in ([2, 3], [-2, -1])


def picture_mean(node, x):
    means = rules.reduce_mean(x)
    return means[:, :, np.newaxis, np.newaxis] if attribute(node, "keepdims", 1) else means


# ONNX Runtime's order of additions is not known here: computed in float64, rounded once.
INEXACT = {"Conv": float_conv, "Gemm": float_gemm, "AveragePool": float_average_pool, "Softmax": float_softmax,
           "ReduceMean": mean, "MatMul": lambda node, a, b: a.astype(np.float64) @ b,
           "GlobalAveragePool": lambda node, x: x.astype(np.float64).mean((2, 3), keepdims=True)}
EXACT = {"Add": lambda node, a, b: a + b, "Mul": lambda node, a, b: a * b,
         "Concat": lambda node, *tensors: np.concatenate(tensors, attribute(node, "axis")),
         "HardSwish": lambda node, x: tables.hard_swish(x),
         "HardSigmoid": lambda node, x: tables.hard_sigmoid(attribute(node, "alpha", 0.2),
                                                            attribute(node, "beta", 0.5))(x),
         "LeakyRelu": lambda node, x: tables.leaky_relu(attribute(node, "alpha", 0.01))(x),
         "PRelu": lambda node, x, slope: tables.leaky_relu(slope)(x),
         "Sigmoid": lambda node, x: tables.sigmoid()(x)}


def float_operator(node, arrays):
    """(float32 values, whether every rounding is that of ONNX Runtime) of a float operator."""
    clip = clip_of(node, arrays)
    if clip:
        return clip[0](arrays[0]), True
    if node.op_type in ON_BYTES:
        return ON_BYTES[node.op_type](node, arrays), True
    if is_picture_mean(node, arrays):
        return picture_mean(node, arrays[0]), True
    if node.op_type in EXACT:
        return EXACT[node.op_type](node, *arrays), True
    return INEXACT[node.op_type](node, *arrays).astype(F), False


def constant_of_shape(node, inputs):
    return np.full([int(size) for size in inputs[0]], numpy_helper.to_array(attribute(node, "value")).reshape(-1)[0])


def cast(node, inputs):
    return inputs[0].astype(helper.mapping.TENSOR_TYPE_TO_NP_TYPE[attribute(node, "to")])


CONSTANTS = {"Constant": lambda node, inputs: numpy_helper.to_array(attribute(node, "value")),
             "ConstantOfShape": constant_of_shape, "Cast": cast, "Identity": lambda node, inputs: inputs[0]}
