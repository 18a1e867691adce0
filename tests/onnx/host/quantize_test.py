"""Float networks that no Graph holds: `qsim quantize` writes a file that onnx.checker takes, `qsim run` gives ONNX Runtime's
outputs of it within a step, and these are near the float network's. Runs in the environment of tools/ort/install.sh.

usage: quantize_test.py QSIM [CASE ...]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

SAMPLES = 24
LEAST_DB = 20


class Network:
    """Nodes and constants; each method adds nodes and gives the name of what they write."""

    def __init__(self, seed, opset=17):
        self.random = np.random.default_rng(seed)
        self.opset = opset
        self.nodes, self.constants, self.inputs = [], [], {}

    def input(self, name, *shape, dims=None):
        self.inputs[name] = (self.random.standard_normal((SAMPLES * shape[0], *shape[1:])).astype(np.float32), dims or shape)
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, *shape, scale=1.0, shift=0.0):
        return self.constant((self.random.standard_normal(shape) * scale + shift).astype(np.float32))

    def ints(self, *values):
        return self.constant(np.int64(values))

    def number(self, value):
        return self.constant(np.float32(value))

    def add(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [f"{op.lower()}{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"n{len(self.nodes)}", domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, channels, out, kernel=3, group=1, stride=1):
        weights = self.floats(out, channels // group, kernel, kernel, scale=(channels // group * kernel * kernel) ** -0.5)
        return self.add("Conv", x, weights, self.floats(out, scale=0.1), pads=[kernel // 2] * 4, group=group, strides=[stride] * 2)

    def silu(self, x):
        return self.add("Mul", x, self.add("Sigmoid", x))

    def norm(self, x, channels):
        values = [self.floats(channels, scale=0.2, shift=1), self.floats(channels, scale=0.1), self.floats(channels, scale=0.1),
                  self.constant(np.abs(self.random.standard_normal(channels)).astype(np.float32) + 0.5)]
        return self.add("BatchNormalization", x, *values)

    def linear(self, x, size, out, bias=True):
        y = self.add("MatMul", x, self.floats(size, out, scale=size ** -0.5))
        return self.add("Add", y, self.floats(out, scale=0.1)) if bias else y

    def layer_norm(self, x, size):
        return self.add("LayerNormalization", x, self.floats(size, scale=0.1, shift=1), self.floats(size, scale=0.1), axis=-1)

    def layer_norm_in_pieces(self, x, size):
        centred = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", self.add("Pow", centred, self.number(2)), axes=[-1])
        scaled = self.add("Div", centred, self.add("Sqrt", self.add("Add", variance, self.number(1e-5))))
        return self.add("Add", self.add("Mul", scaled, self.floats(size, scale=0.1, shift=1)), self.floats(size, scale=0.1))

    def model(self, outputs):
        ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, (_, dims) in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "net", ends, [onnx.ValueInfoProto(name=name) for name in outputs], self.constants)
        sets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, ir_version=8, opset_imports=sets)
        return onnx.shape_inference.infer_shapes(model)


# Each gives the nodes that the array must run at least one of ("" for none), and the outputs.
def silu(n):
    x = n.silu(n.norm(n.conv(n.input("x", 1, 3, 12, 12), 3, 8), 8))
    x = n.silu(n.norm(n.conv(x, 8, 8, group=8), 8))
    return [n.conv(n.add("Add", x, n.silu(n.conv(x, 8, 8, 1))), 8, 6)]


def squeeze_and_excite(n):
    x = n.add("HardSwish", n.norm(n.conv(n.input("x", 1, 3, 12, 12), 3, 8), 8))
    gate = n.add("HardSigmoid", n.conv(n.add("Relu", n.conv(n.add("GlobalAveragePool", x), 8, 4, 1)), 4, 8, 1))
    return [n.conv(n.add("Mul", x, gate), 8, 4)]


def transposed(n):
    x = n.add("Relu", n.conv(n.input("x", 1, 3, 8, 8), 3, 8))
    weights = n.floats(8, 6, 2, 2, scale=0.3)
    x = n.norm(n.add("ConvTranspose", x, weights, n.floats(6, scale=0.1), strides=[2, 2]), 6)
    grouped = n.add("ConvTranspose", n.add("Relu", x), n.floats(6, 2, 3, 3, scale=0.3), group=3, pads=[1] * 4)
    return [n.add("Sigmoid", n.conv(grouped, 6, 2))]


def resize(n):
    x = n.add("LeakyRelu", n.conv(n.input("x", 1, 3, 8, 8), 3, 8), alpha=0.1)
    small = n.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    back = n.add("Resize", n.silu(n.conv(small, 8, 8)), "", n.constant(np.float32([1, 1, 2, 2])), mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    smooth = n.add("Resize", n.conv(small, 8, 4), "", n.constant(np.float32([1, 1, 2, 2])), mode="linear")
    return [n.conv(n.add("Concat", x, back, smooth, axis=1), 20, 4)]


def transformer(n, norm="layer_norm", gelu="Gelu"):
    size, heads, tokens = 16, 2, 9
    x = n.linear(n.input("x", 1, tokens, 12), 12, size)
    x = n.add("Add", x, n.floats(1, tokens, size, scale=0.1))
    y = getattr(n, norm)(x, size)
    parts = n.add("Split", n.linear(y, size, 3 * size), outputs=3, axis=-1)
    shape = n.ints(0, 0, heads, size // heads)
    q, k, v = (n.add("Transpose", n.add("Reshape", part, shape), perm=[0, 2, 1, 3]) for part in parts)
    scores = n.add("Mul", n.add("MatMul", q, n.add("Transpose", k, perm=[0, 1, 3, 2])), n.number((size // heads) ** -0.5))
    mixed = n.add("Transpose", n.add("MatMul", n.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    x = n.add("Add", x, n.linear(n.add("Reshape", mixed, n.ints(0, 0, size)), size, size))
    y = n.linear(getattr(n, norm)(x, size), size, 32)
    if gelu == "erf":
        y = n.add("Mul", n.add("Mul", y, n.add("Add", n.add("Erf", n.add("Div", y, n.number(2 ** 0.5))), n.number(1))), n.number(0.5))
    else:
        y = n.add("Gelu", y, domain="com.microsoft")
    x = getattr(n, norm)(n.add("Add", x, n.linear(y, 32, size)), size)
    head = n.linear(n.add("Gather", x, n.constant(np.int64(0)), axis=1), size, 10)
    return [n.add("Softmax", head, axis=-1)]


def transformer_in_pieces(n):
    return transformer(n, "layer_norm_in_pieces", "erf")


def shuffle(n):
    x = n.add("Relu", n.conv(n.input("x", 1, 3, 8, 8), 3, 8))
    a, b = n.add("Split", x, outputs=2, axis=1)
    x = n.add("Concat", a, n.add("Relu", n.conv(b, 4, 4, group=4)), axis=1)
    x = n.add("Transpose", n.add("Reshape", x, n.ints(1, 2, 4, 8, 8)), perm=[0, 2, 1, 3, 4])
    x = n.conv(n.add("Reshape", x, n.ints(1, 8, 8, 8)), 8, 8)
    flat = n.add("Flatten", n.add("ReduceMean", n.add("Relu", x), axes=[2, 3], keepdims=0))
    return [n.add("Gemm", flat, n.floats(5, 8, scale=0.4), n.floats(5, scale=0.1), transB=1, alpha=0.5, beta=2.0)]


def two_inputs(n):
    a = n.add("Tanh", n.conv(n.input("a", 1, 3, 8, 8), 3, 4))
    b = n.add("Relu", n.conv(n.input("b", 1, 3, 8, 8), 3, 4))
    return [n.conv(n.add("Sub", a, b), 4, 4), n.add("GlobalAveragePool", n.add("Mul", a, b))]


def open_sizes(n):
    x = n.add("Elu", n.conv(n.input("x", 1, 3, 8, 10, dims=("n", 3, "h", "w")), 3, 4))
    return [n.conv(n.add("DepthToSpace", x, blocksize=2), 1, 2)]


def old_opset(n):
    n.opset = 9
    x = n.add("Clip", n.conv(n.input("x", 1, 3, 8, 8), 3, 8), min=0.0, max=6.0)
    x = n.add("Upsample", n.add("Pad", x, pads=[0, 0, 1, 1, 0, 0, 1, 1]), n.constant(np.float32([1, 1, 2, 2])), mode="nearest")
    x = n.silu(n.conv(n.add("Slice", x, axes=[2, 3], starts=[0, 0], ends=[12, 12]), 8, 4))
    vector = n.add("Squeeze", n.add("GlobalAveragePool", x), axes=[2, 3])
    return [n.add("Softmax", n.add("Gemm", vector, n.floats(4, 6), n.floats(6)), axis=1)]


CASES = [silu, squeeze_and_excite, transposed, resize, transformer, transformer_in_pieces, shuffle, two_inputs, open_sizes, old_opset]
OPTIONS = [[], ["--scale-kind", "dyadic", "--granularity", "tensor"], ["--activations", "s8", "--symmetry", "symmetric"],
           ["--weight-symmetry", "affine", "--clipping", "min_max"]]


def session_of(model, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def decibels(real, found):
    lost = np.square(real - found).sum()
    return np.inf if lost == 0 else 10 * np.log10(np.square(real).sum() / lost)


def fault_of(qsim, case, seed, folder):
    """What is wrong; "" where nothing is."""
    level = onnxruntime.GraphOptimizationLevel
    network = Network(seed)
    outputs = case(network)
    model = network.model(outputs)
    onnx.save(model, folder / "m.onnx")
    (folder / "samples").mkdir()
    sizes = {name: next(d for d in dims if isinstance(d, int)) for name, (_, dims) in network.inputs.items()}
    for name, (x, _) in network.inputs.items():
        np.save(folder / "samples" / f"{name}.npy", x)
        np.save(folder / f"{name}.npy", x[:1])
    many = len(network.inputs) > 1
    first = next(iter(sizes))

    def run(*words):
        return subprocess.run([qsim, *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    calibrate = folder / "samples" if many else folder / "samples" / f"{first}.npy"
    done = run("quantize", folder / "m.onnx", "--calibrate", calibrate, "-o", folder / "q.onnx", "--json", folder / "q.json",
               *OPTIONS[seed % len(OPTIONS)])
    if done.returncode:
        return f"quantize: exit code {done.returncode}: {done.stderr.strip()}"
    if "next: qsim run --config pe16x16_dyadic --model " not in done.stdout:
        return "quantize does not name the next command"
    report = json.loads((folder / "q.json").read_text())
    quantized = onnx.load(folder / "q.onnx")
    onnx.checker.check_model(quantized)
    feed = {name: x[:1] for name, (x, _) in network.inputs.items()}
    real = session_of(str(folder / "m.onnx"), level.ORT_ENABLE_ALL).run(None, feed)
    plain = session_of(str(folder / "q.onnx"), level.ORT_DISABLE_ALL).run(None, feed)
    for name in [value.name for value in quantized.graph.output]:
        if name not in outputs:
            return f"output '{name}' has another name in the float file"
    done = run("run", "--config", "pe16x16_dyadic", "--as", "onnxruntime", "--model", folder / "q.onnx", "--input",
               folder if many else folder / f"{first}.npy", "--out", folder / "out", "--json", folder / "run.json")
    if done.returncode:
        return f"run: exit code {done.returncode}: {done.stderr.strip()}"
    for i, (expected, wanted) in enumerate(zip(plain, real)):
        found = np.load(folder / "out" / ("output.npy" if i == 0 else f"output_{i}.npy"))
        if found.dtype != expected.dtype or found.shape != expected.shape:
            return f"output {i}: {found.dtype} {found.shape}"
        steps = np.unique(np.sort(expected.ravel()))
        step = np.diff(steps).min() if steps.size > 1 else 0
        far = np.abs(found - expected) > max(step * 1.01, np.abs(expected).max() * 2 / 255)
        if far.any():
            return f"output {i}: {far.sum()} of {far.size} values are more than a step from ONNX Runtime's"
        lost = decibels(wanted, expected)
        if not lost >= LEAST_DB:
            return f"output {i}: {lost:.1f} dB from the float network"
        if np.unique(expected).size < 4:
            return f"output {i} is nearly constant, so that it proves nothing"
    if not float(report["output_sqnr_db"]) >= LEAST_DB:
        return f"the report says {report['output_sqnr_db']} dB"
    print(f"{case.__name__} {seed}: {report['output_sqnr_db']} dB, {report['array_parts']} parts, "
          f"{report['macs_on_the_array']} MACs, {report['operations_on_the_host']} operations on the host")
    return "" if report["macs_on_the_array"] > 0 else "the array has nothing to do"


def main(qsim, *names):
    onnxruntime.set_default_logger_severity(4)
    wrong = 0
    cases = [case for case in CASES if not names or case.__name__ in names]
    for case in cases:
        for seed in range(len(OPTIONS)):
            with tempfile.TemporaryDirectory() as name:
                fault = fault_of(qsim, case, seed, pathlib.Path(name))
            if fault:
                print(f"{case.__name__}, seed {seed}: {fault}")
                wrong += 1
    print(f"{len(OPTIONS) * len(cases)} networks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
