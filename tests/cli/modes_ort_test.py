"""Weight-only, dynamic and fake networks: `qsim quantize --mode` against ONNX Runtime, and ONNX Runtime's own dynamic
files in golden.

usage: modes_ort_test.py QSIM REPOSITORY [TEST...]
Each output differs by at most a share of the largest one, which the test of its mode says.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Before numpy and onnx: packages that onnxruntime.quantization wants (tools/ort/producers.txt).
sys.path.insert(0, str(pathlib.Path(sys.prefix) / "producers"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402

try:
    from onnxruntime.quantization import QuantType, quantize_dynamic
except ImportError:  # it wants packages that tools/ort/requirements.txt does not have
    quantize_dynamic = None

QSIM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
NETWORKS = ["vgg", "residual", "inverted_residual", "inception", "lenet", "mlp"]
PICTURES = 6


def with_uint8_weights(model):
    """int8 weights of integer operators as uint8, 128 larger: with AVX2 and without VNNI, ONNX Runtime saturates sums of
    uint8 data and int8 weights."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type not in ("ConvInteger", "MatMulInteger"):
            continue
        weights = numpy_helper.to_array(constants[node.input[1]])
        zero = numpy_helper.to_array(constants[node.input[3]]) if len(node.input) > 3 else np.zeros((), weights.dtype)
        if weights.dtype != np.int8:
            continue
        moved = {"/u8": weights, "/u8_zero": zero}
        for suffix, values in moved.items():
            moved_name = node.name + suffix
            model.graph.initializer.append(
                numpy_helper.from_array((values.astype(np.int16) + 128).astype(np.uint8), moved_name))
        data = list(node.input)[:3]
        del node.input[:]
        node.input.extend([data[0], node.name + "/u8", data[2], node.name + "/u8_zero"])
    return model.SerializeToString()


def session_of(file):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(with_uint8_weights(onnx.load(str(file))), options, providers=["CPUExecutionProvider"])


class Modes(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)
        self.addCleanup(self.holder.cleanup)

    def qsim(self, *words):
        done = subprocess.run([QSIM, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def network(self, name):
        file = ROOT / "tests/onnx/producers/torch" / f"{name}.float.onnx"
        dims = onnx.load(str(file)).graph.input[0].type.tensor_type.shape.dim
        shape = [PICTURES] + [dim.dim_value for dim in dims][1:]
        np.save(self.folder / "pictures.npy", np.random.default_rng(3).standard_normal(shape).astype(np.float32))
        return file

    def quantized(self, name, options):
        self.qsim("quantize", str(self.network(name)), "--calibrate", "pictures.npy", "-o", "net.onnx", *options)
        return self.folder / "net.onnx"

    def error(self, file):
        """The largest difference of golden's and ONNX Runtime's outputs, one picture at a time, of the largest output."""
        self.qsim("golden", "run", "--model", str(file), "--input", "pictures.npy", "--out", "out")
        ours = np.load(self.folder / "out/output.npy")
        session = session_of(file)
        name = session.get_inputs()[0].name
        pictures = np.load(self.folder / "pictures.npy")
        theirs = np.concatenate([session.run(None, {name: pictures[i:i + 1]})[0] for i in range(len(pictures))])
        self.assertEqual(ours.shape, theirs.shape)
        self.assertGreater(np.abs(theirs).max(), 0)
        return np.abs(ours - theirs).max() / np.abs(theirs).max()

    def check(self, options, limit, networks=NETWORKS):
        for name in networks:
            with self.subTest(name=name, options=options):
                error = self.error(self.quantized(name, options))
                print(f"{' '.join(options):70} {name:20} {error:.1e}")
                self.assertLessEqual(error, limit)

    def test_weight_only_networks_differ_by_the_order_of_sums(self):
        for options in ([], ["--weight-bits", "4"], ["--weight-levels", "log2", "--weight-bits", "5"],
                        ["--weight-symmetry", "affine", "--granularity", "tensor"]):
            self.check(["--mode", "weight_only", *options], 1e-5)

    def test_dynamic_networks_differ_by_the_scale_of_a_range_alone(self):
        # All sums are integers; a pool's last bit may move a range's end, and with it levels.
        for options in ([], ["--weight-bits", "4"], ["--weight-levels", "log2", "--weight-bits", "4"]):
            self.check(["--mode", "dynamic", *options], 1e-5)

    def test_fake_networks_differ_where_a_sum_is_near_a_tie(self):
        # One level of a tensor inside moves the output by less than this share.
        for options in ([], ["--activation-bits", "6"]):
            self.check(["--mode", "fake", *options], 0.02)
        self.check(["--mode", "fake", "--activation-levels", "log2", "--activation-bits", "5"], 0.1)

    @unittest.skipIf(quantize_dynamic is None, "onnxruntime.quantization does not load")
    def test_golden_runs_what_onnx_runtime_quantized_dynamically(self):
        for name in NETWORKS:
            for weights in (QuantType.QInt8, QuantType.QUInt8):
                with self.subTest(name=name, weights=weights):
                    file = self.folder / f"{name}.onnx"
                    quantize_dynamic(str(self.network(name)), str(file), weight_type=weights,
                                     op_types_to_quantize=["Conv", "MatMul", "Gemm"])
                    error = self.error(file)
                    print(f"{'quantize_dynamic':70} {name:20} {error:.1e}")
                    self.assertLessEqual(error, 1e-5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
