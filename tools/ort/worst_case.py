"""Layers whose sums saturate first where a kernel is not exact, and what 64-bit arithmetic makes of them.

usage: worst_case.py [--plain]
Checks ONNX Runtime on this processor, as tools/ort/run_onnx.py runs it, or with --plain as a user's own
session does. Exit code 0: every value is right; 1: a layer is not, and which.
"""
import itertools
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

SEED = 7
IMAGES = 5  # only extremes, all 0 and all 255 (-128 and 127) among them
CHANNELS = 20
TYPES = {np.uint8: onnx.TensorProto.UINT8, np.int8: onnx.TensorProto.INT8}
# (operator, in channels, kernel, images). A sum has at most 514 products, so that it fits 24 bits:
# beyond, ONNX Runtime rounds twice, which is not a kernel's fault.
SHAPES = (("QLinearConv", 16, 3, IMAGES), ("QLinearConv", 67, 1, IMAGES), ("QLinearConv", 3, 5, 1),
          ("QGemm", 301, 1, IMAGES), ("QGemm", 512, 1, 1),
          ("QLinearMatMul", 301, 1, IMAGES), ("QLinearMatMul", 512, 1, 1))


class Layer:
    """One layer with data of a type and int8 weights; its name is that of the node and, with an
    ending, that of its tensors."""

    def __init__(self, operator, dtype, in_channels, kernel, images):
        random = np.random.default_rng(SEED)
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        size = 7 if operator == "QLinearConv" else 1
        self.operator, self.dtype, self.kernel = operator, dtype, kernel
        self.name = f"{operator} {kernel}x{kernel}x{in_channels} of {images} {dtype.__name__} images"
        self.data = random.choice(np.array([low, high], dtype), (images, in_channels, size, size))
        self.data[0] = high
        self.data[1:2] = low
        self.weights = random.choice(np.array([-128, 127], np.int8), (CHANNELS, in_channels, kernel, kernel))
        self.weights[0:2] = [[[[-128]]], [[[127]]]]
        # The first two channels' sums are as large as sums get; the others' are seen with smaller steps.
        depth = in_channels * kernel * kernel
        self.shifts = np.full(CHANNELS, int(np.ceil(np.log2(np.sqrt(depth) * 255 * 2))))
        self.shifts[0:2] = int(np.ceil(np.log2(depth * 255)))
        self.data_zero_point, self.zero_point = low, low + 128
        if operator != "QLinearConv":
            self.data = self.data.reshape(images, -1)
            self.weights = self.weights.reshape(CHANNELS, -1)

    def expected(self):
        """In int64, rounded half to even."""
        data = self.data.astype(np.int64) - self.data_zero_point
        weights = self.weights.astype(np.int64)
        if self.operator == "QLinearConv":
            windows = np.lib.stride_tricks.sliding_window_view(data, (self.kernel, self.kernel), (2, 3))
            sums = np.einsum("nchwij,ocij->nhwo", windows, weights)
        else:
            sums = data @ weights.T
        rounded = np.rint(sums / 2.0 ** self.shifts).astype(np.int64) + self.zero_point
        values = np.clip(rounded, np.iinfo(self.dtype).min, np.iinfo(self.dtype).max).astype(self.dtype)
        return values.transpose(0, 3, 1, 2) if values.ndim == 4 else values

    def add_to(self, graph):
        # QLinearMatMul has weights as [in, out].
        weights = self.weights.T if self.operator == "QLinearMatMul" else self.weights
        tensors = {"x_scale": np.float32(1), "x_zero_point": self.dtype(self.data_zero_point),
                   "w": np.ascontiguousarray(weights), "w_scale": (2.0 ** -self.shifts).astype(np.float32),
                   "w_zero_point": np.zeros(CHANNELS, np.int8), "y_scale": np.float32(1),
                   "y_zero_point": self.dtype(self.zero_point)}
        names = ["x", *tensors]
        if self.operator == "QGemm":
            tensors["bias"] = np.zeros(CHANNELS, np.int32)
            names.insert(6, "bias")
        attributes = {"QLinearConv": {"kernel_shape": [self.kernel, self.kernel]},
                      "QGemm": {"transB": 1, "domain": "com.microsoft"}}.get(self.operator, {})
        graph.node.append(helper.make_node(
            self.operator, [f"{self.name} {name}" for name in names], [self.name], self.name, **attributes))
        for key, tensor in tensors.items():
            graph.initializer.append(numpy_helper.from_array(np.asarray(tensor), f"{self.name} {key}"))
        graph.input.append(helper.make_tensor_value_info(f"{self.name} x", TYPES[self.dtype], self.data.shape))
        graph.output.append(helper.make_tensor_value_info(self.name, TYPES[self.dtype], None))


def faults(open_session):
    """The layers, one sentence each, that a session of open_session(ModelProto) gets wrong."""
    layers = [Layer(operator, dtype, *sizes)
              for dtype, (operator, *sizes) in itertools.product(TYPES, SHAPES)]
    model = helper.make_model(
        onnx.GraphProto(name="worst cases"), ir_version=8,
        opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)])
    for layer in layers:
        layer.add_to(model.graph)
    found = open_session(model).run([layer.name for layer in layers],
                                    {f"{layer.name} x": layer.data for layer in layers})
    result = []
    for layer, values in zip(layers, found):
        wrong = int(np.count_nonzero(values != layer.expected()))
        if wrong:
            result.append(f"{layer.name}: {wrong} of {values.size} values differ from 64-bit arithmetic")
    return result


def main(arguments):
    import exact_session  # pylint: disable=import-outside-toplevel
    if arguments not in ([], ["--plain"]):
        sys.exit(__doc__)
    wrong = 0
    for optimization in exact_session.OPTIMIZATIONS:
        def opened(model, optimization=optimization):
            how = exact_session.open_plain_session if arguments else exact_session.open_rewritten_session
            return how(model, optimization)
        for fault in faults(opened):
            print(f"graph optimization {optimization}: {fault}")
            wrong += 1
    print("not exact" if wrong else "exact")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
