#!/usr/bin/env python3
"""models/train/export_onnx.py writes the shipped float files again, from their own weights. Skips (77) without PyTorch or onnx."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)


class FloatFiles(unittest.TestCase):
    def test_the_export_gives_the_bytes_of_the_shipped_files(self):
        for network, files in (("vgg8", 7), ("resnet14", 2)):
            shipped = ROOT / f"models/{network}-cifar10"
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([sys.executable, "-B", ROOT / "models/train/export_onnx.py", "--network", network,
                                "--weights", shipped / f"{network}-float.onnx", "--out", folder], check=True)
                made = sorted(pathlib.Path(folder).iterdir())
                self.assertEqual(len(made), files)
                for file in made:
                    with self.subTest(file.name):
                        self.assertEqual(file.read_bytes(), (shipped / file.name).read_bytes())
                        self.assertLessEqual(file.stat().st_size, 4_000_000)


if __name__ == "__main__":
    unittest.main()
