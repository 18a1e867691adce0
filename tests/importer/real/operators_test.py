"""Each operator of float networks with each of its forms in a model of its own: the importer and the float executor
against ONNX Runtime. The constants are random, seeded.

usage: operators_test.py FLOAT_LAYERS [TEST...]
"""
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

import layers_of_files as files

TOOL = pathlib.Path(sys.argv[1])
PICTURE, VECTOR = (2, 4, 9, 7), (2, 6)


def model_of(nodes, constants, shape, opset):
    graph = helper.make_graph(
        nodes, "one", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def windows():
    """Attributes of windows over a picture of 9 x 7, each a difficulty of its own."""
    return [{}, {"strides": [2, 3]}, {"pads": [1, 0, 2, 1]}, {"strides": [3, 2], "pads": [0, 1, 1, 2]},
            {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
            {"auto_pad": "VALID", "strides": [2, 1]}]


class Operators(unittest.TestCase):
    random = np.random.default_rng(33)

    def numbers(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def check(self, op_type, constants=None, shape=PICTURE, opset=13, before=(), after=(), **attributes):
        """One node, which reads "x" and the constants in their order; `before` and `after` are nodes around it."""
        constants = constants or {}
        node = helper.make_node(op_type, [before[-1].output[0] if before else "x", *constants],
                                ["one" if after else "y"], "node", **attributes)
        model = model_of([*before, node, *after], constants, shape, opset)
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "model.onnx"
            onnx.save(model, str(file))
            count, error, where = files.compare(TOOL, file, self.numbers(*shape) * 2)
            self.assertLessEqual(error, files.LARGEST_ERROR, f"{op_type} {attributes}: {where}")
            self.assertGreaterEqual(count, 1)

    def test_convolutions(self):
        weights = {"w": self.numbers(6, 4, 3, 2), "b": self.numbers(6)}
        for attributes in windows():
            self.check("Conv", weights, **attributes)
        self.check("Conv", {"w": self.numbers(6, 2, 3, 3)}, group=2, dilations=[2, 3], pads=[2, 3, 2, 3])
        self.check("Conv", {"w": self.numbers(8, 1, 1, 5), "b": self.numbers(8)}, group=4, dilations=[1, 1])
        self.check("Conv", {"w": self.numbers(5, 4, 9, 7)})

    def test_pools(self):
        for attributes in windows():
            self.check("MaxPool", kernel_shape=[3, 3], **attributes)
            self.check("AveragePool", kernel_shape=[3, 3], **attributes)
            self.check("AveragePool", kernel_shape=[3, 3], count_include_pad=1, **attributes)
        for strides in ([2, 2], [3, 2], [4, 4]):
            self.check("MaxPool", kernel_shape=[3, 2], strides=strides, ceil_mode=1, pads=[1, 1, 1, 0])
            self.check("AveragePool", opset=19, kernel_shape=[3, 2], strides=strides, ceil_mode=1, pads=[1, 1, 1, 0])
            self.check("AveragePool", opset=19, kernel_shape=[3, 2], strides=strides, ceil_mode=1, pads=[1, 1, 1, 0],
                       count_include_pad=1)
        self.check("MaxPool", kernel_shape=[3, 2], dilations=[2, 3])
        self.check("GlobalMaxPool")
        self.check("GlobalAveragePool")
        for op_type in ("ReduceMean", "ReduceMax"):
            self.check(op_type, axes=[2, 3], keepdims=1)
            self.check(op_type, axes=[-1, -2], keepdims=0)
            self.check(op_type, {"axes": np.array([-2, 3])}, opset=18, keepdims=0)

    def test_vectors(self):
        self.check("Gemm", {"w": self.numbers(5, 6), "c": self.numbers(5)}, VECTOR, transB=1)
        self.check("Gemm", {"w": self.numbers(6, 5), "c": self.numbers(1, 5)}, VECTOR, alpha=0.3, beta=-2.5)
        self.check("Gemm", {"w": self.numbers(6, 5), "c": self.numbers(1)}, VECTOR)
        self.check("Gemm", {"w": self.numbers(6, 5)}, VECTOR)
        self.check("MatMul", {"w": self.numbers(6, 5)}, VECTOR)

    def test_functions_of_one_number(self):
        for op_type, attributes in (
                ("Relu", {}), ("LeakyRelu", {}), ("LeakyRelu", {"alpha": -0.5}), ("Sigmoid", {}), ("HardSigmoid", {}),
                ("HardSigmoid", {"alpha": 0.7, "beta": 0.1}), ("HardSwish", {"opset": 14}),
                ("Clip", {"opset": 10, "min": -0.5, "max": 0.75}), ("Clip", {"opset": 10, "max": 0.5})):
            self.check(op_type, **attributes)
            self.check(op_type, shape=VECTOR, **attributes)
        self.check("Clip", {"low": np.float32(-1), "high": np.float32(0.5)})
        self.check("Clip", {"low": np.float32(1), "high": np.float32(0.5)})
        self.check("Max", {"low": np.float32([-0.25])})
        self.check("Min", {"high": np.float32(0.25)})
        for shape in ((1, 1, 1), (4, 1, 1), (1, 4, 1, 1), ()):
            self.check("PRelu", {"slope": self.numbers(*shape)})
        self.check("PRelu", {"slope": self.numbers(6)}, VECTOR)

    def test_constants_by_channel(self):
        norm = {name: self.numbers(4) for name in ("gamma", "beta", "mean")} | {"variance": np.abs(self.numbers(4))}
        self.check("BatchNormalization", norm)
        self.check("BatchNormalization", norm, epsilon=0.1)
        conv = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1])]
        for op_type in ("Add", "Sub", "Mul", "Div"):
            for shape in ((1, 4, 1, 1), (4, 1, 1), (1,), ()):
                self.check(op_type, {"k": self.numbers(*shape) + np.float32(1)})
            self.check(op_type, {"k": self.numbers(6)}, VECTOR)
        model = model_of([*conv, helper.make_node("BatchNormalization", ["c", *norm], ["y"], "norm")],
                         {"w": self.numbers(4, 4, 3, 3), **norm}, PICTURE, 15)
        with tempfile.TemporaryDirectory() as name:
            file = pathlib.Path(name) / "model.onnx"
            onnx.save(model, str(file))
            count, error, where = files.compare(TOOL, file, self.numbers(*PICTURE))
            self.assertEqual(count, 1)
            self.assertLessEqual(error, files.LARGEST_ERROR, where)

    def test_a_constant_before_the_tensor(self):
        for op_type in ("Add", "Sub", "Mul"):
            node = helper.make_node(op_type, ["k", "x"], ["y"], "node")
            with tempfile.TemporaryDirectory() as name:
                file = pathlib.Path(name) / "model.onnx"
                onnx.save(model_of([node], {"k": self.numbers(4, 1, 1)}, PICTURE, 13), str(file))
                self.assertLessEqual(files.compare(TOOL, file, self.numbers(*PICTURE))[1], files.LARGEST_ERROR)

    def test_tensors_of_several_readers(self):
        twice = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Sigmoid", ["x"], ["s"], "sigmoid")]
        for node in (helper.make_node("Add", ["r", "s"], ["y"], "node"), helper.make_node("Add", ["r", "r"], ["y"], "node"),
                     helper.make_node("Concat", ["r", "s", "x"], ["y"], "node", axis=1)):
            for shape in (PICTURE, VECTOR):
                with tempfile.TemporaryDirectory() as name:
                    file = pathlib.Path(name) / "model.onnx"
                    onnx.save(model_of([*twice, node], {}, shape, 13), str(file))
                    self.assertLessEqual(files.compare(TOOL, file, self.numbers(*shape))[1], files.LARGEST_ERROR)

    def test_pads(self):
        pads = {"pads": np.array([0, 0, 1, 2, 0, 0, 0, 1])}
        for after in (helper.make_node("Conv", ["one", "w"], ["y"], "conv", pads=[1, 0, 0, 1]),
                      helper.make_node("MaxPool", ["one"], ["y"], "pool", kernel_shape=[3, 3]),
                      helper.make_node("AveragePool", ["one"], ["y"], "pool", kernel_shape=[3, 3]),
                      helper.make_node("AveragePool", ["one"], ["y"], "pool", kernel_shape=[3, 3], pads=[1, 1, 0, 0]),
                      helper.make_node("Mul", ["one", "k"], ["y"], "mul"), helper.make_node("Sigmoid", ["one"], ["y"], "s")):
            before = [helper.make_node("Pad", ["x", "pads"], ["one"], "pad")]
            constants = {**pads, "w": self.numbers(3, 4, 3, 3), "k": self.numbers(4, 1, 1)}
            with tempfile.TemporaryDirectory() as name:
                file = pathlib.Path(name) / "model.onnx"
                onnx.save(model_of([*before, after], constants, PICTURE, 13), str(file))
                self.assertLessEqual(files.compare(TOOL, file, self.numbers(*PICTURE))[1], files.LARGEST_ERROR, after.op_type)

    def test_flattening_in_both_orders(self):
        self.check("Flatten")
        self.check("Reshape", {"shape": np.array([0, -1])})
        self.check("Reshape", {"shape": np.array([2, 4 * 9 * 7])})
        turn = [helper.make_node("Transpose", ["x"], ["t"], "turn", perm=[0, 2, 3, 1])]
        self.check("Flatten", before=turn)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
