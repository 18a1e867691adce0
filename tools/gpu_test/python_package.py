"""Runs the tests of the Python package that need a GPU, from a folder of bundle.py: `package` and `tests`.

usage: python_package.py FOLDER CASES. The last line sums up; the exit code is 1 after a failure, and where a test was
skipped: PyTorch for the GPU is needed.
"""
import os
import pathlib
import sys
import unittest

folder, cases = pathlib.Path(sys.argv[1]), sys.argv[2]
os.environ["QSIM_CUDA_CASES"] = cases
sys.path[:0] = [str(folder / "package"), str(folder / "tests")]
import torch  # noqa: F401  pylint: disable=unused-import,wrong-import-position

suite = unittest.defaultTestLoader.loadTestsFromNames(["cuda_test", "cuda_tensors_test", "torch_training_test", "torch_layers_test", "torch_eager_test",
                                                        "torch_convert_test", "chain_cuda_test"])
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
sys.stdout.flush()
print(f"{result.testsRun} tests, {cases} random cases each, {len(result.failures) + len(result.errors)} failed, "
      f"{len(result.skipped)} skipped; PyTorch {torch.__version__}")
sys.exit(not result.wasSuccessful() or bool(result.skipped))
