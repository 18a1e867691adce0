"""Random cases of pools, of operators that ONNX Runtime runs by tables, and of the same in QDQ form: cases.py."""
import numpy as np
from onnx import helper

import operator_rules as rules
import table_rules as tables
from cases import F, MICROSOFT, Case, attributes_of, named, one_node, parameters
from operator_rules import Quantization


def picture(random, largest=13):
    """A picture of a type and its Quantization, with a Window that fits it."""
    dtype = random.choice(np.uint8, np.int8)
    height, width = random.integer(1, largest), random.integer(1, largest)
    x = random.values(dtype, (random.integer(1, 2), random.extent(40), height, width))
    return x, random.quantization(dtype), random.window(height, width)


def near(random, xq, low=0.3, high=1.5):
    """An output Quantization with a scale not far from the input's; now and then with nearly twice that scale,
    where every second value is nearly a tie."""
    scale = xq.scale * F(random.generator.uniform(low, high))
    if random.integer(0, 2) == 0:
        scale = xq.scale * F(random.choice(0.5, 2, 4)) * random.nearly_one()
    return Quantization(scale, random.integer(*rules.limits(xq.dtype)), xq.dtype)


def max_pool(random):
    x, _, window = picture(random)
    return one_node("MaxPool", [("x", x)], ["x"], rules.max_pool(x, window), **attributes_of(window))


def qlinear_average_pool(random):
    x, xq, window = picture(random)
    window = window._replace(dilations=(1, 1))
    if random.integer(0, 4) == 0:
        window = window._replace(kernel=x.shape[2:], pads=(0, 0, 0, 0))
    yq, padded = near(random, xq), random.integer(0, 1)
    return one_node("QLinearAveragePool", [*named("x", x, xq), *parameters("y", yq)], ["x"],
                    rules.qlinear_average_pool(x, xq, yq, window, padded), MICROSOFT,
                    count_include_pad=padded, **attributes_of(window, dilated=False))


def qlinear_global_average_pool(random):
    x, xq, _ = picture(random)
    yq = near(random, xq, 0.05, 0.5)
    return one_node("QLinearGlobalAveragePool", [*named("x", x, xq), *parameters("y", yq)], ["x"],
                    rules.qlinear_global_average_pool(x, xq, yq), MICROSOFT)


def qlinear_concat(random):
    x, xq, _ = picture(random, 9)
    tensors = [(x, xq)]
    for _ in range(random.integer(1, 3)):
        shape = (x.shape[0], random.extent(20), *x.shape[2:])
        tensors.append((random.values(x.dtype, shape), near(random, xq)))
    yq = random.choice(xq, near(random, xq))
    arguments = [argument for i, (each, q) in enumerate(tensors) for argument in named(f"x{i}", each, q)]
    return one_node("QLinearConcat", [*parameters("y", yq), *arguments], [f"x{i}" for i in range(len(tensors))],
                    tables.qlinear_concat(tensors, yq, 1), MICROSOFT, axis=1)


def bytes_of(random):
    """All 256 values and some more, in an odd number."""
    dtype = random.choice(np.uint8, np.int8)
    x = np.concatenate([np.arange(256).astype(np.uint8).view(dtype), random.values(dtype, random.extent())])
    return x.reshape(1, -1), random.quantization(dtype, low=-7.0, high=-2.0)


def qlinear_leaky_relu(random):
    x, xq = bytes_of(random)
    alpha, yq = float(random.generator.uniform(0, 0.5)), near(random, xq)
    return one_node("QLinearLeakyRelu", [*named("x", x, xq), *parameters("y", yq)], ["x"],
                    tables.mapped(x, xq, yq, tables.leaky_relu(alpha)), MICROSOFT, alpha=alpha)


def unit_output(random, xq):
    """An output Quantization for values of 0 to 1."""
    return Quantization(random.choice(F(1 / 256), F(1 / 255), random.scale(-9, -7)),
                        random.choice(0, random.integer(*rules.limits(xq.dtype))), xq.dtype)


