#!/usr/bin/env python3
"""models/train/qat.py as a user starts it: steps on a CPU, interrupted and resumed, and the files. Skips (77) without PyTorch."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import torch
    from PIL import Image

    from small_networks import RESIDUAL, random_weights
    import data
    import qat
    import qat_export
    import qat_graph
    import qat_integers
    from float_weights import load_float_tensors
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)


def write_pictures(folder, count):
    """Random pictures, a class after the other."""
    numbers = np.random.default_rng(1)
    for index in range(count):
        path = folder / data.CLASS_NAMES[index % 10]
        path.mkdir(parents=True, exist_ok=True)
        Image.fromarray(numbers.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(path / f"{index:04}.png")


def write_test_batch(path, count):
    numbers = np.random.default_rng(2)
    records = numbers.integers(0, 256, (count, data.RECORD_BYTES), dtype=np.uint8)
    records[:, 0] %= 10
    path.write_bytes(records.tobytes())


class Training(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        write_pictures(self.folder / "pictures", 24)
        write_test_batch(self.folder / "test.bin", 20)

    def weights(self, nodes):
        path = self.folder / "float.npz"
        np.savez(path, **{name: tensor.numpy() for name, tensor in random_weights(nodes, 1).items()})
        return path

    def train(self, nodes, out, *options, network="resnet14"):
        """(exit code, what it printed)"""
        printed = io.StringIO()
        common = ["--imagefolder", self.folder / "pictures", "--weights", self.weights(nodes), "--network", network,
                  "--batch-size", 8, "--calibration", 16, "--threads", 1, "--report-steps", 1, "--out", self.folder / out]
        with contextlib.redirect_stdout(printed), mock.patch.dict(qat.NETWORKS, {network: lambda: nodes}):
            code = qat.main([str(option) for option in (*common, *options)])
        return code, printed.getvalue()

    def files(self, out, network="resnet14"):
        stem = self.folder / out / f"{network}-qat"
        return [pathlib.Path(f"{stem}{end}").read_bytes() for end in (".onnx", ".scales.json")]

    def test_two_steps_of_each_network_write_files_whose_integers_are_those_of_training(self):
        for network, make in qat_graph.NETWORKS.items():
            nodes = make()
            code, printed = self.train(nodes, network, "--epochs", 0.667, "--bfloat16-backward", network=network)
            self.assertEqual(code, 0)
            self.assertIn("step 2/2", printed)
            self.assertIn("0 of 160 logits differ from integer arithmetic", printed)
            arrays = load_float_tensors(self.folder / network / f"{network}-qat.onnx")
            changed = [k for k, v in random_weights(nodes, 1).items() if not np.array_equal(arrays[k], v.numpy())]
            self.assertIn(f"{nodes[0].name}.weight", changed)

    def test_an_interrupted_run_goes_on_to_the_same_bytes(self):
        self.assertEqual(self.train(RESIDUAL, "whole", "--epochs", 2)[0], 0)

        class AfterThree(qat.Interrupt):
            count = 0

            @property
            def asked(self):
                AfterThree.count += 1
                return AfterThree.count > 4  # asked twice in a step

            @asked.setter
            def asked(self, value):
                pass

        with mock.patch.object(qat, "Interrupt", AfterThree):
            code, printed = self.train(RESIDUAL, "cut", "--epochs", 2)
        self.assertEqual(code, 130)
        self.assertIn("interrupted after 3 steps", printed)
        self.assertFalse((self.folder / "cut/resnet14-qat.onnx").exists())
        code, printed = self.train(RESIDUAL, "cut", "--epochs", 2)
        self.assertEqual(code, 0)
        self.assertIn("resumed after 3 of 6 steps", printed)
        self.assertEqual(self.files("whole"), self.files("cut"))

    def test_a_checkpoint_of_other_options_is_refused_by_name(self):
        self.train(RESIDUAL, "out", "--epochs", 0.4)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(self.train(RESIDUAL, "out", "--epochs", 0.4, "--bits", 3)[0], 2)
        self.assertRegex(errors.getvalue(), "other options .bits.")
        (self.folder / "out/checkpoint.pt").write_bytes(b"half a checkpoint")
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(self.train(RESIDUAL, "out", "--epochs", 0.4)[0], 2)
        self.assertRegex(errors.getvalue(), "^qat.py: error: .*checkpoint.pt cannot be read; delete it\n$")

    def test_the_log_has_a_line_a_step_and_the_accuracy_before_and_after(self):
        log = self.folder / "log.jsonl"
        self.train(RESIDUAL, "out", "--epochs", 1, "--log", log, "--test-batch", self.folder / "test.bin")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        events = [line["event"] for line in lines]
        self.assertEqual(events, ["start", "post-training", "step", "step", "step", "step", "quantization-aware", "exported"])
        self.assertEqual([line["pictures"] for line in lines if "pictures" in line], [20, 20])
        self.assertTrue(all(np.isfinite(line["loss"]) for line in lines if line["event"] == "step"))

    def test_every_recipe_gives_pixels_of_a_camera_and_shares_of_classes(self):
        images = data.load_image_folder(self.folder / "pictures")
        for recipe in qat.QAT_RECIPES:
            args = qat.parse_arguments(["--imagefolder", "x", "--weights", "x", "--recipe", recipe, "--batch-size", "24"])
            model = torch.nn.Linear(1, 1)
            pictures, targets = qat.Training(model, None, images, args, qat.Log(None)).batch()
            levels = (pictures * 128).unique()
            self.assertTrue(torch.equal(levels, levels.round()))
            self.assertTrue(-128 <= levels[0] and levels[-1] <= 127 and len(levels) > 200)
            torch.testing.assert_close(targets.sum(1), torch.ones(24))
            self.assertEqual(bool(((targets > 0).sum(1) > 1).any()), qat.QAT_RECIPES[recipe].cutmix_probability > 0)

    def test_it_ends_after_the_seconds_it_was_given(self):
        code, printed = self.train(RESIDUAL, "out", "--epochs", 100000, "--seconds", 0.2)
        self.assertEqual(code, 0)
        self.assertIn("logits differ", printed)

    def test_training_lowers_the_loss(self):
        log = self.folder / "log.jsonl"
        self.train(RESIDUAL, "out", "--bits", 3, "--epochs", 15, "--rate", 0.05, "--log", log)
        losses = [entry["loss"] for entry in map(json.loads, log.read_text().splitlines()) if entry["event"] == "step"]
        self.assertLess(losses[-1], 0.7 * losses[0])

    def test_missing_wrong_and_infinite_weights_are_refused_by_name(self):
        good = {name: tensor.numpy() for name, tensor in random_weights(RESIDUAL, 1).items()}
        bad = {"no tensor left.bias": {k: v for k, v in good.items() if k != "left.bias"},
               r"left.bias has shape \(3,\), expected \(12,\)": good | {"left.bias": np.zeros(3, np.float32)},
               "stem.weight has values that are not finite": good | {"stem.weight": np.full_like(good["stem.weight"], np.inf)}}
        for message, arrays in bad.items():
            np.savez(self.folder / "bad.npz", **arrays)
            with self.assertRaisesRegex(ValueError, message):
                self.train(RESIDUAL, "out", "--weights", self.folder / "bad.npz")
        self.assertEqual(list((self.folder / "out").iterdir()), [])


class Export(unittest.TestCase):
    def test_values_near_a_tie_move_to_their_level_and_others_stay(self):
        steps = np.full(5, 0.3)
        values = np.array([0.45, 0.46, 0.4501, 1.0, -0.1500001], dtype=np.float32)
        found = qat_export.off_ties(values, steps, np.array([2, 2, 2, 3, 0]))
        self.assertEqual((found != values).tolist(), [True, False, True, False, True])
        np.testing.assert_allclose(found, [0.6, 0.46, 0.6, 1.0, 0.0], rtol=1e-6)

    def test_a_bias_of_so_many_steps_that_float32_rounds_their_quotient_is_its_level_exactly(self):
        steps = np.full(9000, 0.3 * 2.0**-12)
        values = (np.linspace(1_000_001, 1_100_000, 9000) * steps).astype(np.float32)
        levels = np.rint(values / steps)
        found = qat_export.off_ties(values, steps, levels)
        self.assertTrue((np.rint(values / steps.astype(np.float32)) != levels).any())
        self.assertTrue((np.rint(found / steps.astype(np.float32)) == levels).all())

    def test_every_rounding_of_the_exported_weights_gives_the_same_integers(self):
        """float32 or float64 quotients, ties to even or away: what reads the file may take either."""
        import small_networks
        from qat_layers import Settings
        from qat_network import QatNetwork
        for kind in ("power_of_two", "dyadic", "float"):
            model = QatNetwork(RESIDUAL, random_weights(RESIDUAL, 3), small_networks.pictures(8), Settings(4, kind, "float32"))
            with torch.no_grad():
                model.layers["left"].weight[0, 0, 0, :2] = torch.tensor([2.5, 3.5])  # of a unit that is the step: ties
            arrays, document = qat_export.trained(model, 8)
            integers = qat_integers.IntegerNetwork.of(RESIDUAL, arrays, document, "float32")
            for name, layer in integers.weights.items():
                for dtype in (np.float32, np.float64):
                    shape = (-1, *[1] * (arrays[f"{name}.weight"].ndim - 1))
                    quotient = arrays[f"{name}.weight"].astype(dtype) / layer.scales.astype(dtype).reshape(shape)
                    away = np.clip(np.trunc(quotient + np.copysign(0.5, quotient)), -7, 7)
                    np.testing.assert_array_equal(np.clip(np.rint(quotient), -7, 7), layer.levels)
                    np.testing.assert_array_equal(away, layer.levels)
                    read = next(node.reads[0] for node in RESIDUAL if node.name == name)
                    step = layer.scales.astype(dtype) * integers.tensors[read].scale.astype(dtype)
                    quotient = arrays[f"{name}.bias"].astype(dtype) / step
                    np.testing.assert_array_equal(np.rint(quotient), layer.bias)
                    np.testing.assert_array_equal(np.trunc(quotient + np.copysign(dtype(0.5), quotient)), layer.bias)

    def test_the_float_file_is_sound_and_names_its_layers_as_the_scales_do(self):
        import small_networks
        from qat_layers import Settings
        from qat_network import QatNetwork
        model = QatNetwork(RESIDUAL, random_weights(RESIDUAL, 3), small_networks.pictures(8), Settings())
        arrays, document = qat_export.trained(model, 8)
        found = qat_export.float_model(RESIDUAL, arrays, "small")
        onnx.checker.check_model(found)
        names = {node.name for node in found.graph.node}
        self.assertLessEqual(set(document["tensors"]), names)
        self.assertEqual(set(document["weights"]), {node.name for node in RESIDUAL if node.has_weights})
        self.assertEqual([op.op_type for op in found.graph.node].count("Relu"), 4)


if __name__ == "__main__":
    unittest.main()
