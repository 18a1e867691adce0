"""The layers of a float ONNX file as qsim computes them (float_layers) and as ONNX Runtime does, which optimizes nothing
and has every layer's tensor as an output."""
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

LARGEST_ERROR = 1e-5  # of a layer's largest value


def layers_of(tool, file, inputs):
    """[(operation, name, ONNX tensor, array NHWC)] by the importer and the float executor."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "input.npy", inputs)
        done = subprocess.run([tool, file, folder / "input.npy", folder], capture_output=True, encoding="utf8", check=False)
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


def compare(tool, file, inputs):
    """(layers compared, the largest error as a part of its layer's largest value, that layer). A layer without a tensor of
    the file is one that the file does not have: a pad, or a pool that a Flatten follows."""
    layers = layers_of(tool, file, inputs)
    expected = tensors_of(file, inputs, [tensor for _, _, tensor, _ in layers if tensor])
    compared, largest, where = 0, 0.0, ""
    for operation, name, tensor, found in layers:
        if not tensor:
            assert operation in ("conv2d", "average_pool", "max_pool"), f"{file.name}: {name}"
            continue
        wanted = in_our_axes(expected[tensor])
        assert found.shape == wanted.shape, f"{file.name}: {name}: {found.shape}, not {wanted.shape}"
        scale = float(np.abs(wanted).max())
        assert scale > 1e-4, f"{file.name}: {name} is all zero"
        error = float(np.abs(found - wanted).max()) / scale
        assert np.isfinite(error), f"{file.name}: {name}"
        largest, where = max((largest, where), (error, name))
        compared += 1
    return compared, largest, where
