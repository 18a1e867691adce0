"""Writes the float ONNX model of a network that train.py trained, and its sidecar."""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from data import CLASS_NAMES, MEAN, STD
from float_weights import load_float_tensors
from resnet14 import BLOCKS, STEM
from vgg8 import LAYERS

OPSET = 13
IR_VERSION = 8
SHARD_BYTES = 4_000_000
CONV_ATTRIBUTES = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1]}
POOL_ATTRIBUTES = {"kernel_shape": [2, 2], "strides": [2, 2]}


class GraphBuilder:
    """A chain of named nodes from "image" to "logits"; `value` is the tensor that the next node reads."""

    def __init__(self):
        self.nodes = []
        self.initializers = []
        self.value = "image"

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op_type, name, inputs, output=None, domain="", **attributes):
        """Appends a node that reads `value` and then `inputs`, and makes its output the new `value`."""
        output = output or f"{name}.out"
        self.nodes.append(
            helper.make_node(op_type, [self.value, *inputs], [output], name=name, domain=domain, **attributes)
        )
        self.value = output

    def model(self, name, opsets):
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 32, 32])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", len(CLASS_NAMES)])
        graph = helper.make_graph(self.nodes, name, [image], [logits], self.initializers)
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="qsim models/train")


def add_float_weight(builder, name, array):
    """A constant, or the Concat of two halves along the output channels where a shard could not hold it."""
    if array.nbytes <= SHARD_BYTES:
        return builder.constant(name, array)
    halves = [builder.constant(f"{name}.{i}", half) for i, half in enumerate(np.array_split(array, 2))]
    builder.nodes.append(helper.make_node("Concat", halves, [name], name=f"{name}.concat", axis=0))
    return name


def build_vgg8(weights):
    """Conv, Relu, MaxPool, Flatten and Gemm."""
    builder = GraphBuilder()
    for spec in LAYERS:
        if spec.name == "fc1":
            builder.node("Flatten", "flatten", [], axis=1)
        inputs = [
            add_float_weight(builder, f"{spec.name}.weight", weights[f"{spec.name}.weight"]),
            builder.constant(f"{spec.name}.bias", weights[f"{spec.name}.bias"]),
        ]
        output = None if spec.relu else "logits"
        if spec.is_conv:
            builder.node("Conv", spec.name, inputs, output, **CONV_ATTRIBUTES)
        else:
            builder.node("Gemm", spec.name, inputs, output, transB=1)
        if spec.relu:
            builder.node("Relu", f"{spec.name}.relu", [])
        if spec.pool:
            builder.node("MaxPool", spec.pool, [], **POOL_ATTRIBUTES)
    return builder.model("vgg8-float", [helper.make_opsetid("", OPSET)])


def add_conv(builder, spec, weights, read):
    """A convolution of tensor `read`; returns the name of its output."""
    builder.value = read
    inputs = [builder.constant(f"{spec.name}.{part}", weights[f"{spec.name}.{part}"]) for part in ("weight", "bias")]
    attributes = {"kernel_shape": [spec.kernel] * 2, "strides": [spec.stride] * 2, "pads": [spec.pad] * 4}
    builder.node("Conv", spec.name, inputs, **attributes)
    return builder.value


def add_relu(builder, name):
    builder.node("Relu", f"{name}_relu", [])
    return builder.value


def add_block(builder, block, weights):
    """relu(conv2(relu(conv1(x))) + shortcut(x)) of the builder's tensor."""
    x = builder.value
    add_conv(builder, block.conv1, weights, x)
    y = add_conv(builder, block.conv2, weights, add_relu(builder, block.conv1.name))
    shortcut = add_conv(builder, block.shortcut, weights, x) if block.shortcut else x
    builder.value = y
    builder.node("Add", f"{block.name}_add", [shortcut])
    add_relu(builder, block.name)


def build_resnet14(weights):
    """Conv, Relu, Add, GlobalAveragePool, Flatten and Gemm."""
    builder = GraphBuilder()
    add_conv(builder, STEM, weights, builder.value)
    add_relu(builder, STEM.name)
    for block in BLOCKS:
        add_block(builder, block, weights)
    builder.node("GlobalAveragePool", "pool", [])
    builder.node("Flatten", "flatten", [], axis=1)
    fc = [builder.constant(f"fc.{part}", weights[f"fc.{part}"]) for part in ("weight", "bias")]
    builder.node("Gemm", "fc", fc, "logits", transB=1)
    return builder.model("resnet14", [helper.make_opsetid("", OPSET)])


BUILDERS = {"vgg8": build_vgg8, "resnet14": build_resnet14}


def move_weights_out(model, folder, stem):
    """Moves every initializer into "<stem>.data.<i>", in order, a new file where the next would pass SHARD_BYTES."""
    shards = [bytearray()]
    for tensor in model.graph.initializer:
        data = tensor.raw_data
        if shards[-1] and len(shards[-1]) + len(data) > SHARD_BYTES:
            shards.append(bytearray())
        location = {"location": f"{stem}.data.{len(shards) - 1}", "offset": len(shards[-1]), "length": len(data)}
        for key, value in location.items():
            tensor.external_data.add(key=key, value=str(value))
        tensor.data_location = TensorProto.EXTERNAL
        tensor.ClearField("raw_data")
        shards[-1] += data
    for index, shard in enumerate(shards):
        (folder / f"{stem}.data.{index}").write_bytes(shard)


def sidecar(network):
    """What qsim needs beside a model, float or int8, to feed it a picture and to name its answer."""
    per_channel = lambda value: f"[{', '.join([repr(value)] * 3)}]"
    return (
        f"# preprocessing and labels of {network}; mean and std are 128/255, so a pixel p becomes (p - 128) / 128\n"
        f"preprocess: {{resize: [32, 32], mean: {per_channel(MEAN)}, std: {per_channel(STD)}}}\n"
        f"labels: [{', '.join(CLASS_NAMES)}]\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=BUILDERS, default="vgg8")
    parser.add_argument("--weights", type=Path, required=True, help="<network>-float.npz of train.py, or a float .onnx")
    parser.add_argument("--out", type=Path, default=Path("."))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    model = BUILDERS[args.network](load_float_tensors(args.weights))
    file = f"{args.network}-float.onnx"
    if model.ByteSize() > SHARD_BYTES:
        move_weights_out(model, args.out, f"{args.network}-float")
    onnx.save(model, str(args.out / file))
    (args.out / file).with_suffix(".yaml").write_text(sidecar(args.network))


if __name__ == "__main__":
    main()
