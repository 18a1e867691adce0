#!/usr/bin/env python3
"""What train_quantized.py exports: module, qsim and ONNX Runtime compute the same logits: quantized_bytes_test.py QSIM.

Skips (77) without PyTorch; without ONNX Runtime in QSIM_ORT_DIR, or beside QSIM, it compares the other two. The environment
has QSIM_GOLDEN_LIBRARY. With QSIM_DATA, or ../shared/data, the pictures are CIFAR-10's, else colors and noise.
"""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import torch

    from small_trainings import SMALL, SMALL_VGG16, TRAIN, write_pictures
    import compare_exported
    import data
    import quantized_networks
    import resnet14
    import train_quantized
    import vgg8
    from picture_sets import read_set
    from quantized_training import count_correct
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)
ROOT = TRAIN.parents[1]
QSIM = ""
PICTURES = 48

# (network, options of training, keywords of Quantization)
RUNS = [
    ("vgg8", [], {}),
    ("vgg8", ["--weight-bits", 4, "--zero-points"], {"weight_bits": 4, "zero_points": True}),
    ("vgg8", ["--observer", "last"], {"observer": "last"}),
    ("vgg16", ["--scale", "power_of_two", "--observer", "min_max"], {"scale": "power_of_two", "observer": "min_max"}),
    ("resnet14", [], {}),
    ("resnet14", ["--scale", "power_of_two", "--zero-points"], {"scale": "power_of_two", "zero_points": True}),
]


def cifar10():
    path = pathlib.Path(os.environ.get("QSIM_DATA", ROOT / "../shared/data")) / "cifar10/test_batch.bin"
    return path if path.exists() else None


