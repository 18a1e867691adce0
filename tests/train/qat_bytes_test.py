#!/usr/bin/env python3
"""After training, `qsim quantize --scales` and `qsim golden run` give the logits of training: qat_bytes_test.py QSIM."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import torch
    from onnx import numpy_helper

    from small_networks import RESIDUAL, TRAIN, chain, pictures, random_weights
    import qat_export
    from qat_layers import Settings
    from qat_network import QatNetwork
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)
QSIM = ""
SIZE = 32

# (kind, rounding of training, options of `qsim golden run` that ask for it)
ARITHMETICS = [("power_of_two", "half_even", []), ("power_of_two", "floor", ["--rounding", "floor"]),
               ("dyadic", "float32", []), ("dyadic", "half_up", ["--rounding", "half_up"]),
               ("float", "float32", []), ("float", "half_even", ["--rounding", "half_even"])]


def trained(nodes, settings, seed):
    """A network after two steps."""
    model = QatNetwork(nodes, random_weights(nodes, seed), pictures(16, SIZE, seed), settings)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        model(pictures(8, SIZE, 100 + step)).square().mean().backward()
        optimizer.step()
    return model


class Bytes(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def qsim(self, *arguments):
        done = subprocess.run([QSIM, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def quantized_logits(self, images, options):
        """What golden computes of the exported files; the integers of the quantized file too."""
        np.save(self.folder / "images.npy", images.numpy())
        self.qsim("quantize", self.folder / "net.onnx", "--scales", self.folder / "net.scales.json", "--calibrate",
                  self.folder / "images.npy", "-o", self.folder / "int8.onnx", "--quiet")
        self.qsim("golden", "run", "--model", self.folder / "int8.onnx", "--input", self.folder / "images.npy",
                  "--backend", "cpu", "--out", self.folder / "out", "--quiet", *options)
        found = onnx.load(str(self.folder / "int8.onnx")).graph.initializer
        return np.load(self.folder / "out/output.npy"), [numpy_helper.to_array(t) for t in found]

    def test_every_logit_of_training_is_that_of_the_quantized_file(self):
        for nodes in (chain(SIZE), RESIDUAL):
            for seed, (kind, rounding, options) in enumerate(ARITHMETICS):
                with self.subTest(last=nodes[-1].name, kind=kind, rounding=rounding):
                    model = trained(nodes, Settings(4, kind, rounding, per_channel=seed != 1), seed + 1)
                    integers = qat_export.export(model, self.folder, "net")
                    images = pictures(12, SIZE, 50 + seed)
                    found, tensors = self.quantized_logits(images, options)
                    with torch.no_grad():
                        expected = model(images).numpy()
                    self.assertGreater(len(np.unique(expected)), 10)
                    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
                    np.testing.assert_array_equal(integers.logits(images.numpy()), expected)
                    for name, layer in integers.weights.items():
                        same = [t for t in tensors if t.dtype == np.int8 and t.size == layer.levels.size]
                        self.assertTrue(any((np.sort(t, None) == np.sort(layer.levels, None)).all() for t in same), name)

    def test_the_shipped_files_of_4_bits_have_weights_of_4_bits(self):
        for network, layers in (("vgg8", 8), ("resnet14", 16)):
            model = onnx.load(str(TRAIN.parent / f"{network}-cifar10/{network}-w4.onnx"))
            arrays = [numpy_helper.to_array(t) for t in model.graph.initializer]
            weights = [array for array in arrays if array.dtype == np.int8 and array.ndim >= 2]
            self.assertEqual(len(weights), layers)
            for array in weights:
                self.assertTrue(-7 <= array.min() < 0 < array.max() <= 7)
                self.assertGreater(len(np.unique(array)), 10)


if __name__ == "__main__":
    QSIM = sys.argv.pop(1)
    unittest.main()
