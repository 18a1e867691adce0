"""Makes a qsim layer trace from an int8 ONNX model: every intermediate tensor comes from ONNX Runtime.

usage: trace.py MODEL.onnx FOLDER [INPUT.npy]

The model is a chain of QuantizeLinear, QLinearConv, MaxPool, Relu, Flatten, QGemm (com.microsoft) and
DequantizeLinear with scales that are powers of two. INPUT.npy is in the model's own layout; without it a
seeded random input is taken. docs/reference/files.md describes the folder.
"""
import math
import pathlib
import sys

import numpy as np
import onnx
import yaml
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/ort"))
import exact_session  # noqa: E402  # a plain session is wrong on some processors


def run_every_node(model, feeds):
    """Name -> array for every node output of the model, computed by ONNX Runtime."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    inferred = onnx.shape_inference.infer_shapes(model)
    element_types = {v.name: v.type.tensor_type.elem_type
                     for v in [*inferred.graph.value_info, *model.graph.output]}
    del model.graph.output[:]
    names = [name for node in model.graph.node for name in node.output]
    for node in model.graph.node:
        for name in node.output:
            # com.microsoft operators are not inferred; they give the type of their zero_point.
            kind = element_types.get(name) or zero_point_type(model, node.input[-1])
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, kind, None))
    return dict(zip(names, exact_session.open_session(model).run(names, feeds)))


def zero_point_type(model, name):
    return next(t.data_type for t in model.graph.initializer if t.name == name)


def file_name(name):
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)


def exponent(scale):
    """e of scale = 2^-e."""
    mantissa, power = math.frexp(np.asarray(scale).item())
    assert mantissa == 0.5, f"scale {scale} is not a power of two"
    return 1 - power


def nhwc(tensor):
    return np.ascontiguousarray(tensor.transpose(0, 2, 3, 1) if tensor.ndim == 4 else tensor)


class Tracer:
    """Walks the chain of nodes and writes the folder."""

    def __init__(self, model, tensors, folder):
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.tensors = tensors
        self.folder = folder
        self.layers = []
        self.input = None
        self.quantization = None  # zero_point and scale_exponent of what the next node reads

    def save(self, name, array):
        np.save(self.folder / name, array)
        return name

    def quantization_of(self, scale, zero_point):
        return {"zero_point": self.constants[zero_point].item(),
                "scale_exponent": exponent(self.constants[scale])}

    def add(self, node, fields):
        stem = f"{len(self.layers)}_{file_name(node.name)}"
        ofmap = self.save(f"{stem}.ofmap.npy", nhwc(self.tensors[node.output[0]]))
        weights = {key: self.save(f"{stem}.{key}.npy", fields.pop(key))
                   for key in ("weights", "bias") if key in fields}
        self.layers.append({"name": node.name, **fields, **weights, **self.quantization, "ofmap": ofmap})

    def shifts(self, x_exponent, weight_scale, y_exponent):
        scales = np.atleast_1d(self.constants[weight_scale])
        return [x_exponent + exponent(scale) - y_exponent for scale in scales]

    def visit(self, node):
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        getattr(self, node.op_type.lower())(node, attributes)

    def quantizelinear(self, node, _):
        self.quantization = self.quantization_of(node.input[1], node.input[2])
        self.input = {"file": self.save("input.npy", nhwc(self.tensors[node.output[0]])),
                      **self.quantization}

    def qlinearconv(self, node, attributes):
        weights = self.constants[node.input[3]]
        bias = (self.constants[node.input[8]] if len(node.input) > 8
                else np.zeros(len(weights), np.int32))
        x_exponent = self.quantization["scale_exponent"]
        self.quantization = self.quantization_of(node.input[6], node.input[7])
        self.add(node, {
            "op": "conv2d",
            "stride": list(attributes.get("strides", [1, 1])),
            "pads": list(attributes.get("pads", [0, 0, 0, 0])),
            "shifts": self.shifts(x_exponent, node.input[4], self.quantization["scale_exponent"]),
            "weights": nhwc(weights), "bias": bias})

    def qgemm(self, node, attributes):
        weights = self.constants[node.input[3]]
        x_exponent = self.quantization["scale_exponent"]
        self.quantization = self.quantization_of(node.input[7], node.input[8])
        self.add(node, {
            "op": "fully_connected",
            "shifts": self.shifts(x_exponent, node.input[4], self.quantization["scale_exponent"]),
            "weights": np.ascontiguousarray(weights if attributes.get("transB") else weights.T),
            "bias": self.constants[node.input[6]].reshape(-1)})

    def maxpool(self, node, attributes):
        self.add(node, {"op": "max_pool", "kernel": list(attributes["kernel_shape"]),
                        "stride": list(attributes.get("strides", [1, 1])),
                        "pads": list(attributes.get("pads", [0, 0, 0, 0]))})

    def relu(self, node, _):
        self.add(node, {"op": "relu"})

    def flatten(self, node, _):
        self.add(node, {"op": "flatten", "order": "chw"})

    def dequantizelinear(self, node, _):
        pass  # the trace ends with the last int8 tensor


def random_input(model):
    value = model.graph.input[0]
    shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    model = onnx.load(arguments[0])
    folder = pathlib.Path(arguments[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trace.yaml").unlink(missing_ok=True)  # of an older trace: its tensors are going
    feed = np.load(arguments[2]) if len(arguments) == 3 else random_input(model)
    tracer = Tracer(model, run_every_node(model, {model.graph.input[0].name: feed}), folder)
    for node in model.graph.node:
        tracer.visit(node)
    trace = {"schema": "qsim.trace/1", "name": pathlib.Path(arguments[0]).stem,
             "input": tracer.input, "layers": tracer.layers}
    # Last, and at once: this file says that the tensors are whole.
    unfinished = folder / ".trace.yaml.part"
    unfinished.write_text(yaml.safe_dump(trace, sort_keys=False, default_flow_style=None))
    unfinished.replace(folder / "trace.yaml")
    print(f"{len(tracer.layers)} layers of {arguments[0]} in {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