class Bytes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.pictures = cls.folder / "pictures"
        if cifar10():
            cls.pictures = cls.folder / "pictures.bin"
            cls.pictures.write_bytes(cifar10().read_bytes()[: PICTURES * data.RECORD_BYTES])
        else:
            write_pictures(cls.pictures, data.CLASS_NAMES, 5)
        for where, name, small in ((vgg8, "LAYERS", SMALL), *((quantized_networks, *item) for item in SMALL_VGG16.items())):
            patch = mock.patch.object(where, name, small)
            patch.start()
            cls.addClassCleanup(patch.stop)
        cls.addClassCleanup(cls.temporary.cleanup)

    def qsim(self, *arguments):
        done = subprocess.run([QSIM, *map(str, arguments), "--quiet"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def train(self, number):
        """The folder of a run of a few steps, and the network that it saved."""
        network, options, keywords = RUNS[number]
        out = self.folder / f"run{number}"
        words = ["--network", network, "--quantize", "--dataset", self.pictures, "--device", "cpu", "--batch-size", 8, "--epochs", 1,
                 "--rate", 0.002 if network == "vgg16" else 0.05, "--threads", 1, "--out", out, *options]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(train_quantized.main([str(word) for word in words]), 0)
        self.assertIn(f"qsim run --model {out / network}-int8.onnx", printed.getvalue())
        model = quantized_networks.make_network(network, 10, 32, 0.2, quantized_networks.Quantization(**keywords))
        model.load_state_dict(torch.load(out / f"{network}.pt"))
        return out / f"{network}-int8.onnx", model.eval()

    def of_onnxruntime(self, jobs):
        """The outputs of (file, pictures.npy), in one process."""
        folder = pathlib.Path(os.environ.get("QSIM_ORT_DIR", pathlib.Path(QSIM).parent / "ort"))
        if not (folder / "bin/python").exists():
            print("ONNX Runtime is not there, and is not compared")
            return None
        runs = [{"model": str(file), "input": str(images), "outdir": str(file.parent / "ort")} for file, images in jobs]
        (self.folder / "jobs.json").write_text(json.dumps(runs))
        done = subprocess.run([folder / "bin/python", "-B", ROOT / "tools/ort/run_onnx.py", "--batch", self.folder / "jobs.json"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [np.load(next((file.parent / "ort").glob("*.npy"))) for file, _ in jobs]

    def test_module_qsim_and_onnxruntime_compute_the_same_logits_of_each_network(self):
        pictures = read_set(self.pictures, torch.device("cpu"), None)
        images = data.normalize(pictures.read(torch.arange(len(pictures))))
        np.save(self.folder / "images.npy", images.numpy())
        jobs, expected = [], []
        for number, (network, options, _) in enumerate(RUNS):
            with self.subTest(network=network, options=options):
                file, model = self.train(number)
                with torch.no_grad():
                    logits = model(images).numpy()
                self.assertGreater(len(np.unique(logits)), 12)
                self.assertGreater(len(np.unique(logits, axis=0)), len(images) // 3)
                self.qsim("golden", "run", "--model", file, "--input", self.folder / "images.npy", "--backend", "cpu",
                          "--out", file.parent / "golden")
                found = np.load(file.parent / "golden/output.npy")
                self.assertEqual(found.reshape(logits.shape).tobytes(), logits.tobytes())
                jobs.append((file, self.folder / "images.npy"))
                expected.append(logits)
        for (file, _), logits, found in zip(jobs, expected, self.of_onnxruntime(jobs) or []):
            self.assertEqual(found.tobytes(), logits.tobytes(), file)

    def test_the_accelerator_simulates_the_file_and_eval_counts_what_the_module_does(self):
        for number, config in ((0, ["--config", "pe16x16_dyadic"]), (3, [])):
            file, model = self.train(number)
            pictures = read_set(self.pictures, torch.device("cpu"), None)
            one = self.folder / "one.npy"
            image = data.normalize(pictures.read(torch.tensor([7])))
            np.save(one, image.numpy())
            self.qsim("run", "--model", file, "--input", one, "--out", file.parent / "simulated", *config)
            with torch.no_grad():
                logits = model(image).numpy()
            self.assertEqual(np.load(file.parent / "simulated/output.npy").tobytes(), logits.tobytes())
            self.qsim("eval", "--model", file, "--data", self.pictures, "--backend", "cpu", "--json", self.folder / "eval.json")
            counted = json.loads((self.folder / "eval.json").read_text())["engines"][0]
            self.assertEqual((counted["top1_correct"], counted["pictures"]), (count_correct(model, pictures, False), len(pictures)))

    def test_one_command_compares_a_trained_network_and_sees_a_difference(self):
        file, model = self.train(0)
        ort = pathlib.Path(os.environ.get("QSIM_ORT_DIR", pathlib.Path(QSIM).parent / "ort")) / "bin/python"
        words = ["--run", file.parent, "--pictures", self.pictures, "--count", 5, "--qsim", QSIM]
        words += ["--ort", ort] if ort.exists() else ["--no-ort"]

        def compare():
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                code = compare_exported.main([str(word) for word in words])
            return code, printed.getvalue()

        code, printed = compare()
        self.assertEqual(code, 0, printed)
        self.assertEqual(printed.count(": 50 values compared, 0 differ, in 0 pictures"), 6 if ort.exists() else 3)
        state = model.state_dict()
        last = [name for name in state if name.endswith("bias")][-1]
        state[last][0] += 100
        torch.save(state, file.parent / "vgg8.pt")
        code, printed = compare()
        self.assertEqual(code, 1, printed)
        self.assertRegex(printed, "module and golden run: 50 values compared, [1-9]")
        self.assertIn("golden run and run: 50 values compared, 0 differ, in 0 pictures", printed)

    def test_eval_knows_classes_of_any_name_by_the_file_beside_the_network(self):
        names = ["no", "b: c", "gro\u00dfe, [x]", "1"]
        write_pictures(self.folder / "odd", names, 6, seed=4)
        words = ["--quantize", "--dataset", self.folder / "odd", "--device", "cpu", "--batch-size", 8, "--epochs", 10,
                 "--rate", 0.05, "--threads", 1, "--average", 0.5, "--out", self.folder / "odd-run"]
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(train_quantized.main([str(word) for word in words]), 0)
        file = self.folder / "odd-run/vgg8-int8.onnx"
        self.qsim("eval", "--model", file, "--data", self.folder / "odd", "--backend", "cpu", "--json", self.folder / "odd.json")
        counted = json.loads((self.folder / "odd.json").read_text())["engines"][0]
        self.assertEqual(sorted(row["name"] for row in counted["per_class"]), sorted(names))
        self.assertGreater(counted["top1_correct"], 12)

    def test_the_plain_resnet14_computes_what_the_repositorys_float_network_does(self):
        torch.manual_seed(2)
        ours, theirs = quantized_networks.make_network("resnet14", 10, 32, 0.2, None).eval(), resnet14.Resnet14(0.2).eval()
        for norm in theirs.norms.values():
            torch.nn.init.normal_(norm.weight)
        parts = [part for spec in resnet14.conv_specs() for part in (theirs.convs[spec.name], theirs.norms[spec.name])]
        wanted = [tensor for part in (*parts, theirs.fc) for tensor in part.state_dict().values()]
        ours.load_state_dict(dict(zip(ours.state_dict(), wanted)))
        images = torch.randn(2, 3, 32, 32)
        torch.testing.assert_close(ours(images), theirs(images), rtol=1e-5, atol=1e-6)

    def test_weights_of_4_bits_have_15_levels_and_the_input_those_of_its_pixels(self):
        file, network = self.train(1)
        self.assertEqual(float(network.levels_scale[0]), 2.0**-7)
        model = onnx.load(str(file))
        arrays = [onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
        weights = [array for array in arrays if array.dtype == np.int8 and array.ndim >= 2]
        self.assertEqual(len(weights), 8)
        for array in weights:
            self.assertTrue(-7 <= array.min() < 0 < array.max() <= 7)


if __name__ == "__main__":
    QSIM = sys.argv.pop(1)
    unittest.main()
