"""Random quantized graphs with branches, and ONNX Runtime's outputs: a witness for the importer and golden.

usage: random_dag.py FOLDER COUNT [SEED]
Writes FOLDER/dag_N.KIND.onnx, .input.npy and .output.npy. KIND is `exact`, or `pools` where the graph has an
average pool, which qsim rounds once (docs/reference/onnx.md). Graph N follows from SEED and N alone. Half of
the graphs of uint8 data are QDQ, the others QOperator.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools/ort"))
import exact_session  # noqa: E402
from dag_parts import F, Parts, Tensor  # noqa: E402

MOST_ELEMS = 4096


class Builder(Parts):
    """A graph that grows by a random operator a step."""

    def conv(self):
        x = self.pick(self.pictures())
        channels, height, width = x.shape
        groups = channels if self.chance(0.25) else (2 if channels % 2 == 0 and self.chance(0.3) else 1)
        out_channels = groups * self.integer(1, 3 if groups > 1 else 8)
        kernel = (self.integer(1, 4), self.integer(1, 4))
        dilations = (self.integer(1, 2), self.integer(1, 2))
        pads = [self.integer(0, 2) for _ in range(4)]
        strides = (self.integer(1, 2), self.integer(1, 2))
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        size = [(n + pads[i] + pads[i + 2] - reach[i]) // strides[i] + 1 for i, n in enumerate((height, width))]
        if min(size) < 1 or min(height + pads[0] + pads[2] - reach[0], width + pads[1] + pads[3] - reach[1]) < 0:
            return None
        array, scales, zeros = self.weights((out_channels, channels // groups, *kernel), channels // groups)
        out = self.layer_output((out_channels, *size), x, scales, array)
        return self.layer(("QLinearConv", "", "Conv"), x, array, scales, zeros, out, self.chance(0.7), 0,
                          kernel_shape=kernel, dilations=dilations, pads=pads, strides=strides, group=groups)

    def dense(self):
        x = self.pick(self.tensors)
        if len(x.shape) == 3:
            flat = Tensor(self.name("t"), (int(np.prod(x.shape)),), x.scale, x.zero_point)
            self.node("Flatten", [x.name], flat.name, axis=1)
            x = flat
        outputs = self.integer(1, 12)
        array, scales, zeros = self.weights((outputs, x.shape[0]), x.shape[0])
        out = self.layer_output((outputs,), x, scales, array)
        if self.chance(0.3):
            if scales.size > 1:  # QLinearMatMul and MatMul: per tensor here
                scales, zeros = scales[:1], zeros[:1]
            turned = np.ascontiguousarray(array.T)
            return self.layer(("QLinearMatMul", "", "MatMul"), x, turned, scales, zeros, out, False, 1)
        transposed = self.chance(0.5)
        if not transposed:
            scales, zeros = scales[:1], zeros[:1]
            array = np.ascontiguousarray(array.T)
        return self.layer(("QGemm", "com.microsoft", "Gemm"), x, array, scales, zeros, out, self.chance(0.7),
                          0 if transposed else 1, transB=int(transposed))

    def add(self):
        a = self.pick(self.tensors)
        b = self.pick([t for t in self.tensors if t.shape == a.shape])
        out = self.tensor(a.shape, self.scale(float(a.scale + b.scale) / 1.5))
        if self.qdq:
            return self.float_node("Add", [self.dequantized(a), self.dequantized(b)], out)
        self.node("QLinearAdd", [a.name, *self.quantization(a), b.name, *self.quantization(b), *self.quantization(out)],
                  out.name, domain="com.microsoft")
        return self.keep(out)

    def concat(self):
        first = self.pick(self.pictures())
        same = [t for t in self.pictures() if t.shape[1:] == first.shape[1:]]
        tensors = [first] + [self.pick(same) for _ in range(self.integer(1, 2))]
        out = self.tensor((sum(t.shape[0] for t in tensors), *first.shape[1:]), max(t.scale for t in tensors))
        if self.chance(0.3):
            out.scale, out.zero_point = first.scale, first.zero_point
        if self.qdq:
            return self.float_node("Concat", [self.dequantized(t) for t in tensors], out, axis=1)
        inputs = self.quantization(out)
        for t in tensors:
            inputs += [t.name, *self.quantization(t)]
        self.node("QLinearConcat", inputs, out.name, domain="com.microsoft", axis=1)
        return self.keep(out)

    def window(self, x):
        kernel = [self.integer(1, min(4, n)) for n in x.shape[1:]]
        pads = [self.integer(0, k - 1) for k in kernel * 2]
        strides = (self.integer(1, 2), self.integer(1, 2))
        size = [(n + pads[i] + pads[i + 2] - kernel[i]) // strides[i] + 1 for i, n in enumerate(x.shape[1:])]
        return {"kernel_shape": kernel, "pads": pads, "strides": strides}, (x.shape[0], *size)

    def max_pool(self):
        x = self.pick(self.pictures())
        attributes, shape = self.window(x)
        out = Tensor(self.name("t"), shape, x.scale, x.zero_point)
        if self.qdq:
            return self.float_node("MaxPool", [self.dequantized(x)], out, **attributes)
        self.node("MaxPool", [x.name], out.name, **attributes)
        return self.keep(out)

    def average_pool(self):
        x = self.pick(self.pictures())
        self.has_pool = True
        if self.chance(0.4):
            out = self.tensor((x.shape[0], 1, 1), self.scale(float(x.scale) / 2))
            if self.qdq:
                return self.float_node("GlobalAveragePool", [self.dequantized(x)], out)
            self.node("QLinearGlobalAveragePool", [x.name, *self.quantization(x), *self.quantization(out)], out.name,
                      domain="com.microsoft", channels_last=0)
            return self.keep(out)
        attributes, shape = self.window(x)
        attributes["count_include_pad"] = self.integer(0, 1)
        out = self.tensor(shape, self.scale(float(x.scale) / 2))
        if self.qdq:
            return self.float_node("AveragePool", [self.dequantized(x)], out, **attributes)
        self.node("QLinearAveragePool", [x.name, *self.quantization(x), *self.quantization(out)], out.name,
                  domain="com.microsoft", **attributes)
        return self.keep(out)

    def activation(self):
        x = self.pick(self.tensors)
        out = self.tensor(x.shape, self.scale(float(x.scale) / 1.5))
        if not self.qdq and self.chance(0.4):
            kind, attributes = (("QLinearLeakyRelu", {"alpha": float(F(self.random.uniform(0.01, 0.6)))})
                                if self.chance(0.5) else ("QLinearSigmoid", {}))
            if kind == "QLinearSigmoid":
                out.scale = F(1 / 256)
            self.node(kind, [x.name, *self.quantization(x), *self.quantization(out)], out.name,
                      domain="com.microsoft", **attributes)
            return self.keep(out)
        kind = self.random.choice(["Relu", "Clip", "LeakyRelu", "Sigmoid", "HardSigmoid", "HardSwish", "PRelu"])
        bounds = [self.constant(F(0), "low"), self.constant(F(6), "high")] if kind == "Clip" else []
        if kind == "PRelu":
            slopes = self.random.uniform(-0.5, 1.5, (x.shape[0], *[1] * (len(x.shape) - 1)))
            bounds = [self.constant(slopes.astype(F), "slope")]
        attributes = {"alpha": float(F(self.random.uniform(0.01, 0.6)))} if kind in ("LeakyRelu", "HardSigmoid") else {}
        if "igmoid" in kind:
            out.scale = F(1 / 200)
        return self.float_node(str(kind), [self.dequantized(x), *bounds], out, **attributes)

    def pad(self):
        x = self.pick(self.pictures())
        amounts = [0, 0, self.integer(0, 2), self.integer(0, 2)]
        amounts += [0, 0, self.integer(0, 2), self.integer(1, 2)]
        shape = (x.shape[0], x.shape[1] + amounts[2] + amounts[6], x.shape[2] + amounts[3] + amounts[7])
        out = Tensor(self.name("t"), shape, x.scale, x.zero_point)
        pads = self.constant(np.asarray(amounts, np.int64), "pads")
        if self.qdq:
            return self.float_node("Pad", [self.dequantized(x), pads], out)
        self.node("Pad", [x.name, pads, self.constant(np.asarray(x.zero_point, self.dtype), "fill")], out.name)
        return self.keep(out)

    def tail(self):
        """Softmax and ArgMax at the end of vectors: what the host computes."""
        x = self.tensors[-1]
        if self.chance(0.6):
            out = Tensor(self.name("t"), x.shape, 1 / 256, np.iinfo(self.dtype).min)
            if self.qdq:
                x = self.float_node("Softmax", [self.dequantized(x)], out, axis=-1)
            else:
                self.node("QLinearSoftmax", [x.name, *self.quantization(x), *self.quantization(out)], out.name,
                          domain="com.microsoft", axis=-1, opset=13)
                x = self.keep(out)
        if self.chance(0.3):
            keeps = self.integer(0, 1)
            out = Tensor(self.name("t"), (1,) if keeps else (), 1, 0)
            self.node("ArgMax", [x.name], out.name, axis=1, keepdims=keeps)
            self.is_index = True
            self.keep(out)

    def step(self):
        kinds = [self.conv] * 5 + [self.add] * 3 + [self.concat] * 2 + [self.max_pool, self.activation, self.activation,
                                                                        self.pad, self.average_pool]
        if self.chance(0.15):
            kinds = [self.dense]
        out = kinds[self.integer(0, len(kinds) - 1)]()
        if out is not None and int(np.prod(out.shape)) > MOST_ELEMS:
            self.tensors.pop()  # computed, but no basis of larger ones

    def model(self):
        """The last tensor that nothing reads is the output."""
        read = {name for node in self.nodes for name in node.input}
        loose = [t for t in self.tensors if t.name not in read and t is not self.input]
        final = (loose or self.tensors)[-1]
        kinds = {np.uint8: onnx.TensorProto.UINT8, np.int8: onnx.TensorProto.INT8}
        output_kind = onnx.TensorProto.INT64 if self.is_index else kinds[self.dtype]
        graph = helper.make_graph(
            self.nodes, "dag", [helper.make_tensor_value_info("x", kinds[self.dtype], [2, *self.input.shape])],
            [helper.make_tensor_value_info(final.name, output_kind, [2, *final.shape])], self.constants)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 14),
                                                                     helper.make_opsetid("com.microsoft", 1)])


def ancestors(model):
    """The model with the nodes alone that its output depends on, and their operators."""
    needed, kept = {model.graph.output[0].name}, []
    for node in reversed(model.graph.node):
        if node.output[0] in needed:
            needed.update(node.input)
            kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(kept))
    constants = [tensor for tensor in model.graph.initializer if tensor.name in needed]
    del model.graph.initializer[:]
    model.graph.initializer.extend(constants)
    return {node.op_type for node in kept}


def random_model(seed):
    """(model, kind, input) of the first graph of `seed` that computes anything from its input."""
    for attempt in range(100):
        builder = Builder([seed, attempt])
        for _ in range(builder.integer(2, 12)):
            builder.step()
        if len(builder.tensors) < 2:
            continue
        if len(builder.tensors[-1].shape) == 1 and builder.tensors[-1].shape[0] > 3 and builder.chance(0.7):
            builder.tail()
        model = builder.model()
        operators = ancestors(model)
        if "x" not in {name for node in model.graph.node for name in node.input}:
            continue
        pools = any("AveragePool" in kind for kind in operators)
        info = np.iinfo(builder.dtype)
        data = builder.random.integers(info.min, info.max + 1, (2, *builder.input.shape)).astype(builder.dtype)
        return model, "pools" if pools else "exact", data
    raise RuntimeError(f"no graph for seed {seed}")


def main(words):
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    folder, count, seed = pathlib.Path(words[0]), int(words[1]), int(words[2]) if len(words) == 3 else 0
    folder.mkdir(parents=True, exist_ok=True)
    refused = 0
    for number in range(count):
        model, kind, data = random_model(seed * 1_000_000 + number)
        file = folder / f"dag_{number:05}.{kind}.onnx"
        try:
            output = exact_session.open_session(model).run(None, {"x": data})[0]
        except Exception as error:  # pylint: disable=broad-exception-caught  # of ONNX Runtime's many
            refused += 1
            print(f"{file.name}: ONNX Runtime refuses it: {str(error).splitlines()[0]}")
            continue
        onnx.save(model, file)
        np.save(file.with_suffix(".input.npy"), data)
        np.save(file.with_suffix(".output.npy"), output.astype(np.int32) if output.dtype == np.int64 else output)
    print(f"seed {seed}: {count - refused} graphs, {refused} refused by ONNX Runtime")


if __name__ == "__main__":
    main(sys.argv[1:])
