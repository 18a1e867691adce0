"""Random cases of quantized operators: a graph of one operator, its input, and what tools/ort/operator_rules.py
says ONNX Runtime gives. Scales are arbitrary, zero_points of both parities, sizes end inside vectors."""
import dataclasses

import numpy as np
import onnx
from onnx import helper, numpy_helper

import operator_rules as rules
from operator_rules import Quantization, Window

F = np.float32
TYPES = {np.dtype(np.uint8): onnx.TensorProto.UINT8, np.dtype(np.int8): onnx.TensorProto.INT8,
         np.dtype(np.int32): onnx.TensorProto.INT32, np.dtype(np.float32): onnx.TensorProto.FLOAT}
MICROSOFT = "com.microsoft"


@dataclasses.dataclass
class Case:
    """nodes: of onnx; inputs: name -> array fed; constants: name -> array; the graph's output is "y"."""
    nodes: list
    inputs: dict
    constants: dict
    expected: np.ndarray

    def model(self):
        def value(name, array, shape):
            return helper.make_tensor_value_info(name, TYPES[array.dtype], shape)
        graph = onnx.GraphProto(name="case")
        graph.node.extend(self.nodes)
        for name, array in self.constants.items():
            graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        for name, array in self.inputs.items():
            graph.input.append(value(name, array, array.shape))
        graph.output.append(value("y", self.expected, None))
        return helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 14), helper.make_opsetid(MICROSOFT, 1)])


def one_node(operator, arguments, fed, expected, domain="", **attributes):
    """A case of one node; arguments: (name, array) in order, None for one that is absent; fed: names of inputs."""
    names = [argument[0] if argument else "" for argument in arguments]
    arrays = dict(argument for argument in arguments if argument)
    node = helper.make_node(operator, names, ["y"], operator, domain=domain, **attributes)
    return Case([node], {name: arrays[name] for name in fed},
                {name: array for name, array in arrays.items() if name not in fed}, expected)


def named(name, array, quantization):
    """The three arguments (tensor, scale, zero_point) that most operators take."""
    return [(name, array), *parameters(name, quantization)]


def parameters(name, quantization):
    zero_point = np.asarray(quantization.zero_point, quantization.dtype)
    if np.ndim(quantization.scale) == 1 and zero_point.ndim == 0:
        zero_point = np.full(len(quantization.scale), zero_point, quantization.dtype)
    return [(f"{name}_scale", np.asarray(quantization.scale, F)), (f"{name}_zero_point", zero_point)]


