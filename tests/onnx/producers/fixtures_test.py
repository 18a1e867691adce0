"""The fixtures: made anew by ONNX Runtime's quantize_static, they contain what contents.json says, and
tools/ort/quantized_graph.py gives ONNX Runtime's outputs, on this processor and, where qemu-user is there, on a
Haswell that it emulates; what it runs as float is what ONNX Runtime runs as float.

usage: fixtures_test.py ORT_DIR FOLDER [TEST...]; FOLDER keeps the fixtures
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

import contents

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools/ort"))
sys.path.insert(0, str(HERE.parents[1] / "emulated"))
import emulator  # noqa: E402
import exact_session  # noqa: E402
import optimized  # noqa: E402
import quantized_graph  # noqa: E402

SEED = 9
ORT_DIR, FOLDER = map(pathlib.Path, sys.argv[1:3])
FMA = " fma " in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf8")


def quantize_ort(*words, under=()):
    # numpy 1.24's AVX2 functions crash in QEMU 7.2.
    environment = {**os.environ, "PYTHONPATH": str(ORT_DIR / "producers"), "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"}
    return subprocess.run([*under, ORT_DIR / "bin/python", "-B", HERE / "quantize_ort.py", *words], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf8", check=False)


def make():
    done = quantize_ort(HERE / "torch", FOLDER)
    refused = [line for line in done.stdout.splitlines() if "refuses it" in line]
    if done.returncode != 0 or refused:
        sys.exit("\n".join(["quantize_ort.py failed", *refused, done.stdout[-2000:]]))


def quantized():
    """(network, form, file) of each quantized fixture."""
    names = [(*file.name.split(".")[:2], file) for file in sorted(FOLDER.glob("*.onnx"))]
    return [name for name in names if name[1] != "float"]


def run_as_float(file):
    """Names of the convolutions and fully connected layers that ONNX Runtime runs as float; FusedConv has a Clip in it."""
    return {f"{node.op_type.removeprefix('Fused')} '{node.name}'" for node in optimized.optimized(file, "all").node
            if node.op_type in ("Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul")}


def clipped_convolution(high):
    """A QDQ convolution of uint8 data with a Clip to 0..high before the QuantizeLinear, whose type reaches 25.5. Two
    products of its weights fit 16 bits, in which processors without VNNI add them."""
    arrays = {"x_scale": np.float32(0.11), "x_zero": np.uint8(7), "w_scale": np.float32(0.026), "w_zero": np.int8(0),
              "w": np.random.default_rng(5).integers(-64, 64, (4, 3, 3, 3)).astype(np.int8), "low": np.float32(0),
              "high": np.float32(high), "y_scale": np.float32(0.1), "y_zero": np.uint8(0)}
    nodes = [helper.make_node("DequantizeLinear", ["x", "x_scale", "x_zero"], ["xf"]),
             helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["wf"]),
             helper.make_node("Conv", ["xf", "wf"], ["c"], "conv"), helper.make_node("Clip", ["c", "low", "high"], ["d"]),
             helper.make_node("QuantizeLinear", ["d", "y_scale", "y_zero"], ["y"])]
    graph = helper.make_graph(
        nodes, "one", [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, [1, 3, 9, 9])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


class Clips(unittest.TestCase):
    def test_a_clip_below_the_types_range_keeps_the_convolution_float(self):
        x = np.random.default_rng(SEED).integers(0, 256, (1, 3, 9, 9)).astype(np.uint8)
        for high, nodes in ((25.5, 0), (30.0, 0), (25.3, 1), (6.0, 1)):
            model = clipped_convolution(high)
            found, as_float = quantized_graph.run(model, {"x": x}, FMA)
            session = exact_session.open_plain_session(model)
            np.testing.assert_array_equal(found, session.run(None, {"x": x})[0], str(high))
            self.assertEqual(len(as_float), nodes, high)
            self.assertEqual(int(found.max()), round(min(high, 25.5) * 10))
            with tempfile.TemporaryDirectory() as folder:
                onnx.save(model, f"{folder}/model.onnx")
                self.assertEqual(run_as_float(f"{folder}/model.onnx"), set(as_float), high)


class Fixtures(unittest.TestCase):
    def test_there_are_eight_networks_in_twelve_forms_and_more(self):
        networks = {network for network, _, _ in quantized()}
        self.assertEqual(len(networks), 8)
        for network in networks:
            forms = {form for each, form, _ in quantized() if each == network}
            self.assertGreaterEqual(len(forms), 12)
        self.assertEqual(sum(form.startswith("fx_") for _, form, _ in quantized()), 12)

    def test_they_contain_what_the_list_says(self):
        self.maxDiff = None
        expected = json.loads(contents.FILE.read_text(encoding="utf8"))
        self.assertEqual(json.loads(contents.lines_of(contents.described(FOLDER))), expected)

    def test_no_scale_is_a_power_of_two_but_that_of_sigmoid_and_softmax(self):
        count = 0
        for _, _, file in quantized():
            model = onnx.load(file)
            scales = contents.scales(model)
            operators = contents.operators_of(model)
            fixed = sum(operators.get(f"com.microsoft.QLinear{name}", 0) for name in ("Sigmoid", "Softmax"))
            powers = [scale for scale in scales if math.frexp(scale)[0] == 0.5]
            self.assertEqual(powers, [1 / 256] * fixed, file.name)
            count += len(scales)
        self.assertGreater(count, 2000)

    def test_the_rules_give_onnx_runtimes_outputs(self):
        total = wrong = 0
        for network, _, file in quantized():
            model = onnx.load(file)
            inputs = {model.graph.input[0].name: np.load(FOLDER / f"{network}.input.npy")}
            found, as_float = quantized_graph.run(model, inputs, FMA)
            expected = np.load(file.with_suffix(".output.npy"))
            self.assertGreater(np.unique(expected).size, 5, file.name)
            differ = int(np.count_nonzero(found != expected))
            total, wrong = total + expected.size, wrong + differ
            print(f"{file.name:42} {expected.size} values, {differ} differ; as float: {', '.join(as_float) or 'nothing'}")
            if not as_float:
                self.assertEqual(differ, 0, file.name)
        print(f"{total} values, {wrong} differ")
        # Sums of float32 in an order that is not known: nearly a tie at most.
        self.assertLessEqual(wrong, total // 1000)

    @emulator.needs_emulator
    def test_a_processor_without_vnni_gives_the_same_outputs(self):
        networks, compared = ("vgg", "inverted_residual", "mlp"), 0
        with tempfile.TemporaryDirectory() as name:
            done = quantize_ort("--outputs", FOLDER, name, *networks, under=emulator.words_on("Haswell"))
            self.assertEqual(done.returncode, 0, done.stdout)
            for file in sorted(pathlib.Path(name).iterdir()):
                if ".float." not in file.name:
                    np.testing.assert_array_equal(np.load(file), np.load(FOLDER / file.name), file.name)
                    compared += 1
        self.assertEqual(compared, 42)

    def test_the_same_nodes_run_as_float(self):
        found = 0
        for network, _, file in quantized():
            model = onnx.load(file)
            inputs = {model.graph.input[0].name: np.load(FOLDER / f"{network}.input.npy")[:1]}
            _, as_float = quantized_graph.run(model, inputs, FMA)
            as_float = {name for name in as_float if name.split()[0] in ("Conv", "Gemm", "MatMul")}
            self.assertEqual(as_float, run_as_float(file), file.name)
            found += len(as_float)
        self.assertGreater(found, 10)


if __name__ == "__main__":
    make()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
