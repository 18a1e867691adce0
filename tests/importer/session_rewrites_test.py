"""QDQ files that ONNX Runtime's default session rewrites before it runs them (pairs of QuantizeLinear and
DequantizeLinear, Pad before MaxPool, Clip before tiny scales), and files of which several QuantizeLinear read one
tensor: qsim gives the session's bytes. Weights have 7 bits, so the session is exact on every processor.

usage: ORT_DIR/bin/python session_rewrites_test.py QSIM
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

QSIM = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else None
SEED = 5
PICTURES = 8
AROUND = np.int64([0, 0, 1, 1, 0, 0, 1, 1])


class Model:
    """A network of one input x, float32 [N, 3, 8, 8]."""

    def __init__(self):
        self.random = np.random.default_rng(SEED)
        self.nodes, self.constants = [], []

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, op_type, *inputs, **attributes):
        name = f"{op_type}_{len(self.nodes)}"
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.nodes.append(helper.make_node(op_type, names, [f"{name}.out"], name=name, **attributes))
        return f"{name}.out"

    def quantize(self, tensor, scale, zero_point, kind=np.uint8):
        return self.add("QuantizeLinear", tensor, np.float32(scale), kind(zero_point))

    def dequantize(self, tensor, scale, zero_point, kind=np.uint8):
        return self.add("DequantizeLinear", tensor, np.float32(scale), kind(zero_point))

    def pair(self, tensor, scale, zero_point, kind=np.uint8):
        return self.dequantize(self.quantize(tensor, scale, zero_point, kind), scale, zero_point, kind)

    def conv(self, tensor, channels=4, read=4, scale=0.01):
        weights = self.random.integers(-63, 64, (channels, read, 3, 3)).astype(np.int8)
        return self.add("Conv", tensor, self.dequantize(self.constant(weights), scale, 0, np.int8), pads=[1, 1, 1, 1],
                        kernel_shape=[3, 3])

    def start(self, scale=0.05, zero_point=100):
        return self.pair(self.conv(self.pair("x", 0.02, 128), 4, 3), scale, zero_point)

    def save(self, file, output, opset, kind=TensorProto.FLOAT):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                                                                  ["N", 3, 8, 8])],
                                  [helper.make_tensor_value_info(output, kind, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 7
        onnx.save(onnx.shape_inference.infer_shapes(model), str(file))


def outputs_of_session(file, pictures, optimized=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: pictures})[0]


class Rewrites(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def qsim(self, *words):
        done = subprocess.run([str(word) for word in (QSIM, *words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf8", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, build, opset=13, rewritten=False, kind=TensorProto.FLOAT):
        """golden's output is the session's. `rewritten`: without its optimizations the session gives another."""
        model = Model()
        file = self.folder / "m.onnx"
        model.save(file, build(model), opset, kind)
        pictures = np.random.default_rng(SEED + 1).normal(0, 1, (PICTURES, 3, 8, 8)).astype(np.float32)
        np.save(self.folder / "x.npy", pictures)
        self.qsim("golden", "run", "--quiet", "--backend", "cpu", "--model", file, "--input", self.folder / "x.npy",
                  "--out", self.folder / "out")
        found = np.load(self.folder / "out/output.npy")
        expected = outputs_of_session(file, pictures)
        self.assertEqual(found.dtype, expected.dtype)
        self.assertEqual(found.shape, expected.shape)
        self.assertGreater(len(np.unique(expected)), 1)
        differing = int(np.count_nonzero(found != expected))
        self.assertEqual(differing, 0, f"of {found.size}, seed {SEED}")
        if rewritten:
            self.assertGreater(np.count_nonzero(outputs_of_session(file, pictures, False) != expected), 3)
        return file

    def names(self, file):
        return [layer["layer"] for layer in json.loads(self.qsim("inspect", file, "--json", "-"))["layers"]]

    def test_inner_pairs_fall_away(self):
        def both(m, tensor, other=0.08, zero_point=60):
            return m.pair(tensor, other, zero_point)
        for opset in (13, 19, 21):
            with self.subTest(opset=opset):
                self.check(lambda m: both(m, m.start()), opset, rewritten=True)
        cases = {
            "three pairs": lambda m: m.pair(both(m, m.start()), 0.03, 90),
            "of which two are equal": lambda m: both(m, m.pair(m.start(), 0.05, 100)),
            "an Identity between": lambda m: both(m, m.add("Identity", m.start())),
            "of the input": lambda m: m.pair(m.conv(m.pair(m.pair("x", 0.02, 128), 0.03, 100), 4, 3), 0.05, 100),
            "before a layer": lambda m: m.pair(m.conv(both(m, m.start())), 0.3, 100),
            "before a Flatten": lambda m: m.pair(m.add("Flatten", both(m, m.start()), axis=1), 0.03, 60),
            "scales of shape [1]": lambda m: m.add(
                "DequantizeLinear", m.add("QuantizeLinear", m.start(), np.float32([0.08]), np.uint8([60])),
                np.float32([0.08]), np.uint8([60])),
        }
        for name, build in cases.items():
            with self.subTest(name):
                self.check(build, rewritten=True)

    def test_a_pair_with_two_readers_is_joined_and_one_before_them_is_not(self):
        def last_is_read_twice(m):
            pair = m.pair(m.start(), 0.08, 60)
            return m.pair(m.add("Add", m.add("MaxPool", pair, kernel_shape=[1, 1]), pair), 0.1, 50)

        def first_is_read_twice(m):
            start = m.start()
            return m.pair(m.add("Add", m.pair(start, 0.08, 60), m.pair(start, 0.03, 90)), 0.1, 50)

        def levels_are_read_twice(m):
            start = m.start()
            own = m.dequantize(m.nodes[-1].input[0], 0.05, 100)
            return m.pair(m.add("Add", m.pair(start, 0.08, 60), own), 0.1, 50)
        self.check(last_is_read_twice, rewritten=True)
        self.check(first_is_read_twice)
        self.check(levels_are_read_twice)

    def test_other_pairs_stay(self):
        self.check(lambda m: m.pair(m.start(), 0.08, -10, np.int8))
        self.check(lambda m: m.add("DequantizeLinear", m.add("QuantizeLinear", m.start(), np.float32(0.08)),
                                   np.float32(0.08)))
        self.check(lambda m: m.pair(m.add("MaxPool", m.start(), kernel_shape=[2, 2]), 0.08, 60))

    def test_a_pad_by_zeros_becomes_absent_positions_of_a_max_pool(self):
        def padded(m, fill=(), **attributes):
            tensor = m.add("Pad", m.start(0.05, 200), AROUND, *fill)
            return m.pair(m.add("MaxPool", tensor, kernel_shape=[3, 3], **attributes), 0.05, 200)
        for opset in (13, 19, 21):
            with self.subTest(opset=opset):
                self.check(lambda m: padded(m, strides=[2, 2]), opset, rewritten=True)
        self.check(lambda m: padded(m, [np.float32(0)], pads=[0, 0, 0, 0]), rewritten=True)
        self.check(lambda m: padded(m, strides=[1, 2]), rewritten=True)
        self.check(lambda m: padded(m, pads=[1, 0, 1, 1], strides=[2, 2]), rewritten=True)

        def before_opset_11(m):
            pad = m.add("Pad", m.start(0.05, 200), pads=list(AROUND), value=0.0)
            return m.pair(m.add("MaxPool", pad, kernel_shape=[3, 3], strides=[2, 2]), 0.05, 200)
        self.check(before_opset_11, 10, rewritten=True)

    def test_other_pads_stay(self):
        # Quantized before the pool; an Identity between; pads that the pool chooses.
        self.check(lambda m: m.pair(m.add("MaxPool", m.pair(m.add("Pad", m.start(0.05, 200), AROUND), 0.05, 200),
                                          kernel_shape=[3, 3]), 0.05, 200))
        self.check(lambda m: m.pair(m.add("MaxPool", m.add("Identity", m.add("Pad", m.start(0.05, 200), AROUND)),
                                          kernel_shape=[3, 3], strides=[1, 2]), 0.05, 200))
        self.check(lambda m: m.pair(m.add("MaxPool", m.add("Pad", m.start(0.05, 200), AROUND), kernel_shape=[3, 3],
                                          auto_pad="VALID"), 0.05, 200))

    def test_a_pad_before_opset_11_has_attributes(self):
        self.check(lambda m: m.pair(m.conv(m.add("Pad", m.start(), pads=list(AROUND), value=0.0, mode="constant")),
                                    0.3, 100), 10)
        self.check(lambda m: m.pair(m.conv(m.add("Pad", m.start(), pads=list(AROUND))), 0.3, 100), 10)

    def test_a_clip_within_a_tolerance_falls_away(self):
        def clipped(m, scale, low=0.0, high=6.0, zero_point=100, after=()):
            tensor = m.add("Clip", m.start(), np.float32(low), np.float32(high))
            for op_type in after:
                tensor = m.add(op_type, tensor)
            return m.pair(tensor, scale, zero_point)
        for opset in (13, 19, 21):
            with self.subTest(opset=opset):
                self.check(lambda m: clipped(m, 3.6e-12), opset, rewritten=True)
        self.check(lambda m: clipped(m, 1e-9), rewritten=True)
        self.check(lambda m: clipped(m, 1e-10, 0, 1e-10), rewritten=True)
        self.check(lambda m: m.pair(m.add("Clip", m.add("Clip", m.start(), np.float32(0)), np.float32(1e-10)), 1e-10,
                                    100), rewritten=True)
        self.check(lambda m: clipped(m, 1e-9, low=1e-8, zero_point=0, after=["Relu"]), rewritten=True)
        self.check(lambda m: m.pair(m.add("Clip", m.conv(m.pair("x", 0.02, 128), 4, 3), np.float32(0)), 1e-10, 100),
                   rewritten=True)
        # Below and above the tolerance of 2^-23.
        self.check(lambda m: clipped(m, 1.1e-9), rewritten=True)
        self.check(lambda m: clipped(m, 2e-8))
        self.check(lambda m: clipped(m, 0.05, 0, 1.5))
        self.check(lambda m: clipped(m, 1e-9, zero_point=100, after=["Relu"]))

    def test_several_roundings_of_one_activation_are_tables_of_their_own(self):
        def rounded(m, first, second, op_type="Relu"):
            tensor = m.add(op_type, m.start())
            return m.pair(m.add("Add", m.pair(tensor, *first), m.pair(tensor, *second)), 0.1, 30)
        file = self.check(lambda m: rounded(m, (0.05, 3), (0.04, 7)))
        relu = next(name for name in self.names(file) if name.startswith("Relu"))
        seconds = [name for name in self.names(file) if name.startswith(f"{relu}/QuantizeLinear_")]
        self.assertEqual(len(seconds), 1, self.names(file))
        # Equal ones are one.
        file = self.check(lambda m: rounded(m, (0.05, 3), (0.05, 3), "LeakyRelu"))
        self.assertEqual(sum("LeakyRelu" in name for name in self.names(file)), 1, self.names(file))

        def through_a_pool(m):
            tensor = m.add("Relu", m.start())
            pool = m.add("MaxPool", tensor, kernel_shape=[1, 1])
            return m.pair(m.add("Add", m.pair(tensor, 0.05, 3), m.pair(pool, 0.05, 3)), 0.1, 30)
        self.check(through_a_pool)

    def test_several_roundings_of_one_layer_are_layers_of_their_own(self):
        def rounded(m, op_type=None):
            # Powers of two: ONNX Runtime's float convolution is exact.
            tensor = m.conv(m.pair("x", 2**-5, 128), 4, 3, 2**-6)
            if op_type is not None:
                tensor = m.add(op_type, tensor)
            first, second = (m.pair(tensor, scale, zero_point) for scale, zero_point in ((2**-3, 100), (2**-4, 60)))
            return m.pair(m.conv(m.pair(m.add("Concat", first, second, axis=1), 2**-3, 100), 4, 8), 0.5, 90)
        file = self.check(rounded)
        self.assertEqual(self.names(file)[:2], ["Conv_3", "Conv_3/QuantizeLinear_6"])
        self.check(lambda m: rounded(m, "Relu"))

    def test_arg_max_gives_int64(self):
        def classes(m, **attributes):
            pool = m.pair(m.add("GlobalAveragePool", m.start()), 0.02, 100)
            return m.add("ArgMax", m.add("Flatten", pool, axis=1), axis=1, **attributes)
        for keep in (0, 1):
            file = self.check(lambda m, keep=keep: classes(m, keepdims=keep), kind=TensorProto.INT64)
        np.save(self.folder / "one.npy", np.load(self.folder / "x.npy")[:1])
        self.qsim("--config", "pe16x16_dyadic", "run", "--model", file, "--input", self.folder / "one.npy", "--out",
                  self.folder / "ran", "--quiet")
        self.assertEqual(np.load(self.folder / "ran/output.npy").dtype, np.int64)

    def test_arg_max_after_layers_that_are_float(self):
        m = Model()
        weights = m.random.normal(0, 0.3, (5, 3, 3, 3)).astype(np.float32)
        pool = m.add("GlobalAveragePool", m.add("Conv", "x", weights, pads=[1, 1, 1, 1]))
        m.save(self.folder / "float.onnx", m.add("ArgMax", m.add("Flatten", pool, axis=1), axis=1, keepdims=0), 14,
               TensorProto.INT64)
        pictures = np.random.default_rng(SEED).normal(0, 1, (64, 3, 8, 8)).astype(np.float32)
        np.save(self.folder / "x.npy", pictures)
        self.qsim("quantize", self.folder / "float.onnx", "--mode", "weight_only", "--calibrate",
                  self.folder / "x.npy", "-o", self.folder / "m.onnx", "--quiet")
        self.qsim("golden", "run", "--quiet", "--backend", "cpu", "--model", self.folder / "m.onnx", "--input",
                  self.folder / "x.npy", "--out", self.folder / "out")
        found = np.load(self.folder / "out/output.npy")
        expected = outputs_of_session(self.folder / "m.onnx", pictures)
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertGreater(len(np.unique(expected)), 1)
        self.assertEqual(found.tolist(), expected.tolist())


if __name__ == "__main__":
    unittest.main()