class Random:
    """What cases are drawn from."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def integer(self, low, high):
        return int(self.generator.integers(low, high + 1))

    def choice(self, *values):
        return values[self.integer(0, len(values) - 1)]

    def scale(self, low=-9.0, high=-1.0):
        return F(2.0 ** self.generator.uniform(low, high))

    def quantization(self, dtype, **limits):
        return Quantization(self.scale(**limits), self.integer(*rules.limits(dtype)), dtype)

    def values(self, dtype, shape):
        low, high = rules.limits(dtype)
        return self.generator.integers(low, high + 1, shape).astype(dtype)

    def extent(self, largest=70):
        return self.integer(1, largest)

    def types(self):
        """(data, weights): what ONNX Runtime has kernels for."""
        return self.choice((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8))

    def weights(self, dtype, shape, channels):
        """Values and Quantization: per tensor or per channel, one zero_point that is 0, or near uint8's middle."""
        scale = self.scale() if self.integer(0, 1) else (2.0 ** self.generator.uniform(-9, -4, channels)).astype(F)
        if np.ndim(scale) == 1 and self.integer(0, 1):
            # Nearly powers of two times the first: output() then makes ties of many sums in all channels.
            scale = scale[0] * F(2) ** self.generator.integers(-2, 2, channels).astype(F) * self.nearly_one(channels)
        zero_point = self.integer(100, 156) if dtype is np.uint8 else self.choice(0, 0, self.integer(-20, 20))
        return self.values(dtype, shape), Quantization(scale, zero_point, dtype)

    def nearly_one(self, count=None):
        """1 and its neighbours in float32: what makes many values nearly ties, so that the order of rounding decides."""
        return (1 + self.generator.integers(-3, 4, count) * 2.0 ** -23).astype(F) if count else \
            F(1 + self.integer(-3, 3) * 2.0 ** -23)

    def output(self, sums, scale, dtype):
        """A Quantization that brings sums * scale into the type's range, a few of them beyond it; in half of the cases
        nearly a power of two times the (first) scale."""
        spread = float(np.abs(sums * np.asarray(scale, np.float64)).max()) + 1e-6
        y_scale = F(spread / self.generator.uniform(60, 300))
        if self.integer(0, 1):
            first = np.ravel(scale)[0]
            y_scale = F(first) * F(2.0 ** np.ceil(np.log2(y_scale / first))) * self.nearly_one()
        return Quantization(y_scale, self.integer(*rules.limits(dtype)), dtype)

    @staticmethod
    def add_ties(sums, bias, scale):
        """Moves each channel's bias so that its first sum is half of 1 / scale above a multiple, where scale is nearly a
        power of two: then it is nearly a tie. sums: channels last, with the bias."""
        steps = np.rint(-np.log2(np.broadcast_to(scale, bias.shape).astype(np.float64))).astype(np.int64)
        period = np.int64(1) << np.clip(steps, 1, 30)
        near = np.abs(np.asarray(scale, np.float64) * period - 1) < 1e-6
        first = sums.reshape(-1, bias.size)[0]
        bias += np.where(near, (period // 2 - first) % period, 0).astype(np.int32)

    def window(self, height, width):
        """A Window that fits a picture: sides of 1 to 5, strides to 3, pads on each side below the kernel."""
        kernel = (self.integer(1, min(5, height)), self.integer(1, min(5, width)))
        pads = tuple(self.integer(0, kernel[side % 2] - 1) for side in range(4))
        dilations = tuple(self.choice(1, 2) if (k - 1) * 2 < size else 1
                          for k, size in zip(kernel, (height, width)))
        return Window(kernel, (self.integer(1, 3), self.integer(1, 3)), pads, dilations)


def attributes_of(window, dilated=True):
    result = {"kernel_shape": window.kernel, "strides": window.strides, "pads": window.pads}
    return {**result, "dilations": window.dilations} if dilated else result


def qlinear_conv(random):
    data_type, weight_type = random.types()
    group = random.choice(1, 1, 2, 5)
    per_group = random.integer(1, 9) if group > 1 else random.extent(40)
    in_group = random.choice(1, random.integer(1, 5)) if group > 1 else random.extent(20)
    height, width = random.integer(1, 13), random.integer(1, 13)
    window = random.window(height, width)
    x = random.values(data_type, (random.integer(1, 2), in_group * group, height, width))
    xq = random.quantization(data_type)
    w, wq = random.weights(weight_type, (per_group * group, in_group, *window.kernel), per_group * group)
    bias = random.generator.integers(-20000, 20000, per_group * group).astype(np.int32)
    bias = bias if random.integer(0, 3) else None
    sums = rules.convolution_sums(x, xq, w, wq, bias, window, group)
    yq = random.output(sums, xq.scale * wq.scale, data_type)
    if bias is not None:
        random.add_ties(sums, bias, rules.output_scale(xq.scale, wq.scale, yq.scale))
    return one_node(
        "QLinearConv", [*named("x", x, xq), *named("w", w, wq), *parameters("y", yq),
                        *([("bias", bias)] if bias is not None else [])], ["x"],
        rules.qlinear_conv(x, xq, w, wq, bias, yq, window, group), group=group, **attributes_of(window))


def matrices(random):
    data_type, weight_type = random.types()
    rows, depth, columns = random.integer(1, 9), random.extent(300), random.extent(40)
    a, aq = random.values(data_type, (rows, depth)), random.quantization(data_type)
    return a, aq, *random.weights(weight_type, (depth, columns), columns)


def qlinear_matmul(random):
    a, aq, b, bq = matrices(random)
    yq = random.output(rules.matmul_integer(a, aq.zero_point, b, bq.zero_point), aq.scale * bq.scale, a.dtype)
    return one_node("QLinearMatMul", [*named("a", a, aq), *named("b", b, bq), *parameters("y", yq)], ["a"],
                    rules.qlinear_matmul(a, aq, b, bq, yq._replace(dtype=a.dtype)))


def qgemm(random):
    a, aq, b, bq = matrices(random)
    bias = random.generator.integers(-20000, 20000, b.shape[1]).astype(np.int32) if random.integer(0, 3) else None
    sums = rules.matmul_integer(a, aq.zero_point, b, bq.zero_point) + (0 if bias is None else bias)
    alpha = random.choice(1.0, 0.37)
    yq = random.output(sums, alpha * aq.scale * bq.scale, a.dtype) if random.integer(0, 4) else None
    if yq and bias is not None:
        random.add_ties(sums, bias, F(alpha) * rules.output_scale(aq.scale, bq.scale, yq.scale))
    transposed = random.integer(0, 1)
    stored = np.ascontiguousarray(b.T) if transposed else b
    return one_node("QGemm", [*named("a", a, aq), *named("b", stored, bq),
                              ("bias", bias) if bias is not None else None, *(parameters("y", yq) if yq else [])],
                    ["a"], rules.qgemm(a, aq, b, bq, bias, yq, alpha), MICROSOFT, alpha=alpha, transB=transposed)


def matmul_integer(random):
    # Both tensors are fed and have one type: ONNX Runtime's kernels for uint8 data and int8 weights are not
    # exact on every processor (exact_session.py).
    a, aq, _, _ = matrices(random)
    b = random.values(a.dtype, (a.shape[1], random.extent(40)))
    bq = random.quantization(a.dtype)
    return one_node("MatMulInteger", [("a", a), ("b", b), ("a_zero_point", np.asarray(aq.zero_point, a.dtype)),
                                      ("b_zero_point", np.asarray(bq.zero_point, b.dtype))], ["a", "b"],
                    rules.matmul_integer(a, aq.zero_point, b, bq.zero_point))


def two_tensors(random):
    """Two shapes that broadcast: equal, a bias per channel, or a single value on either side."""
    dtype = random.choice(np.uint8, np.int8)
    shape = (1, random.integer(1, 9), random.integer(1, 9), random.extent(40))
    other = random.choice(shape, shape, (1, shape[1], 1, 1), (1,))
    shapes = (shape, other) if random.integer(0, 1) else (other, shape)
    return [(random.values(dtype, each), random.quantization(dtype)) for each in shapes]


def qlinear_add(random, fma=True):
    (a, aq), (b, bq) = two_tensors(random)
    yq = random.quantization(aq.dtype)._replace(scale=F(random.generator.uniform(0.7, 3) * (aq.scale + bq.scale)))
    if random.integer(0, 1):
        # Ratios that are nearly eighths: one sum in eight is nearly a tie, and the order of rounding decides.
        aq, bq = (q._replace(scale=yq.scale * F(random.integer(1, 12) / 8) * random.nearly_one())
                  for q in (aq, bq))
    return one_node("QLinearAdd", [*named("a", a, aq), *named("b", b, bq), *parameters("y", yq)], ["a", "b"],
                    rules.qlinear_add(a, aq, b, bq, yq, fma), MICROSOFT)


def qlinear_mul(random):
    (a, aq), (b, bq) = two_tensors(random)
    yq = random.quantization(aq.dtype)._replace(scale=F(random.generator.uniform(50, 300) * aq.scale * bq.scale))
    if random.integer(0, 1):
        yq = yq._replace(scale=(aq.scale * bq.scale) * F(64) * random.nearly_one())
    return one_node("QLinearMul", [*named("a", a, aq), *named("b", b, bq), *parameters("y", yq)], ["a", "b"],
                    rules.qlinear_mul(a, aq, b, bq, yq), MICROSOFT)
