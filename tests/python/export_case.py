"""What the tests of export_onnx() share: the module, ONNX Runtime and qsim give the same bits, or one line says why not.

Their arguments: QSIM LIBRARY REPOSITORY_ROOT
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

QSIM, ROOT = sys.argv[1], pathlib.Path(sys.argv[3])
os.environ["QSIM_GOLDEN_LIBRARY"] = sys.argv[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tools/ort")]

import numpy as np
import torch

import exact_session
import qsim
import qsim.torch as qt

SEED = int(os.environ.get("QSIM_LAYERS_SEED", "20261123"))
torch.set_num_threads(1)  # small tensors: more would wait for each other


def trained(model, shape):
    """Three passes of training mode, with different ranges, and steps that training has moved."""
    for factor in (1.0, 1.5, 0.5):
        model(factor * torch.randn(4, *shape))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("weight_step", "observer.scale")):
                parameter.mul_(torch.empty_like(parameter).uniform_(0.3, 1.5))
    return model.eval()


class ExportCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "layers.onnx"
        torch.manual_seed(SEED)
        warnings.filterwarnings("ignore", message="Using padding='same'")

    def program(self, x, *words):
        np.save(self.folder / "x.npy", x.numpy())
        command = [QSIM, *words, f"--model={self.file}", f"--input={self.folder}/x.npy", f"--batch={len(x)}", "--quiet",
                   f"--out={self.folder}/out"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def output(self, x, *words):
        """output.npy of a command of qsim."""
        done = self.program(x, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "out/output.npy")

    def same(self, found, expected):
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())

    def compare(self, model, shape, x=None, optimizations=("all", "disabled")):
        """Exports, runs everywhere; returns how many different numbers y has."""
        qt.export_onnx(model, self.file, shape)
        x = torch.randn(3, *shape) if x is None else x
        with torch.no_grad():
            y = model(x.clone()).contiguous().numpy()
        for optimization in optimizations:
            session = exact_session.open_session(str(self.file), optimization)
            self.same(session.run(None, {"input": x.numpy()})[0], y)
        self.same(self.output(x, "golden", "run"), y)
        return len(np.unique(y))

    def refused(self, model, message, shape=(2, 4, 4), error=qsim.Unsupported):
        with self.subTest(message=message):
            with self.assertRaisesRegex(error, message) as caught:
                qt.export_onnx(model, self.file, shape)
            self.assertNotIn("\n", str(caught.exception))
            self.assertFalse(self.file.exists())
