"""export_onnx() of chains: the module in eval mode, ONNX Runtime and qsim (golden and the simulated accelerator) give the same numbers.

usage: chain_export_test.py QSIM LIBRARY REPOSITORY_ROOT (in the environment of tools/ort)
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

QSIM, ROOT = sys.argv[1], pathlib.Path(sys.argv[3])
os.environ["QSIM_GOLDEN_LIBRARY"] = sys.argv[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools/ort")]

import numpy as np
import onnx
import torch

import chain_maker
import exact_session
import qsim
import qsim.torch as qt

nn = torch.nn
SEED = int(os.environ.get("QSIM_CHAIN_SEED", "20261123"))
CASES = int(os.environ.get("QSIM_CHAIN_CASES", "30"))


def trained(chain, shape):
    """Three steps of training mode, with different ranges."""
    for factor in (1.0, 1.5, 0.5):
        chain(factor * torch.randn(4, *shape))
    return chain.eval()


class Exports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "chain.onnx"
        torch.manual_seed(SEED)

    def program(self, x, *words):
        """output.npy of a command of qsim."""
        np.save(self.folder / "x.npy", x.numpy())
        command = [QSIM, *words, f"--model={self.file}", f"--input={self.folder}/x.npy", f"--batch={len(x)}", "--quiet",
                   f"--out={self.folder}/out"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "out/output.npy")

    def same(self, found, expected):
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())

    def compare(self, chain, shape, accelerator):
        """Exports, runs everywhere; returns how many numbers y has."""
        qt.export_onnx(chain, self.file, shape)
        x = torch.randn(3, *shape)
        with torch.no_grad():
            y = chain(x).contiguous().numpy()
        session = exact_session.open_session(str(self.file))
        self.same(session.run(None, {"input": x.numpy()})[0], y)
        self.same(self.program(x, "golden", "run"), y)
        if accelerator:
            self.same(self.program(x, "run", "--config=pe16x16_dyadic"), y)
        return len(np.unique(y))

    def test_random_chains_run_everywhere_to_the_same_bytes(self):
        varied = refused = 0
        for case in range(CASES):
            draw = random.Random(SEED + case)
            torch.manual_seed(SEED + case)
            maker, options = chain_maker.Maker(draw), chain_maker.options_of(draw)
            chain = qt.QuantizedSequential(*maker.layers(), **options)
            with self.subTest(seed=SEED + case, layers=str(chain), **options):
                try:
                    varied += self.compare(trained(chain, maker.input_shape), maker.input_shape, case % 3 == 0)
                except qsim.Unsupported as error:
                    self.assertIn("adds a tensor whose scale is", str(error))
                    refused += 1
        self.assertGreater(varied, 10 * CASES)
        self.assertLess(refused, 0.05 * CASES + 1)

    def test_channels_of_negative_and_zero_gain_are_exported(self):
        for zero_points in (False, True):
            chain = qt.QuantizedSequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 3, 1),
                                           zero_points=zero_points)
            with torch.no_grad():
                chain[1].weight.copy_(torch.tensor([1.0, -1.0, 0.0, -0.5, 1e-12, 2.0]))
                chain[1].bias.copy_(torch.tensor([0.1, 0.5, 0.7, 0.0, 0.3, -9.0]))
            self.assertGreater(self.compare(trained(chain, (2, 8, 8)), (2, 8, 8), True), 10)
            weights = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(str(self.file)).graph.initializer}
            self.assertFalse(weights["0.weight"][2].any())
            self.assertTrue(weights["0.weight"][5].any())

    def test_a_bias_far_above_its_weights_is_exported(self):
        chain = qt.QuantizedSequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Conv2d(3, 2, 1))
        with torch.no_grad():
            chain[0].bias[0], chain[0].weight[0] = 5.0, 1e-9
        self.assertGreater(self.compare(trained(chain, (2, 8, 8)), (2, 8, 8), True), 10)
        self.assertLess(abs(float(chain.levels_state[1, 1]) - 5.0), 2.0)
        weights = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(str(self.file)).graph.initializer}
        self.assertEqual([bool(one.any()) for one in weights["0.weight"]], [False, True, True])

    def test_rows_of_numbers_are_exported(self):
        chain = qt.QuantizedSequential(nn.Linear(7, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 4, bias=False))
        self.assertGreater(self.compare(trained(chain, (7,)), (7,), True), 5)

    def test_the_sidecar_names_the_labels(self):
        chain = trained(qt.QuantizedSequential(nn.Conv2d(3, 2, 8), nn.Flatten()), (3, 8, 8))
        qt.export_onnx(chain, self.file, (3, 8, 8), {"resize": [8, 8], "mean": [0.5] * 3, "std": [0.25] * 3,
                                                     "labels": ["cat", "dog"]})
        self.assertEqual(self.file.with_suffix(".yaml").read_text(),
                         "preprocess: {resize: [8, 8], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\nlabels: [cat, dog]\n")
        with self.assertRaisesRegex(qsim.BadInput, "the sidecar has a field 'size'; allowed: resize, mean, std, labels"):
            qt.export_onnx(chain, self.file, (3, 8, 8), {"size": [8, 8]})

    def test_what_cannot_be_exported_is_told(self):
        conv = nn.Conv2d(1, 1, 1)
        with self.assertRaisesRegex(qsim.Unsupported, r"layer Conv2d \(Conv2d\) is not written; allowed: quantized layers"):
            qt.export_onnx(conv, self.file, (1, 4, 4))
        with self.assertRaisesRegex(qsim.Unsupported, "x is rounded toward_zero"):
            qt.export_onnx(qt.QuantizedSequential(conv, rounding="toward_zero"), self.file, (1, 4, 4))
        with self.assertRaisesRegex(qsim.BadInput, r"input_shape is \(4,\); allowed: \(K,\) where"):
            qt.export_onnx(qt.QuantizedSequential(conv), self.file, (4,))
        with self.assertRaisesRegex(qsim.BadInput, "its scales are not known before the first step"):
            qt.export_onnx(qt.QuantizedSequential(conv), self.file, (1, 4, 4))
        tiny = trained(qt.QuantizedSequential(nn.Conv2d(1, 1, 1, bias=False), input_scale=1e-30), (1, 4, 4))
        with torch.no_grad():
            tiny[0].weight.fill_(1e-30)
        with self.assertRaisesRegex(qsim.BadInput, "a scale of layer 0 is too small for float32"):
            qt.export_onnx(tiny, self.file, (1, 4, 4))
        nothing = qt.QuantizedSequential(qt.Residual([nn.Conv2d(1, 1, 1, bias=False)], None, False))
        nn.init.zeros_(nothing[0].body[0].weight)
        trained(nothing, (1, 4, 4))
        with self.assertRaisesRegex(qsim.Unsupported, "layer 0 adds a tensor whose scale is .* times its result's"):
            nothing.levels_scale[2] = 1e-4
            qt.export_onnx(nothing, self.file, (1, 4, 4))
        with mock.patch.dict(sys.modules, {"onnx": None}):
            with self.assertRaisesRegex(ImportError, "export_onnx needs the package onnx"):
                qt.export_onnx(tiny, self.file, (1, 4, 4))
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    print(f"QSIM_CHAIN_SEED={SEED}")
    unittest.main(argv=sys.argv[:1])
