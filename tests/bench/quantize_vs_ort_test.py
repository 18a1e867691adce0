#!/usr/bin/env python3
"""bench/quantize_vs_ort: the fixed rows, McNemar's test, and a whole comparison of a small network.

usage: ORT_DIR/bin/python quantize_vs_ort_test.py QSIM
"""
import hashlib
import itertools
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/quantize_vs_ort"))

import compare  # noqa: E402  # before numpy and onnx: it says where packages are
import mcnemar  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import ort_side  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

QSIM = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else None
FIXED = "d13613943dbb3cbaaf96036a3610eb277cd393fc6417bac67f1615dda53affa6"


class Rows(unittest.TestCase):
    def test_they_are_those_that_were_fixed_before_any_was_run(self):
        self.assertEqual(hashlib.sha256(repr(rows.all_rows()).encode()).hexdigest(), FIXED)
        self.assertEqual(len(rows.all_rows()), 84)


class McNemar(unittest.TestCase):
    def test_p_is_the_share_of_coins_thrown_at_least_as_far_from_even(self):
        for first, second in itertools.product(range(8), range(6)):
            throws = list(itertools.product((0, 1), repeat=first + second))
            distance = abs(first - second)
            far = sum(abs(2 * sum(throw) - first - second) >= distance for throw in throws)
            self.assertAlmostEqual(mcnemar.exact_p(first, second), far / len(throws), places=12)

    def test_the_verdict_is_of_the_side_that_is_right_more_often(self):
        ours = [True] * 6 + [True] * 20
        theirs = [False] * 6 + [True] * 20
        self.assertEqual(mcnemar.judged(ours, theirs, 0.05), (6, 0, 2 / 64, "better"))
        self.assertEqual(mcnemar.judged(theirs, ours, 0.05), (0, 6, 2 / 64, "worse"))
        self.assertEqual(mcnemar.judged(ours[1:], theirs[1:], 0.05), (5, 0, 2 / 32, "equal"))


class Sides(compare.Comparison):
    """A comparison of right answers that are given."""

    def __init__(self, ours, theirs):  # pylint: disable=super-init-not-called  # which makes files
        self.given = ours, theirs

    def theirs(self, way):
        return self.given[1][way.method]

    def ours(self, options):
        return self.given[0]


class Judging(unittest.TestCase):
    def test_of_several_ways_the_one_with_most_right_answers_is_compared(self):
        ways = {"MinMax": {"way": "a", "right": np.array([True, False, False])}, "Entropy": {"refused": "no"},
                "Percentile": {"way": "c", "right": np.array([True, True, False])}}
        row = next(row for row in rows.all_rows() if len(row.ort) == 3)
        result = Sides({"right": np.array([False, True, True])}, ways).row(row)
        self.assertEqual((result["theirs"]["way"], result["theirs"]["right"], result["ours"]["right"]), ("c", 2, 2))
        self.assertEqual((result["ours_only"], result["theirs_only"], result["verdict"]), (1, 1, "equal"))

    def test_pictures_differ_that_differ_in_one_output(self):
        outputs = np.zeros((4, 3), np.float32)
        other = outputs.copy()
        other[2, 1] = other[2, 2] = other[3, 0] = 1e-6
        self.assertEqual(compare.differing(outputs, outputs), 0)
        self.assertEqual(compare.differing(outputs, other), 2)
        self.assertEqual(compare.differing(outputs.astype(np.float64), outputs), 4)


