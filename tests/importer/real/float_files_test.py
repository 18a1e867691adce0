"""Float files of PyTorch's exporters, layer by layer: the importer and the float executor against ONNX Runtime.

usage: float_files_test.py FLOAT_LAYERS REPOSITORY [TEST...]
Each layer differs by at most 1e-5 of its largest value. A line for each file says by how much, and one for each exporter.
"""
import collections
import pathlib
import sys
import unittest

import numpy as np
import onnx

import layers_of_files

TOOL, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
SEED, BATCH = 21, 3


def random_input(file):
    shape = [dim.dim_value for dim in onnx.load(str(file)).graph.input[0].type.tensor_type.shape.dim]
    shape[0] = shape[0] or BATCH
    return np.random.default_rng(SEED).standard_normal(shape).astype(np.float32)


class FloatFiles(unittest.TestCase):
    def compare(self, files):
        """How many layers were compared."""
        forms = collections.defaultdict(lambda: (0, 0.0))
        for file in files:
            layers, error, where = layers_of_files.compare(TOOL, file, random_input(file))
            print(f"{file.name:32} {layers:3} layers, largest error {error:.1e} of the layer's largest value ({where})")
            self.assertLessEqual(error, layers_of_files.LARGEST_ERROR, f"{file.name}: {where}")
            form = file.name.split(".")[-2]
            forms[form] = forms[form][0] + layers, max(forms[form][1], error)
        for form, (layers, error) in forms.items():
            print(f"{form}: {layers} layers, largest error {error:.1e}")
        return sum(layers for layers, _ in forms.values())

    def test_files_of_pytorchs_exporters_give_onnx_runtimes_layers(self):
        files = sorted((ROOT / "tests/onnx/float/files").glob("*.onnx"))
        self.assertGreaterEqual(len(files), 30)
        self.assertGreater(self.compare(files), 350)

    def test_files_that_were_made_for_quantizing_do_too(self):
        files = sorted((ROOT / "tests/onnx/producers/torch").glob("*.float.onnx"))
        files = [file for file in files if not file.name.startswith("activations")]  # a product of two tensors
        self.assertGreaterEqual(len(files), 7)
        self.assertGreater(self.compare(files), 90)

    def test_the_shipped_networks_do_too(self):
        files = [ROOT / f"models/{name}-cifar10/{name}-float.onnx" for name in ("vgg8", "resnet14")]
        self.assertGreater(self.compare(files), 45)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
