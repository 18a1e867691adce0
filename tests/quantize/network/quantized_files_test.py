#!/usr/bin/env python3
"""`qsim quantize` on float files of PyTorch's exporters and on networks with dead channels, one-value tensors and
weights far from zero: ONNX Runtime runs each file to golden's bytes.

usage: ORT_DIR/bin/python quantized_files_test.py QSIM
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/ort"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

import exact_session  # noqa: E402

QSIM = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else None
FILES = ROOT / "tests/onnx/float/files"
PICTURES = 8
WAYS = (["--scale-kind", "float"],
        ["--activations", "s8", "--weight-symmetry", "affine", "--reduced-range", "none"],
        ["--scale-kind", "power_of_two"],
        ["--scale-kind", "dyadic", "--granularity", "tensor", "--bias-correction"],
        ["--weight-bits", "4", "--activation-bits", "6", "--weight-clipping", "mse"],
        ["--clipping", "percentile", "--weight-symmetry", "affine", "--granularity", "tensor"])


def run_float(model, pictures):
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: pictures})[0]


class Quantized(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def qsim(self, *words):
        return subprocess.run([str(word) for word in (QSIM, *words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf8", check=False)

    def quantize(self, model, options, calibration):
        np.save(self.folder / "calibration.npy", calibration)
        return self.qsim("quantize", model, "--calibrate", self.folder / "calibration.npy", "-o",
                         self.folder / "out.onnx", "--quiet", *options)

    def outputs(self, pictures):
        """(golden's, ONNX Runtime's) of the quantized file."""
        np.save(self.folder / "pictures.npy", pictures)
        done = self.qsim("golden", "run", "--model", self.folder / "out.onnx", "--input", self.folder / "pictures.npy",
                         "--out", self.folder / "run", "--backend", "cpu", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        session = exact_session.open_session(self.folder / "out.onnx")
        return np.load(self.folder / "run/output.npy"), session.run(None, {session.get_inputs()[0].name: pictures})[0]

    def check(self, model, options, pictures):
        """The bytes are equal, a Softmax at the end but for its last bits; returns the SQNR in dB."""
        done = self.quantize(model, options, pictures)
        self.assertEqual(done.returncode, 0, done.stderr)
        found, expected = self.outputs(pictures)
        self.assertEqual(found.shape, expected.shape)
        if onnx.load(str(model)).graph.node[-1].op_type == "Softmax":
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        else:
            self.assertEqual((found != expected).sum(), 0)
        if found.dtype != np.float32:  # of an ArgMax
            return np.inf
        real = run_float(model, pictures).reshape(found.shape).astype(np.float64)
        noise = ((real - found) ** 2).sum()
        return 10 * np.log10((real ** 2).sum() / noise) if noise > 0 else np.inf


class FilesOfExporters(Quantized):
    def test_each_runs_in_onnxruntime_to_goldens_bytes(self):
        for number, file in enumerate(sorted(FILES.glob("*.onnx"))):
            shape = [size.dim_value for size in onnx.load(str(file)).graph.input[0].type.tensor_type.shape.dim]
            pictures = np.random.default_rng(number).normal(0, 1, (shape[0] or PICTURES, *shape[1:])).astype(np.float32)
            options = WAYS[(number + number // 6) % len(WAYS)]
            with self.subTest(file=file.name, options=options):
                self.assertGreater(self.check(file, options, pictures), 8)


def network(folder, first, first_bias, second, second_bias):
    """Conv 3x3, Relu, Flatten, Gemm of pictures 3 x 6 x 6."""
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c"], "conv", kernel_shape=[3, 3], pads=[1] * 4),
             helper.make_node("Relu", ["c"], ["r"], "relu"), helper.make_node("Flatten", ["r"], ["f"], "flatten"),
             helper.make_node("Gemm", ["f", "w2", "b2"], ["y"], "fc", transB=1)]
    value, floats = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    arrays = {"w1": first, "b1": first_bias, "w2": second, "b2": second_bias}
    graph = helper.make_graph(nodes, "network", [value("x", floats, ["N", 3, 6, 6])], [value("y", floats, ["N", 4])],
                              [numpy_helper.from_array(np.asarray(array, np.float32), name)
                               for name, array in arrays.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
              str(folder / "net.onnx"))
    return folder / "net.onnx"


class OddNetworks(Quantized):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.pictures = random.normal(0, 1, (12, 3, 6, 6)).astype(np.float32)
        self.first, self.second = random.normal(0, 0.3, (5, 3, 3, 3)), random.normal(0, 0.2, (4, 180))
        self.first_bias, self.second_bias = random.normal(0, 0.1, 5), random.normal(0, 0.1, 4)
        self.dead = self.first.copy()
        self.dead[2] = 0

    def check_ways(self, first, first_bias, second, second_bias, least_sqnr_db, ways=WAYS[1:4]):
        model = network(self.folder, first, first_bias, second, second_bias)
        for options in ways:
            with self.subTest(options=options):
                self.assertGreaterEqual(self.check(model, options, self.pictures), least_sqnr_db)

    def test_a_channel_whose_weights_are_all_zero(self):
        ways = (*WAYS[:4], ["--equalize", "--weight-clipping", "mse"], ["--weight-rounding", "gptq"],
                ["--weight-rounding", "learned"])
        self.check_ways(self.dead, [0.1, 0.2, 0, 0.1, 0.1], self.second, self.second_bias, 25, ways)

    def test_a_dead_channel_of_a_large_bias(self):
        self.check_ways(self.dead, [0.1, 0.2, 1e5, 0.1, 0.1], self.second, self.second_bias, 25)

    def test_a_layer_that_gives_one_value(self):
        for bias in (0, 0.3, -0.3):
            self.check_ways(self.first * 0, np.full(5, bias), self.second, self.second_bias, 25)

    def test_an_output_of_zeros_alone(self):
        model = network(self.folder, self.first, self.first_bias, self.second * 0, self.second_bias * 0)
        for options in WAYS[:4]:
            done = self.quantize(model, options, self.pictures)
            self.assertEqual(done.returncode, 0, done.stderr)
            for outputs in self.outputs(self.pictures):
                self.assertEqual(np.abs(outputs).max(), 0)

    def test_pictures_of_one_value_are_refused(self):
        model = network(self.folder, self.first, self.first_bias, self.second, self.second_bias)
        for value in (0, 0.7, -0.7):
            done = self.quantize(model, [], np.full((4, 3, 6, 6), value, np.float32))
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"the calibration pictures have one value alone, {value:.6f} after preprocessing", done.stderr)
            self.assertFalse((self.folder / "out.onnx").exists())

    def test_what_is_dead_is_told(self):
        np.save(self.folder / "calibration.npy", self.pictures)
        for first, notes in ((self.first, []),
                             (self.dead, ["layer 'conv': 1 output channels have no weight but 0"]),
                             (self.first * 0, ["layer 'conv': 5 output channels have no weight but 0",
                                               "layer 'conv': one value alone for all calibration pictures, 0.100000"])):
            model = network(self.folder, first, np.full(5, 0.1), self.second, self.second_bias)
            done = self.qsim("quantize", model, "--calibrate", self.folder / "calibration.npy", "-o",
                             self.folder / "out.onnx")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([line for line in done.stderr.splitlines() if "note" in line],
                             [f"qsim: note: {note}" for note in notes])

    def test_weights_far_from_zero(self):
        self.check_ways(1 + 0.1 * np.abs(self.first), self.first_bias, -1 - 0.1 * np.abs(self.second),
                        self.second_bias, 15)

    def test_tiny_weights(self):
        self.check_ways(self.first * 1e-30, self.first_bias * 0, self.second * 1e-6, self.second_bias * 1e-7, 15,
                        WAYS[:3])  # per tensor, no scale holds the bias and the weights: a clear error

    def test_what_is_not_finite_is_named_and_nothing_is_written(self):
        self.first[1, 0, 2, 2] = np.nan
        done = self.quantize(network(self.folder, self.first, self.first_bias, self.second, self.second_bias), [],
                             self.pictures)
        self.assertEqual(done.returncode, 3)
        self.assertIn("node 'conv' (Conv): W 'w1' has nan at index 35; expected finite numbers", done.stderr)
        self.pictures[3, 1, 2, 2] = np.inf
        done = self.quantize(network(self.folder, self.dead, self.first_bias, self.second, self.second_bias), [],
                             self.pictures)
        self.assertEqual(done.returncode, 3)
        self.assertIn("of picture 3 is not a finite number (counted in NHWC order)", done.stderr)
        self.pictures[3, 1, 2, 2] = 0
        done = self.quantize(network(self.folder, np.full_like(self.first, 3e38), self.first_bias, self.second,
                                     self.second_bias), [], self.pictures * 1e3)
        self.assertEqual(done.returncode, 3)
        self.assertIn("of its numbers are not finite in calibration", done.stderr)
        self.assertFalse((self.folder / "out.onnx").exists())


if __name__ == "__main__":
    unittest.main()
