"""tools/ort: the models that are run instead of those given are equal in value, and ONNX Runtime proves
itself before it is believed. Runs in the environment of tools/ort/install.sh.

usage: exact_session_test.py
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import onnx
from onnx import helper, numpy_helper

ORT = pathlib.Path(__file__).resolve().parents[2] / "tools/ort"
sys.path.insert(0, str(ORT))

import exact_session  # noqa: E402
import worst_case  # noqa: E402


def layer_model(dtype, *sizes):
    """The model of one worst-case layer, and the layer."""
    layer = worst_case.Layer(*sizes[:1], dtype, *sizes[1:])
    model = helper.make_model(
        onnx.GraphProto(name="one layer"), ir_version=8,
        opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)])
    layer.add_to(model.graph)
    return model, layer


def weights_of(model):
    """Of its one layer: weights and their zero_point, as int64, and their types."""
    constants = exact_session.constants_of(model.graph)
    (node,) = [node for node in model.graph.node if node.op_type in exact_session.OPERATORS]
    tensors = [numpy_helper.to_array(constants[node.input[i]]) for i in (3, 5)]
    return [tensor.astype(np.int64) for tensor in tensors], {tensor.dtype.name for tensor in tensors}


def run(model, layer):
    return exact_session.open_session(model).run(None, {f"{layer.name} x": layer.data})[0]


class Rewriting(unittest.TestCase):
    def test_int8_weights_of_uint8_data_become_uint8_of_equal_value(self):
        for operator, *sizes in worst_case.SHAPES:
            model, layer = layer_model(np.uint8, operator, *sizes)
            exact = exact_session.exact_model(model)
            (weights, zero_point), types = weights_of(exact)
            self.assertEqual(types, {"uint8"})
            self.assertTrue((zero_point == 128).all())
            (before, _), _ = weights_of(model)
            self.assertTrue((weights - 128 == before).all())
            self.assertEqual({before.min(), before.max()}, {-128, 127})
            self.assertTrue((run(model, layer) == layer.expected()).all(), layer.name)

    def test_int8_data_keeps_its_weights(self):
        model, layer = layer_model(np.int8, "QGemm", 301, 1, 5)
        self.assertEqual(exact_session.exact_model(model), model)
        self.assertTrue((run(model, layer) == layer.expected()).all())

    def test_the_model_given_is_not_changed(self):
        model, _ = layer_model(np.uint8, "QLinearConv", 16, 3, 5)
        before = model.SerializeToString()
        exact_session.exact_model(model)
        self.assertEqual(model.SerializeToString(), before)

    def test_weights_may_be_constant_nodes(self):
        model, layer = layer_model(np.uint8, "QLinearConv", 16, 3, 5)
        for tensor in model.graph.initializer:
            model.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
        del model.graph.initializer[:]
        self.assertEqual(weights_of(exact_session.exact_model(model))[1], {"uint8"})
        self.assertTrue((run(model, layer) == layer.expected()).all())

    def test_weights_that_layers_share_are_written_once_and_left_for_the_others(self):
        model, layer = layer_model(np.uint8, "QGemm", 512, 1, 1)
        for name in ("again", "int8"):
            model.graph.node.append(model.graph.node[0])
            model.graph.node[-1].name = model.graph.node[-1].output[0] = name
            model.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.UINT8, None))
        other = model.graph.node[-1]
        for index, (key, value) in {0: ("other x", None), 2: ("xz", np.int8(-128)), 8: ("yz", np.int8(0))}.items():
            other.input[index] = key
            if value is not None:
                model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), key))
        model.graph.input.append(helper.make_tensor_value_info("other x", onnx.TensorProto.INT8, layer.data.shape))
        model.graph.output[-1].type.tensor_type.elem_type = onnx.TensorProto.INT8
        moved = (layer.data.astype(np.int16) - 128).astype(np.int8)
        session = exact_session.open_session(model)
        first, again, int8 = session.run(None, {f"{layer.name} x": layer.data, "other x": moved})
        self.assertTrue((first == layer.expected()).all() and (again == first).all())
        self.assertTrue((int8.astype(int) + 128 == first).all())
        weights = [tensor for tensor in exact_session.exact_model(model).graph.initializer
                   if len(tensor.dims) == 2]
        self.assertEqual(len(weights), 2)

    def test_a_float_model_is_left_as_it_is(self):
        model = helper.make_model(helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])], "float",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])]))
        self.assertEqual(exact_session.exact_model(model), model)

    def expect_refused(self, model, *words):
        with self.assertRaises(exact_session.NotExact) as caught:
            exact_session.exact_model(model)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_what_cannot_be_made_exact_is_refused(self):
        model, layer = layer_model(np.uint8, "QGemm", 512, 1, 1)
        kept = [t for t in model.graph.initializer if not t.name.endswith(" w")]
        del model.graph.initializer[:]
        model.graph.initializer.extend(kept)
        self.expect_refused(model, f"node '{layer.name}' (QGemm)", "must be constants of the model")
        model, _ = layer_model(np.uint8, "QGemm", 512, 1, 1)
        model.graph.node[0].op_type = "QAttention"
        self.expect_refused(model, "(QAttention): int8 weights; supported in QLinearConv, QLinearMatMul, QGemm")
        model.graph.node[0].attribute.append(helper.make_attribute("body", onnx.GraphProto(name="b")))
        self.expect_refused(model, "subgraphs are not supported")


class Proof(unittest.TestCase):
    def setUp(self):
        exact_session.prove.cache_clear()
        self.model, self.layer = layer_model(np.uint8, "QGemm", 512, 1, 1)

    def test_sums_of_pairs_of_worst_cases_do_not_fit_16_bits(self):
        for operator, *sizes in worst_case.SHAPES:
            layer = worst_case.Layer(operator, np.uint8, *sizes)
            pairs = layer.data.astype(np.int64).max() * layer.weights.astype(np.int64).min() * 2
            self.assertLess(pairs, -2**15)
            values, counts = np.unique(layer.expected(), return_counts=True)
            self.assertGreaterEqual(len(values), 10, layer.name)
            self.assertLess(counts.max(), 0.5 * counts.sum(), layer.name)

    def test_a_processor_that_is_not_exact_is_told_before_any_session(self):
        def saturated(layer):
            values = expected(layer)
            return values if layer.dtype is np.int8 else np.where(values > 200, values - 1, values)
        expected = worst_case.Layer.expected
        with mock.patch.object(worst_case.Layer, "expected", saturated):
            with self.assertRaises(exact_session.NotExact) as caught:
                exact_session.open_session(self.model)
        self.assertRegex(str(caught.exception), r"^ONNX Runtime [0-9.]+ is no witness on this processor: QLinearConv "
                         r"3x3x16 of 5 uint8 images: [0-9]+ of 2500 values differ from 64-bit arithmetic$")

    def test_it_is_proved_once_a_process_and_optimization(self):
        with mock.patch.object(worst_case, "faults", return_value=[]) as faults:
            for optimization in ("all", "disabled", "all", "disabled"):
                exact_session.open_session(self.model, optimization)
        self.assertEqual(faults.call_count, 2)


class Script(unittest.TestCase):
    def run_script(self, *words):
        return subprocess.run([sys.executable, "-B", ORT / "run_onnx.py", *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf8", check=False)

    def test_outputs_are_named_after_their_tensors(self):
        model, layer = layer_model(np.uint8, "QGemm", 512, 1, 1)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            onnx.save(model, folder / "m.onnx")
            np.save(folder / "x.npy", layer.data)
            for options in ([], ["--optimization", "disabled"], ["--plain"]):
                done = self.run_script(*options, "--repeat", 3, folder / "m.onnx", folder / "x.npy", folder / "out")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r'^\{"median_ms": [0-9.e-]+\}\n$')
            (found,) = (folder / "out").iterdir()
            self.assertEqual(found.name, "QGemm_1x1x512_of_1_uint8_images.npy")
            self.assertTrue((np.load(found).shape == layer.expected().shape))
            np.save(folder / "x.npy", layer.data.astype(np.float32))
            done = self.run_script(folder / "m.onnx", folder / "x.npy", folder / "out")
            self.assertEqual((done.returncode, done.stderr.startswith(f"run_onnx.py: {folder}/m.onnx: ")), (1, True))

    def test_usage_errors_are_2(self):
        for words in ([], ["m.onnx"], ["--batch", "list.json", "m.onnx", "x.npy", "out"], ["--optimization", "some"]):
            self.assertEqual(self.run_script(*words).returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