def qlinear_sigmoid(random, fma=True):
    x, xq = bytes_of(random)
    yq = unit_output(random, xq)
    return one_node("QLinearSigmoid", [*named("x", x, xq), *parameters("y", yq)], ["x"],
                    tables.mapped(x, xq, yq, tables.sigmoid(fma)), MICROSOFT)


def qlinear_softmax(random):
    dtype = random.choice(np.uint8, np.int8)
    x = random.values(dtype, (random.integer(1, 5), random.integer(4, 300)))
    xq, yq = random.quantization(dtype, low=-7.0, high=-2.0), unit_output(random, Quantization(1, 0, dtype))
    return one_node("QLinearSoftmax", [*named("x", x, xq), *parameters("y", yq)], ["x"],
                    tables.qlinear_softmax(x, xq, yq), MICROSOFT, axis=-1, opset=13)


def in_qdq_form(x, xq, yq, function, operator, constants=(), **attributes):
    """DequantizeLinear, the float operator, QuantizeLinear; constants: further (name, array) of the operator."""
    arrays = dict([*named("x", x, xq), *parameters("y", yq), *constants])
    nodes = [helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero_point"], ["v"], "dequantize"),
             helper.make_node(operator, ["v", *(name for name, _ in constants)], ["u"], operator, **attributes),
             helper.make_node("QuantizeLinear", ["u", "y_scale", "y_zero_point"], ["y"], "quantize")]
    return Case(nodes, {"x": arrays.pop("x")}, arrays, tables.mapped(x, xq, yq, function))


def qdq_relu(random):
    x, xq = bytes_of(random)
    return in_qdq_form(x, xq, near(random, xq), tables.relu, "Relu")


def qdq_clip(random):
    x, xq = bytes_of(random)
    low, high = sorted(random.generator.uniform(-300, 300, 2) * xq.scale) if random.integer(0, 1) else (0, 6)
    bounds = [("low", np.asarray(low, F)), ("high", np.asarray(high, F))]
    return in_qdq_form(x, xq, near(random, xq), tables.clip(low, high), "Clip", bounds)


def qdq_leaky_relu(random):
    x, xq = bytes_of(random)
    alpha = float(random.generator.uniform(0, 0.5))
    return in_qdq_form(x, xq, near(random, xq), tables.leaky_relu(alpha), "LeakyRelu", alpha=alpha)


def qdq_prelu(random):
    """A slope for each channel of a picture."""
    x, xq, _ = picture(random)
    slopes, yq = random.generator.uniform(-1, 2, (x.shape[1], 1, 1)).astype(F), near(random, xq)
    case = in_qdq_form(x, xq, yq, tables.relu, "PRelu", [("slope", slopes)])
    case.expected = rules.quantize_linear(tables.leaky_relu(slopes)(rules.dequantize_linear(x, xq)), yq)
    return case


def qdq_hard_sigmoid(random):
    x, xq = bytes_of(random)
    alpha, beta = random.choice((0.2, 0.5), (1 / 6, 0.5), (float(random.generator.uniform(0.05, 0.3)), 0.4))
    return in_qdq_form(x, xq, unit_output(random, xq), tables.hard_sigmoid(alpha, beta), "HardSigmoid",
                       alpha=alpha, beta=beta)


def qdq_hard_swish(random):
    x, xq = bytes_of(random)
    return in_qdq_form(x, xq, near(random, xq), tables.hard_swish, "HardSwish")


def qdq_sigmoid(random, fma=True):
    x, xq = bytes_of(random)
    return in_qdq_form(x, xq, unit_output(random, xq), tables.sigmoid(fma), "Sigmoid")


def reduce_mean(random):
    """Float32: a picture of normal values of any size, whose channels begin anywhere in memory."""
    shape = (random.integer(1, 2), random.extent(20), random.integer(1, 15), random.integer(1, 15))
    x = random.generator.normal(0, 1, shape).astype(F)
    return one_node("ReduceMean", [("x", x)], ["x"], rules.reduce_mean(x), axes=[2, 3], keepdims=0)