def small_network(random):
    """Conv, Relu, MaxPool, Flatten, Gemm: [N, 3, 8, 8] to [N, 4]."""
    arrays = {"w1": random.normal(0, 0.3, (6, 3, 3, 3)), "b1": random.normal(0, 0.1, 6),
              "w2": random.normal(0, 0.2, (4, 96)), "b2": random.normal(0, 0.1, 4)}
    nodes = [helper.make_node("Conv", ["image", "w1", "b1"], ["c"], "conv", kernel_shape=[3, 3], pads=[1] * 4),
             helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["p"], ["f"], "flatten"),
             helper.make_node("Gemm", ["f", "w2", "b2"], ["logits"], "fc", transB=1)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "small", [value("image", onnx.TensorProto.FLOAT, ["N", 3, 8, 8])],
        [value("logits", onnx.TensorProto.FLOAT, ["N", 4])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def fixed_rows(words):
    """The rows of vgg8 that have the words in their names or options, of the small network."""
    return [row for row in rows.all_rows() if row.network == "vgg8" and
            all(word in row.name or word in row.options for word in words)]


class Whole(unittest.TestCase):
    """Sixteen test pictures: labels are the float network's classes, but of the last four pictures."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        random = np.random.default_rng(5)
        cls.model = cls.folder / "small.onnx"
        onnx.save(small_network(random), str(cls.model))
        cls.calibration = random.normal(0, 1, (24, 3, 8, 8)).astype(np.float32)
        cls.test = random.normal(0, 1, (16, 3, 8, 8)).astype(np.float32)
        cls.labels = ort_side.outputs(cls.model, cls.test).argmax(axis=1)
        cls.labels[12:] = (cls.labels[12:] + 1) % 4

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def compared(self, *words):
        keep = self.folder / "-".join(words)
        keep.mkdir()
        return compare.compared(QSIM, keep, {"vgg8": self.model}, fixed_rows(words), self.calibration,
                                (self.test, self.labels))

    def assert_right(self, side, most=13):
        self.assertIn("right", side, side.get("refused"))
        self.assertTrue(10 <= side["right"] <= most, side["right"])

    def test_each_side_runs_the_others_qoperator_files_to_the_same_bytes(self):
        floats, results = self.compared("MinMax", "qoperator", "u8s8")
        self.assertEqual(floats, {"vgg8": 12})
        self.assertEqual(len(results), 2)
        for result in results:
            self.assert_right(result["ours"])
            self.assert_right(result["theirs"])
            self.assertEqual(result["ours"]["in_onnxruntime"], {"differ": 0})
            self.assertEqual(result["theirs"]["in_qsim"], {"differ": 0})
            self.assertEqual(result["verdict"], "equal")

    def test_onnxruntimes_files_have_the_granularity_and_the_type_of_their_row(self):
        for granularity, scales in (("channel", 6), ("tensor", 1)):
            for weights, dtype in (("s8", np.int8), ("u8", np.uint8)):
                way = rows.OrtWay("MinMax", "qoperator", granularity, weights)
                ort_side.quantize(self.model, way, self.calibration, self.folder / "way.onnx", self.folder / "r.json")
                constants = {each.name: numpy_helper.to_array(each)
                             for each in onnx.load(str(self.folder / "way.onnx")).graph.initializer}
                self.assertEqual(constants["w1_scale"].size, scales)
                # Its QOperator files have int8 weights per channel, whatever it is told.
                self.assertEqual(constants["w1_quantized"].dtype, np.int8 if granularity == "channel" else dtype)

    def test_weights_in_parts_are_joined(self):
        model = onnx.load(str(self.model))
        whole = next(each for each in model.graph.initializer if each.name == "w2")
        array = numpy_helper.to_array(whole)
        model.graph.initializer.remove(whole)
        for name, part in (("w2.0", array[:3]), ("w2.1", array[3:])):
            model.graph.initializer.append(numpy_helper.from_array(part, name))
        model.graph.node.insert(0, helper.make_node("Concat", ["w2.0", "w2.1"], ["w2"], "join", axis=0))
        onnx.save(model, str(self.folder / "parts.onnx"))
        ort_side.prepare(self.folder / "parts.onnx", self.folder / "whole.onnx")
        operators = [node.op_type for node in onnx.load(str(self.folder / "whole.onnx")).graph.node]
        self.assertNotIn("Concat", operators)
        self.assertTrue(np.array_equal(ort_side.outputs(self.folder / "whole.onnx", self.test),
                                       ort_side.outputs(self.model, self.test)))

    def test_the_best_of_several_ways_is_compared(self):
        _, results = self.compared("qoperator", "tensor", "--bias-correction")
        self.assertEqual(len(results), 1)
        self.assert_right(results[0]["theirs"])
        self.assertEqual(results[0]["kind"], "bias")

    def test_a_refusal_is_a_row_and_its_reason(self):
        row = fixed_rows(["MinMax", "qoperator", "u8s8"])[0]
        keep = self.folder / "refused"
        keep.mkdir()
        missing = rows.Row(row.kind, row.network, row.ort, (*row.options, "--layers", "none.yaml"))
        _, (result,) = compare.compared(QSIM, keep, {"vgg8": self.model}, [missing], self.calibration,
                                        (self.test, self.labels))
        self.assertIn("none.yaml", result["ours"]["refused"])
        self.assertIn("| refused | 12 |", table.text({"vgg8": 12}, [result], 16))

    def test_what_is_kept_is_not_run_again(self):
        first = self.compared("Percentile", "qdq", "u8u8", "tensor")
        again = compare.compared("no such program", self.folder / "Percentile-qdq-u8u8-tensor", {"vgg8": self.model},
                                 fixed_rows(["Percentile", "qdq", "u8u8", "tensor"]), None, None)
        self.assertEqual(first, again)
        text = table.text(*first, 16)
        self.assertIn("vgg8, of 16 pictures; float: 12 right.", text)
        self.assertIn("| the same scheme | 1 | 0 | 1 | 0 | 0 |", text)


if __name__ == "__main__":
    unittest.main()
