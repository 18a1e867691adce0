"""Makes the fixtures: the networks of torch/ quantized by ONNX Runtime's quantize_static in its formats, and PyTorch's
own quantized files, each with an input and ONNX Runtime's output.

usage: quantize_ort.py TORCH_DIR DIR
       quantize_ort.py --outputs DIR OTHER_DIR NETWORK...  only runs the files of networks in DIR
Needs the environment of tools/producers/install.sh. DIR/NETWORK.FORM.onnx, DIR/NETWORK.input.npy,
DIR/NETWORK.FORM.output.npy. FORM: {qdq,qop}_{u8s8,s8s8,u8u8}_{tensor,channel}, and PyTorch's forms.
The same on every machine, but for the last bits of scales: calibration runs in float32.
"""
import contextlib
import functools
import os
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization import shape_inference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/ort"))
import worst_case  # noqa: E402

SEED = 14
CALIBRATION = 16
PICTURES = 16
FORMATS = {"qdq": quantization.QuantFormat.QDQ, "qop": quantization.QuantFormat.QOperator}
TYPES = {"u": quantization.QuantType.QUInt8, "s": quantization.QuantType.QInt8}
FORMS = [f"{format_}_{types}_{weights}" for format_ in FORMATS for types in ("u8s8", "s8s8", "u8u8")
         for weights in ("tensor", "channel")]


class Calibration(quantization.CalibrationDataReader):
    """Seeded inputs, one at a time."""

    def __init__(self, name, inputs):
        self.left = iter([{name: each[np.newaxis]} for each in inputs])

    def get_next(self):
        return next(self.left, None)


def inputs_of(model, count, seed):
    """(name, [count, ...] normal float32) of a model with one input."""
    value = model.graph.input[0]
    shape = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim][1:]
    return value.name, np.random.default_rng(seed).normal(0, 1, (count, *shape)).astype(np.float32)


def quantize(prepared, form, target):
    format_, types, weights = form.split("_")
    name, inputs = inputs_of(onnx.load(prepared), CALIBRATION, SEED)
    quantization.quantize_static(
        str(prepared), str(target), Calibration(name, inputs), quant_format=FORMATS[format_],
        activation_type=TYPES[types[0]], weight_type=TYPES[types[2]], per_channel=weights == "channel")


def opened(model, option):
    """A session on one thread with ONNX Runtime's default optimizations; model: a file's name or its bytes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if option:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@functools.lru_cache(maxsize=None)
def plain_is_exact():
    """Whether this processor's kernels for uint8 data and int8 weights keep 32 bits."""
    return not worst_case.faults(lambda model: opened(model.SerializeToString(), False))


def run(file, inputs):
    """ONNX Runtime's output. Where a plain session is not exact, the option lets it make int8 weights uint8, but then
    it has no kernel for the int8 data of QOperator graphs, which needs none. (In QDQ graphs it makes them uint8.)"""
    session = opened(str(file), not plain_is_exact() and "qop_s8" not in file.name)
    return session.run(None, {session.get_inputs()[0].name: inputs})[0]


def write_outputs(folder, other, networks):
    other.mkdir(parents=True, exist_ok=True)
    for network in networks:
        inputs = np.load(folder / f"{network}.input.npy")
        for file in sorted(folder.glob(f"{network}.*.onnx")):
            np.save((other / file.name).with_suffix(".output.npy"), run(file, inputs))


def main(words):
    if words[:1] == ["--outputs"] and len(words) > 3:
        write_outputs(pathlib.Path(words[1]), pathlib.Path(words[2]), words[3:])
        return
    if len(words) != 2:
        sys.exit(__doc__)
    source, folder = map(pathlib.Path, words)
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.glob("*.onnx")):
        network, form, _ = file.name.split(".")
        shutil.copy(file, folder)
        files = [folder / file.name]
        _, inputs = inputs_of(onnx.load(file), PICTURES, SEED + 1)
        if form == "float":
            prepared = folder / f"{network}.prepared"
            with open(os.devnull, "w", encoding="utf8") as nowhere, contextlib.redirect_stdout(nowhere):
                shape_inference.quant_pre_process(str(file), str(prepared), skip_symbolic_shape=True)
            files += [folder / f"{network}.{each}.onnx" for each in FORMS]
            for each, target in zip(FORMS, files[1:]):
                quantize(prepared, each, target)
            prepared.unlink()
            np.save(folder / f"{network}.input.npy", inputs)
        for each in files:
            try:
                np.save(each.with_suffix(".output.npy"), run(each, inputs))
            except Exception as error:  # pylint: disable=broad-exception-caught  # of ONNX Runtime's many
                print(f"{each.name}: ONNX Runtime refuses it: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main(sys.argv[1:])
