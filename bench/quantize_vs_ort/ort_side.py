"""ONNX Runtime's side: its quantizer, and sessions that are exact on this processor.

Needs the environment of tools/ort/install.sh, whose folder `producers` has what the quantizer needs besides."""
import contextlib
import functools
import logging
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(sys.prefix) / "producers"))
sys.path.insert(0, str(ROOT / "tools/ort"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from onnxruntime import quantization  # noqa: E402
from onnxruntime.quantization import shape_inference  # noqa: E402

import worst_case  # noqa: E402

BATCH = 64
FORMS = {"qdq": quantization.QuantFormat.QDQ, "qoperator": quantization.QuantFormat.QOperator}
WEIGHTS = {"s8": quantization.QuantType.QInt8, "u8": quantization.QuantType.QUInt8,
           "s4": quantization.QuantType.QInt4}


class Calibration(quantization.CalibrationDataReader):
    """The pictures in batches of one size, as its histograms need them."""

    def __init__(self, name, pictures):
        batch = BATCH if len(pictures) % BATCH == 0 else 1
        self.left = iter([{name: pictures[first:first + batch]} for first in range(0, len(pictures), batch)])

    def get_next(self):
        return next(self.left, None)


@contextlib.contextmanager
def without_chatter():
    with open(os.devnull, "w", encoding="utf8") as nowhere, contextlib.redirect_stdout(nowhere):
        logging.disable(logging.WARNING)
        yield
        logging.disable(logging.NOTSET)


def join_constants(graph):
    """Joins weights that a file has in parts: else ONNX Runtime's quantizer takes the parts for activations."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "Concat"]:
        if any(name not in constants for name in node.input):
            continue
        axis = next(attribute.i for attribute in node.attribute if attribute.name == "axis")
        parts = [numpy_helper.to_array(constants[name]) for name in node.input]
        graph.initializer.append(numpy_helper.from_array(np.concatenate(parts, axis), node.output[0]))
        graph.node.remove(node)
        for name in node.input:
            graph.initializer.remove(constants[name])


def prepare(model, target):
    """ONNX Runtime's own preparation of a float model, with its weights inside and in one piece each."""
    joined = onnx.load(str(model))
    join_constants(joined.graph)
    with without_chatter(), tempfile.TemporaryDirectory() as folder:
        onnx.save(joined, f"{folder}/joined.onnx")
        shape_inference.quant_pre_process(f"{folder}/joined.onnx", str(target), skip_symbolic_shape=True)


def quantize(prepared, way, pictures, target, ranges):
    """Writes `target` by quantize_static; (seconds, processor seconds) of it. `ranges`: a file of calibrated
    ranges, which is written where it is missing, and else spares the calibration."""
    name = onnx.load(str(prepared)).graph.input[0].name
    with without_chatter():
        begin = time.perf_counter(), time.process_time()
        quantization.quantize_static(
            str(prepared), str(target), Calibration(name, pictures), quant_format=FORMS[way.form],
            per_channel=way.granularity == "channel", activation_type=quantization.QuantType.QUInt8,
            weight_type=WEIGHTS[way.weights], calibrate_method=quantization.CalibrationMethod[way.method],
            calibration_cache_path=str(ranges))
        return time.perf_counter() - begin[0], time.process_time() - begin[1]


def opened(model, with_uint8_weights):
    """A session on one thread of a file's name or a model's bytes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if with_uint8_weights:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@functools.lru_cache(maxsize=None)
def needs_uint8_weights():
    """Whether this processor's kernels for uint8 data and int8 weights saturate at 16 bits."""
    return bool(worst_case.faults(lambda model: opened(model.SerializeToString(), False)))


def outputs(file, pictures):
    """[pictures, classes] float32 of a model with uint8 activations, or of a float one; exact."""
    session = opened(str(file), needs_uint8_weights())
    name = session.get_inputs()[0].name
    parts = [session.run(None, {name: pictures[first:first + BATCH]})[0]
             for first in range(0, len(pictures), BATCH)]
    return np.concatenate(parts)
