"""The package in an environment that has nothing else."""
import importlib.util
import pathlib
import unittest
import unittest.mock

import qsim
import qsim.golden


class Bare(unittest.TestCase):
    def test_neither_numpy_nor_pytorch_is_needed(self):
        self.assertIsNone(importlib.util.find_spec("numpy"))
        x = qsim.golden.Array((2, 32), "float32")
        values, scales = qsim.golden.quantize_per_channel(x)
        self.assertEqual(bytes(qsim.golden.linear_w8(x, values, scales)), bytes(16))
        self.assertRegex(qsim.__version__, r"^\d+\.\d+\.\d+$")

    def test_qsim_torch_says_what_it_needs(self):
        with self.assertRaisesRegex(ImportError, "qsim.torch needs PyTorch, from 1.13 on"):
            importlib.import_module("qsim.torch")

    def test_the_package_is_typed_and_documented(self):
        folder = pathlib.Path(qsim.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        for module in (qsim, qsim.golden):
            self.assertTrue(module.__doc__)
            for name in module.__all__:
                self.assertTrue(getattr(module, name).__doc__, name)

    def test_a_library_of_another_place_is_loaded_or_refused(self):
        import os
        import subprocess
        import sys
        done = subprocess.run([sys.executable, "-c", "import qsim"], capture_output=True, text=True, check=False,
                              env={**os.environ, "QSIM_GOLDEN_LIBRARY": "/nowhere.so"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("libqsim_golden cannot be loaded", done.stderr)

    def test_a_library_that_lacks_a_function_of_this_package_is_older(self):
        import qsim._library
        import qsim._signatures

        newer = {**qsim._signatures.SIGNATURES, "not_yet_there": "T"}
        with unittest.mock.patch.object(qsim._library, "SIGNATURES", newer):
            with self.assertRaisesRegex(ImportError, "libqsim_golden.* is older than this package; build it again$"):
                qsim._library._load()


if __name__ == "__main__":
    unittest.main()
