"""Networks of which the array runs parts: `qsim run` gives ONNX Runtime's outputs, `qsim verify` finds no difference between
the engines, and `qsim inspect` says which part the array has. Scales are powers of two, so that float32 numbers are exact.
Runs in the environment of tools/ort/install.sh.

usage: hosted_test.py QSIM
"""
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

CONFIG = "pe16x16_dyadic"


class Network:
    """Nodes and constants; each method adds nodes and gives the name of what they write."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs = [], [], {}

    def input(self, name, *shape, dims=None):
        self.inputs[name] = (self.random.integers(-64, 64, shape).astype(np.float32) / 32, dims or shape)
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, *inputs, **attributes):
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def levels(self, x, scale=1 / 16, zero_point=np.uint8(100)):
        """QuantizeLinear and DequantizeLinear."""
        ends = [self.constant(np.float32(scale)), self.constant(zero_point)]
        return self.add("DequantizeLinear", self.add("QuantizeLinear", x, *ends), *ends)

    def weights(self, *shape):
        levels = self.random.integers(-20, 20, shape).astype(np.int8)
        return self.add("DequantizeLinear", self.constant(levels), self.constant(np.float32(1 / 64)), self.constant(np.int8(0)))

    def conv(self, x, channels, out, kernel=3, axes=2):
        size = [kernel] * axes
        y = self.add("Conv", x, self.weights(out, channels, *size), kernel_shape=size, pads=[kernel // 2] * 2 * axes)
        return self.levels(y)

    def for_host(self, x):
        """What the array does not have: pictures with rows and columns exchanged."""
        return self.levels(self.add("Transpose", x, perm=[0, 1, 3, 2]))

    def model(self, outputs):
        ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, (_, dims) in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "hosted", ends, [onnx.ValueInfoProto(name=name) for name in outputs],
                                  self.constants)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def gate(n):
    """As squeeze and excite: a product of two tensors between convolutions."""
    x = n.conv(n.levels(n.input("x", 1, 3, 8, 8)), 3, 8)
    weight = n.levels(n.add("GlobalAveragePool", x), 1 / 64)
    return 3, [n.conv(n.levels(n.add("Mul", x, n.conv(weight, 8, 8, 1))), 8, 4)]


def residual_over_host(n):
    """The sum has one operand of the array and one of the host."""
    x = n.conv(n.levels(n.input("x", 1, 3, 8, 8)), 3, 8)
    return 3, [n.conv(n.levels(n.add("Add", n.conv(x, 8, 8), n.for_host(x))), 8, 4)]


def residual_within(n):
    """Its skip is inside a part, which no host node cuts."""
    x = n.conv(n.for_host(n.levels(n.input("x", 1, 3, 8, 8))), 3, 8)
    return 1, [n.for_host(n.levels(n.add("Add", n.conv(x, 8, 8), x)))]


def two_ends(n):
    """Two inputs, and two outputs of which one is read as well."""
    a = n.conv(n.levels(n.input("a", 1, 3, 8, 8)), 3, 4)
    b = n.conv(n.levels(n.input("b", 1, 3, 8, 8)), 3, 4)
    both = n.levels(n.add("Max", a, b))
    return 3, [n.conv(both, 4, 4), a]


def lines(n):
    """Convolutions of one axis."""
    x = n.conv(n.levels(n.input("x", 2, 3, 16)), 3, 8, axes=1)
    return 1, [n.conv(x, 8, 4, kernel=5, axes=1)]


def rows(n):
    """Products of matrices of three axes with constants, and a bias."""
    x = n.levels(n.input("x", 2, 5, 16))
    y = n.levels(n.add("Add", n.add("MatMul", x, n.weights(16, 24)), n.constant(n.random.integers(-9, 9, 24).astype(np.float32) / 64)))
    return 1, [n.levels(n.add("MatMul", n.add("Relu", y), n.weights(24, 8)))]


def sums_between(n):
    """Sums along the last axis between two parts, and flattened pictures."""
    x = n.conv(n.levels(n.input("x", 1, 3, 4, 4)), 3, 4)
    flat = n.levels(n.add("CumSum", n.add("Reshape", x, n.constant(np.int64([1, -1]))), n.constant(np.int64(1))), 1)
    return 2, [n.levels(n.add("MatMul", flat, n.weights(64, 10)), 1 / 2)]


def transposed_weights(n):
    x = n.levels(n.input("x", 1, 3, 8, 8))
    y = n.levels(n.add("Conv", x, n.add("Transpose", n.weights(3, 3, 3, 8), perm=[3, 2, 0, 1]), pads=[1] * 4))
    return 1, [n.for_host(n.levels(y))]


def open_sizes(n):
    """Sizes that the input alone says."""
    x = n.conv(n.levels(n.input("x", 2, 3, 6, 10, dims=("n", 3, "h", "w"))), 3, 4)
    return 1, [n.for_host(x)]


def tables(n):
    """Functions of one byte, in one node and in several that each write levels, are tables: no node is left to the host."""
    x = n.conv(n.levels(n.input("x", 1, 3, 8, 8)), 3, 8)
    x = n.levels(n.add("Neg", n.levels(n.add("Abs", x))), zero_point=np.uint8(200))
    more = n.levels(n.add("Add", x, n.levels(n.constant(np.float32(3)))))
    bounded = n.levels(n.add("Clip", more, n.constant(np.float32(0)), n.constant(np.float32(6))))
    y = n.levels(n.add("Mul", x, bounded), 1 / 8)
    return 1, [n.conv(n.levels(n.add("Mul", y, n.levels(n.constant(np.float32(0.25))))), 8, 4)]


def channels(n):
    """A normalization and a factor a channel, which the array has as convolutions."""
    x = n.for_host(n.conv(n.levels(n.input("x", 1, 3, 8, 8)), 3, 8))
    numbers = [n.random.integers(-8, 9, 8).astype(np.float32) / 8 for _ in range(3)]
    numbers[0][0] = 0  # a channel that is its summand alone
    y = n.add("BatchNormalization", x, *map(n.constant, numbers), n.constant(np.full(8, 4, np.float32)), epsilon=0.0)
    y = n.levels(n.add("Relu", y))
    factor = n.constant(n.random.integers(-8, 9, (8, 1, 1)).astype(np.float32) / 8)
    return 2, [n.conv(n.levels(n.add("Add", n.add("Mul", y, factor), factor)), 8, 4)], 1


def moved_mean(n):
    """A mean whose numbers are moved before they become levels, and a Concat of one tensor."""
    x = n.conv(n.for_host(n.levels(n.input("x", 1, 3, 8, 8))), 3, 8)
    mean = n.add("Reshape", n.add("GlobalAveragePool", n.levels(n.add("Relu", x), 1 / 64, np.uint8(0))), n.constant(np.int64([1, 8])))
    return 1, [n.levels(n.add("Concat", n.levels(n.add("MatMul", n.levels(mean, 1 / 64, np.uint8(0)), n.weights(8, 10)), 1 / 64), axis=1))]


def own_biases(n):
    """A bias of int8 and of a scale of its own."""
    x = n.for_host(n.levels(n.input("x", 1, 3, 8, 8)))
    bias = n.add("DequantizeLinear", n.constant(n.random.integers(-99, 99, 8).astype(np.int8)), n.constant(np.float32(1 / 32)))
    return 1, [n.levels(n.add("Conv", x, n.weights(8, 3, 3, 3), bias))]


def large_pools(n):
    """A max-pool whose stride is cut into factors, and one of a whole picture."""
    x = n.conv(n.for_host(n.levels(n.input("x", 1, 3, 180, 160))), 3, 4)
    x = n.conv(n.add("MaxPool", x, kernel_shape=[9, 12], strides=[9, 8], pads=[0, 4, 0, 3]), 4, 8)
    return 1, [n.conv(n.add("GlobalMaxPool", x), 8, 10, 1)]


def one_of_two(n):
    """The first transposed convolution is the host's, as its Sigmoid does not read levels; the second is the array's."""
    x = n.levels(n.input("x", 1, 4, 6, 6))
    first = n.add("ConvTranspose", x, n.weights(4, 4, 3, 3), strides=[2, 2])
    y = n.levels(n.add("Sigmoid", first), 1 / 64, np.uint8(0))
    return 1, [n.levels(n.add("ConvTranspose", y, n.weights(4, 4, 3, 3), strides=[2, 2]))], 1


def phases(n, op, kernel, channels=4, out=6, size=9, group=1, scales=None, zero=None, bias=None, then=None, twice=False, pools=False,
           **attributes):
    """A convolution between levels whose strides the array does not have. `zero` is the zero_point of uint8 weights; `bias` is
    "float32" or "int32"; `then` is an operator before the QuantizeLinear; `pools` says that a mean of int8 is the convolution's
    input."""
    axes = len(kernel)
    x = n.levels(n.input("x", 2, channels, *[size + d for d in range(axes)]))
    if pools:
        x = n.levels(x, 1 / 10, np.int8(3))
        x = n.levels(n.add("AveragePool", x, kernel_shape=[2, 2]), 1 / 10, np.int8(3))
    elif not twice and axes == 2:
        x = n.for_host(x)
    transposed = op == "ConvTranspose"
    shape = [channels, out // group] if transposed else [out, channels // group]
    levels = n.random.integers(-20, 20, [*shape, *kernel])
    levels = levels.astype(np.int8) if zero is None else (levels + zero).astype(np.uint8)
    scale = np.float32(scales if scales is not None else 1 / 64)
    zeros = np.full(scale.shape, 0 if zero is None else zero, levels.dtype)
    weights = n.add("DequantizeLinear", n.constant(levels), n.constant(scale), n.constant(zeros), axis=1 if transposed else 0)
    inputs = [x, weights]
    if bias == "float32":
        inputs.append(n.constant(n.random.integers(-99, 99, out).astype(np.float32) / 64))
    elif bias:
        of_sums = np.tile(scale, out // scale.size) / 16 if scale.size > 1 else scale / 16
        zeros = [n.constant(np.int32(0))] if scale.size == 1 else []
        inputs.append(n.add("DequantizeLinear", n.constant(n.random.integers(-999, 999, out).astype(np.int32)),
                            n.constant(of_sums.astype(np.float32)), *zeros, axis=0))
    if op == "QLinearConv":
        made = {node.output[0]: list(node.input) for node in n.nodes}
        ends = made[x][1:]
        biases = [made[name][0] for name in inputs[2:]]
        y = n.add("DequantizeLinear", n.add(op, *made[x], *made[weights], *ends, *biases, group=group, **attributes), *ends)
    else:
        y = n.add(op, *inputs, group=group, **attributes)
        y = n.levels(y if then is None else then(n, y))
    parts = 1 + pools + (twice and transposed and then != sigmoid)
    return parts, [n.conv(y, out, 3, axes=axes)] if twice else [y], 16 if pools else 0  # each mean may be a step off


def phased(op, how):
    return functools.partial(phases, op=op, **how)


def clamped(n, y):
    return n.add("Clip", y, n.constant(np.float32(-1)), n.constant(np.float32(3)))


def relu(n, y):
    return n.add("Relu", y)


def sigmoid(n, y):
    """The array has it after levels alone."""
    return n.add("Sigmoid", y)


EVEN = 2.0 ** -np.arange(4, 10)  # a scale for each of six channels
TRANSPOSED = [
    dict(kernel=(2, 2), strides=[2, 2]),
    dict(kernel=(2, 2), strides=[2, 2], twice=True),
    dict(kernel=(2, 2), strides=[2, 2], scales=[1 / 64], bias="int32"),
    dict(kernel=(3, 3), strides=[2, 2], pads=[1] * 4, output_padding=[1, 1], then=relu),
    dict(kernel=(4, 4), strides=[2, 2], pads=[1] * 4, bias="int32", scales=EVEN),
    dict(kernel=(4, 4), strides=[2, 2], pads=[1] * 4, bias="float32", then=clamped),
    dict(kernel=(3, 3), pads=[1] * 4, bias="float32"),
    dict(kernel=(3, 2), pads=[0, 1, 2, 0], dilations=[2, 1], scales=EVEN),
    dict(kernel=(5, 5), strides=[3, 3], pads=[1, 0, 2, 3], zero=131),
    dict(kernel=(7, 7), strides=[2, 2], pads=[5, 6, 6, 5], zero=120, bias="int32"),
    dict(kernel=(16,), strides=[8], pads=[4, 4], bias="float32"),
    dict(kernel=(5,), strides=[4], group=2, output_padding=[1]),
    dict(kernel=(4, 4), strides=[2, 2], pads=[1] * 4, group=2, scales=EVEN[:3], bias="int32"),
    dict(kernel=(3, 3), strides=[2, 2], channels=6, group=6, zero=125),
    dict(kernel=(3, 4), strides=[2, 3], pads=[1, 0, 0, 1], scales=EVEN, bias="int32"),
    dict(kernel=(2, 2), strides=[3, 3], bias="float32"),
    dict(kernel=(3, 3), strides=[2, 2], dilations=[2, 1], zero=129),
    dict(kernel=(3, 3), strides=[2, 2], output_shape=[20, 19]),
    dict(kernel=(3, 3), strides=[2, 2], output_shape=[18, 20], auto_pad="SAME_UPPER"),
    dict(kernel=(3, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
    dict(kernel=(5, 4), strides=[2, 2], auto_pad="SAME_LOWER"),
    dict(kernel=(3, 3), strides=[2, 2], auto_pad="VALID", scales=[1 / 64], bias="int32", out=1),
    dict(kernel=(3, 3), strides=[2, 2], then=sigmoid, twice=True),
]
PATCHES = [
    dict(kernel=(16, 16), strides=[16, 16], size=64, channels=3),
    dict(kernel=(16, 16), strides=[16, 16], size=64, channels=3, twice=True, bias="int32", scales=EVEN),
    dict(kernel=(14, 14), strides=[14, 14], size=30, zero=131, bias="float32"),
    dict(kernel=(20, 20), strides=[16, 16], size=64, pads=[2, 1, 3, 4], zero=140),
    dict(kernel=(9, 20), strides=[8, 16], size=64, pads=[2, 1, 3, 4], then=relu),
    dict(kernel=(1, 16), strides=[1, 16], size=40, pads=[0, 3, 0, 0], zero=120),
    dict(kernel=(10, 10), strides=[8, 8], size=33, group=2, auto_pad="SAME_UPPER"),
    dict(kernel=(80,), strides=[4], size=300, channels=1, pads=[40, 40], scales=EVEN, bias="int32"),
    dict(kernel=(10,), strides=[10], size=47, group=2, auto_pad="SAME_LOWER", zero=125),
    dict(kernel=(6, 8), strides=[8, 8], dilations=[2, 1], size=40),
    dict(kernel=(8, 8), strides=[8, 8], size=65, pools=True),
    *(dict(kernel=(kernel, kernel), strides=[8, 8], size=48, auto_pad=mode)  # positions that no window reads
      for kernel in (4, 5, 6) for mode in ("SAME_UPPER", "SAME_LOWER")),
]
CASES = [gate, residual_over_host, residual_within, two_ends, lines, rows, sums_between, transposed_weights, open_sizes, tables,
         channels, moved_mean, own_biases, large_pools, one_of_two]


def run_onnxruntime(model, inputs, as_it_is=True):
    options = onnxruntime.SessionOptions()
    if as_it_is:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def fault_of_shapes(run, file, parts):
    """Without an input its sizes are options."""
    shape = ["--config", CONFIG, "--shape", "x=2x3x6x10"]
    done = run("inspect", *shape, file)
    if done.returncode or len(json.loads(run("inspect", *shape, file, "--json", "-").stdout)["parts"]) != parts:
        return f"inspect --shape: exit code {done.returncode}: {done.stderr.strip()}"
    done = run("run", *shape, "--no-data", "--model", file)
    if done.returncode:
        return f"run --shape: exit code {done.returncode}: {done.stderr.strip()}"
    done = run("profile", *shape, "--model", file, "--json", "-")
    if done.returncode or any(point["error"] for point in json.loads(done.stdout)["points"]):
        return f"profile --shape: exit code {done.returncode}: {done.stderr.strip()}"
    layer = json.loads(run("inspect", *shape, file, "--json", "-").stdout)["parts"][0]["first_layer"]
    done = run("explain", *shape, "--model", file, "--layer", layer)
    if done.returncode:
        return f"explain --shape: exit code {done.returncode}: {done.stderr.strip()}"
    for command in (["inspect", file], ["run", "--no-data", "--model", file], ["profile", "--model", file],
                    ["explain", "--model", file]):
        for wrong in ("x", "=1x3", "x=1x3", "x=1x0", "x=1y3", "z=1x3"):
            done = run(*command, "--shape", wrong)
            if done.returncode != 2:
                return f"{command[0]} --shape {wrong}: exit code {done.returncode}"
    return ""


def fault_of_phases(run, how, common, folder, expected):
    """The host has no products but of what the array refuses and, as ONNX Runtime, of what that runs in float32."""
    done = run("run", *common, "--as", "onnxruntime", "--out", folder / "as", "--json", folder / "as.json")
    if done.returncode or not np.array_equal(np.load(folder / "as/output.npy"), expected):
        return f"--as onnxruntime: exit code {done.returncode}, other bytes: {done.stderr.strip()}"
    then = how.get("then")
    for file, stays in (("run.json", then == sigmoid), ("as.json", then is not None or how["op"] == "ConvTranspose")):
        nodes = json.loads((folder / file).read_text())["host"]["nodes"]
        found = {node["operation"] for node in nodes if "Conv" in node["operation"]}
        if found != ({how["op"]} if stays else set()):
            return f"{file}: the host has {sorted(found)}"
    return ""


def fault_of(qsim, case, seed, folder):
    """What is wrong; "" where nothing is."""
    network = Network(seed)
    parts, outputs, *steps = case(network)
    model = network.model(outputs)
    onnx.save(model, folder / "m.onnx")
    inputs = {name: x for name, (x, _) in network.inputs.items()}
    for name, x in inputs.items():
        np.save(folder / f"{name}.npy", x)
    given = folder if len(inputs) > 1 else folder / f"{next(iter(inputs))}.npy"

    def run(*words):
        return subprocess.run([qsim, *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    common = ["--config", CONFIG, "--model", folder / "m.onnx", "--input", given]
    done = run("run", *common, "--out", folder / "out", "--json", folder / "run.json")
    if done.returncode:
        return f"run: exit code {done.returncode}: {done.stderr.strip()}"
    for i, expected in enumerate(run_onnxruntime(model, inputs)):
        found = np.load(folder / "out" / ("output.npy" if i == 0 else f"output_{i}.npy"))
        apart = np.abs(found - expected).max() * 16 if found.shape == expected.shape else np.inf
        if found.dtype != expected.dtype or apart > (steps or [0])[0]:
            return f"output {i}: {(found != expected).sum()} of {expected.size} differ, by {apart} steps"
        if len(np.unique(expected)) < 4:
            return f"output {i} is nearly constant, so that it proves nothing"
    found = json.loads((folder / "run.json").read_text())["host"]["parts"]
    if found != parts:
        return f"the array runs {found} parts; expected {parts}"
    if isinstance(case, functools.partial):
        fault = fault_of_phases(run, case.keywords, common, folder, run_onnxruntime(model, inputs, as_it_is=False)[0])
        if fault:
            return fault
    done = run("verify", *common, "--engines", "interpreter,systemc,recurrence")
    if done.returncode or ", 0 mismatches; start, free and done" not in done.stdout:
        return f"verify: exit code {done.returncode}: {done.stdout.strip().splitlines()[-1:]} {done.stderr.strip()}"
    if any(x.shape != dims for x, dims in network.inputs.values()):
        fault = fault_of_shapes(run, folder / "m.onnx", parts)
        if fault:
            return fault
    done = run("run", *common, "--no-host")
    return "" if done.returncode == 4 else f"--no-host: exit code {done.returncode}"


def main(qsim):
    onnxruntime.set_default_logger_severity(4)
    cases = [(case, seed) for case in CASES for seed in range(3)]
    cases += [(phased("ConvTranspose", how), seed) for seed, how in enumerate(TRANSPOSED)]
    cases += [(phased("Conv", how), seed) for seed, how in enumerate(PATCHES)]
    cases += [(phased("QLinearConv", how), seed) for seed, how in enumerate(PATCHES)
              if how.get("bias") != "float32" and not {"then", "pools"} & set(how)]
    wrong = 0
    for case, seed in cases:
        with tempfile.TemporaryDirectory() as name:
            fault = fault_of(qsim, case, seed, pathlib.Path(name))
        if fault:
            print(f"{getattr(case, '__name__', getattr(case, 'keywords', ''))}, seed {seed}: {fault}")
            wrong += 1
    print(f"{len(cases)} networks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
