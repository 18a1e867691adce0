"""Float files of PyTorch's exporters, layer by layer: the importer and the float executor against ONNX Runtime.

usage: float_files_test.py FLOAT_LAYERS REPOSITORY [TEST...]
Each node output that a layer has is an output of ONNX Runtime's graph too, which optimizes nothing; each layer differs by
at most 1e-5 of its largest value. A line for each file says how much.
"""
import collections
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import helper

TOOL, ROOT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
SEED, BATCH, LARGEST_ERROR = 21, 3, 1e-5


def random_input(model):
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    shape[0] = shape[0] or BATCH
    return np.random.default_rng(SEED).standard_normal(shape).astype(np.float32)


def layers_of(file, inputs):
    """[(operation, name, ONNX tensor, array NHWC)] as qsim computes them; the array as ONNX has it, but for NHWC."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "input.npy", inputs)
        done = subprocess.run([TOOL, file, folder / "input.npy", folder], capture_output=True, encoding="utf8", check=False)
        if done.returncode != 0:
            raise AssertionError(f"{file.name}: {done.stderr}")
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        return [(operation, layer, tensor, np.load(folder / f"{number}.npy")) for number, operation, layer, tensor in rows]


def tensors_of(file, inputs, names):
    """What ONNX Runtime computes for these tensors, as it has them."""
    model = onnx.load(str(file))
    del model.graph.output[:]
    model.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: inputs})))


def in_our_axes(array):
    """[N, C, H, W] and [N, K] as [N, H, W, C]."""
    return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array.reshape(array.shape[0], 1, 1, -1)


class FloatFiles(unittest.TestCase):
    def compare(self, files):
        """How many layers were compared; prints a line for each file, and for each exporter."""
        compared, forms = 0, collections.defaultdict(lambda: [0, 0.0])
        for file in files:
            inputs = random_input(onnx.load(str(file)))
            layers = layers_of(file, inputs)
            expected = tensors_of(file, inputs, [tensor for _, _, tensor, _ in layers if tensor])
            largest, where = 0.0, ""
            for operation, name, tensor, found in layers:
                if not tensor:
                    self.assertIn(operation, ("conv2d", "average_pool", "max_pool"), f"{file.name}: {name}")
                    continue
                wanted = in_our_axes(expected[tensor])
                self.assertEqual(found.shape, wanted.shape, f"{file.name}: {name}")
                scale = float(np.abs(wanted).max())
                self.assertGreater(scale, 1e-4, f"{file.name}: {name}")
                error = float(np.abs(found - wanted).max()) / scale
                self.assertLessEqual(error, LARGEST_ERROR, f"{file.name}: {name} ({operation})")
                largest, where = max((largest, where), (error, name))
                compared += 1
                form = forms[file.name.split(".")[-2]]
                form[:] = form[0] + 1, max(form[1], error)
            print(f"{file.name:32} {len(layers):3} layers, largest error {largest:.1e} of the layer's largest value ({where})")
        for form, (layers, error) in forms.items():
            print(f"{form}: {layers} layers compared, largest error {error:.1e}")
        return compared

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
