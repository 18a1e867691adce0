"""Networks with a host in every command: `qsim eval` counts what ONNX Runtime's outputs give for the same prepared pictures,
`qsim golden run` writes the bytes of `qsim run`, `profile` counts the cycles of `run`, the commands that take no host say so in
one line, and the estimate of the host's time is what the report's numbers give. Runs in the environment of
tools/ort/install.sh.

usage: everywhere_test.py QSIM [CASE]...
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import hosted_test  # noqa: E402

PICTURES, CLASSES = 40, 10
NAMES = [f"name{i}" for i in range(CLASSES)]
SIDECAR = "preprocess: {resize: [32, 32], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n"


class Fault(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Fault(what)


def classifier(seed, dims=None, levels_out=False, levels_in=False, phases=False):
    """A gate, as squeeze and excite, before a layer of ten classes; and so that the answer depends on the picture."""
    n = hosted_test.Network(seed)
    if levels_in:
        n.inputs["x"] = (np.zeros((1, 3, 32, 32), np.uint8), (1, 3, 32, 32))
        x = n.add("DequantizeLinear", "x", n.constant(np.float32(1 / 32)), n.constant(np.uint8(120)))
    else:
        x = n.levels(n.input("x", 1, 3, 32, 32, dims=dims), 1 / 32)
    x = n.conv(x, 3, 8)
    if phases:  # patches, and a picture of them again
        y = n.levels(n.add("Conv", x, n.weights(8, 8, 8, 8), strides=[8, 8]))
        x = n.levels(n.add("Add", x, n.levels(n.add("ConvTranspose", y, n.weights(8, 8, 8, 8), strides=[8, 8]))), 1 / 8)
    weight = n.levels(n.add("GlobalAveragePool", x), 1 / 64)
    x = n.conv(n.levels(n.add("Mul", x, n.conv(weight, 8, 8, 1)), 1 / 16), 8, 8)
    x = n.add("MaxPool", x, kernel_shape=[8, 8], strides=[8, 8])
    flat = n.levels(n.add("Abs", n.add("Reshape", x, n.constant(np.int64([1, -1])))), 1 / 16)
    y = n.add("MatMul", flat, n.weights(128, CLASSES))
    if levels_out:
        y = n.add("QuantizeLinear", y, n.constant(np.float32(1 / 2)), n.constant(np.uint8(100)))
    else:
        y = n.levels(y, 1 / 2)
    model = n.model([y])
    if levels_in:
        model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    return model


def float_classifier(seed, bias=np.zeros(CLASSES)):
    """Operators that qsim's float graph does not have."""
    random = np.random.default_rng(seed)
    weights = numpy_helper.from_array(random.normal(0, 0.5, (8, 3, 5, 5)).astype(np.float32), "w")
    last = numpy_helper.from_array(random.normal(0, 1, (8, CLASSES)).astype(np.float32), "l")
    bias = numpy_helper.from_array(np.asarray(bias, np.float32), "b")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], strides=[4, 4], name="conv"),
             helper.make_node("Selu", ["c"], ["s"], name="selu"),
             helper.make_node("ReduceL2", ["s"], ["r"], axes=[2, 3], keepdims=0, name="norm"),
             helper.make_node("Einsum", ["r", "l"], ["p"], equation="nc,ck->nk", name="product"),
             helper.make_node("Add", ["p", "b"], ["y"], name="add")]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
            for name, dims in (("x", [1, 3, 32, 32]), ("y", [1, CLASSES]))]
    return helper.make_model(helper.make_graph(nodes, "float", ends[:1], ends[1:], [weights, last, bias]), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 13)])


class Folder:
    """Where qsim runs, with pictures and labels as a CIFAR-10 batch."""

    def __init__(self, qsim, path):
        self.qsim, self.path = qsim, path
        records = np.random.default_rng(3).integers(0, 256, (PICTURES, 3073), np.uint8)
        # Pictures of other brightness, so that they have other classes.
        records[:, 1:] = records[:, 1:] // 4 + (np.arange(PICTURES) * 191 // PICTURES)[:, None].astype(np.uint8)
        records[:, 0] %= CLASSES
        (path / "b.bin").write_bytes(records.tobytes())
        self.labels = records[:, 0].astype(int)
        pixels = records[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32)
        self.inputs = (pixels / np.float32(255) - np.float32(0.5)) / np.float32(0.25)

    def save(self, name, model, labels=NAMES):
        onnx.save(model, self.path / f"{name}.onnx")
        (self.path / f"{name}.yaml").write_text(SIDECAR + f"labels: [{', '.join(labels)}]\n")

    def run(self, words, code=0):
        done = subprocess.run([self.qsim, *words.split()], cwd=self.path, text=True, capture_output=True)
        require(done.returncode == code, f"{words}: exit code {done.returncode}: {done.stderr.strip()}")
        return done

    def json(self, words):
        self.run(words + " --json found.json")
        return json.loads((self.path / "found.json").read_text())


def outputs_of(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"x": x[None]})[0] for x in inputs])


def levels(inputs):
    return np.clip(np.rint(inputs * np.float32(32)) + 120, 0, 255).astype(np.uint8)


def check_counts(found, outputs, labels):
    order = np.argsort(-outputs.astype(np.float64), axis=1, kind="stable")
    require(len(np.unique(order[:, 0])) >= 3, "nearly all pictures have one class, so that it proves nothing")
    for engine in found["engines"]:
        require(engine["pictures"] == len(labels), "not all pictures were judged")
        require(engine["top1_correct"] == (order[:, 0] == labels).sum(), f"{engine['engine']}: top-1")
        require(engine["top5_correct"] == (order[:, :5] == labels[:, None]).any(1).sum(), f"{engine['engine']}: top-5")
    return order[:, 0]


def eval_counts(folder, seed):
    for name, how, inputs in (("fixed", {}, folder.inputs), ("open", {"dims": ("n", 3, "h", "w")}, folder.inputs),
                              ("levels", {"levels_out": True}, folder.inputs), ("phases", {"phases": True}, folder.inputs),
                              ("from", {"levels_in": True}, levels(folder.inputs))):
        model = classifier(seed, **how)
        folder.save(name, model)
        outputs = outputs_of(model, inputs)
        # A SystemC run of a picture takes long; golden is compared with it elsewhere too.
        few = " --pictures 6 --seed 1" if name != "fixed" else ""
        words = f"eval --model {name}.onnx --data b.bin --set requantizer=dyadic --out o_{name}"
        found = folder.json(f"{words} --engines golden --jobs 3")
        best = check_counts(found, outputs, folder.labels)
        require(np.array_equal(np.load(folder.path / f"o_{name}/predictions.npy")[0], best), f"{name}: predictions")
        require(np.array_equal(np.load(folder.path / f"o_{name}/outputs.npy")[0], outputs.astype(np.float32)), f"{name}: outputs")
        both = folder.json(f"eval --model {name}.onnx --data b.bin --engines golden,systemc{few}")
        pair = both["pairs"][0]
        require(pair["differing_outputs"] == 0 and pair["same_top1"] == both["data"]["pictures"], f"{name}: engines differ")
    found = folder.json("eval --model fixed.onnx --against levels.onnx --data b.bin --as onnxruntime")
    require([e["model"] for e in found["engines"]] == ["fixed.onnx", "levels.onnx"], "--against")
    folder.run("eval --model fixed.onnx --data b.bin --no-host", 4)
    folder.run("eval --model fixed.onnx --data b.bin --strict --config pe16x16", 4)
    folder.run("eval --model fixed.onnx --data b.bin --strict --config pe16x16_dyadic")
    require("golden and systemc" in folder.run("eval --model fixed.onnx --data b.bin --engines fake", 2).stderr, "engine fake")


def eval_float(folder, seed):
    # As good as each other on average, so that pictures have other classes.
    model = float_classifier(seed, -outputs_of(float_classifier(seed), folder.inputs).mean(0))
    folder.save("float", model)
    outputs = outputs_of(model, folder.inputs)
    found = folder.json("eval --model float.onnx --data b.bin --out o_float")
    require([e["engine"] for e in found["engines"]] == ["float"], "a float network has the engine float")
    check_counts(found, outputs, folder.labels)
    near = np.load(folder.path / "o_float/outputs.npy")[0]
    require(np.allclose(near, outputs, rtol=1e-4, atol=1e-4), "outputs of the float network")
    np.save(folder.path / "one.npy", folder.inputs[:1])
    folder.json("golden run --model float.onnx --input one.npy --out g_float")
    require(np.array_equal(np.load(folder.path / "g_float/output.npy")[0], near[0]), "golden run of a float network")


def golden_run(folder, seed):
    folder.save("m", classifier(seed))
    np.save(folder.path / "one.npy", folder.inputs[:1])
    # A Relu cuts off more than uint8 does, so that ONNX Runtime runs the convolution in float32.
    n = hosted_test.Network(seed)
    x = n.conv(n.levels(n.input("x", 1, 3, 8, 8)), 3, 8)
    y = n.levels(n.add("Relu", n.add("Conv", x, n.weights(8, 8, 3, 3), kernel_shape=[3, 3], pads=[1] * 4)))
    onnx.save(n.model([n.levels(n.add("Abs", y))]), folder.path / "cut.onnx")
    np.save(folder.path / "x.npy", n.inputs["x"][0])
    nodes = set()
    for model, given in (("m", "one"), ("cut", "x")):
        for how in ("integer", "onnxruntime"):
            words = f"--model {model}.onnx --input {given}.npy --config pe16x16_dyadic --as {how} --out"
            run = folder.json(f"run {words} r_{how}")
            found = folder.json(f"golden run {words} g_{how}")
            bytes_of = [(folder.path / f"{k}_{how}/output.npy").read_bytes() for k in "rg"]
            require(bytes_of[0] == bytes_of[1], f"golden run --as {how}: other bytes than run")
            require(found["parts"] == run["host"]["parts"] > 0, "parts of golden run")
            require(found["host_nodes"] == len(run["host"]["nodes"]), f"host nodes of golden run --as {how}")
            nodes.add((model, found["host_nodes"]))
            if model == "m":
                require(found["classes"][0]["class"] == run["output"]["top"][0]["index"], "the class of golden run")
    require(len(nodes) > 2, "--as changes nothing, so that it proves nothing")
    folder.run("golden run --model m.onnx --input one.npy --no-host", 4)
    folder.run("golden run --model m.onnx --input one.npy --index 0", 2)


def best_classes(folder, seed):
    model = classifier(seed)
    folder.save("m", model)
    np.save(folder.path / "one.npy", folder.inputs[:1])
    expected = np.argsort(-outputs_of(model, folder.inputs[:1])[0], kind="stable")[:5]
    top = folder.json("run --model m.onnx --input one.npy --config pe16x16_dyadic")["output"]["top"]
    require([t["index"] for t in top] == expected.tolist(), "the best classes")
    require(top[0]["label"] == NAMES[expected[0]], "their labels")
    require(f"one.npy: {NAMES[expected[0]]} " in folder.run("run --model m.onnx --input one.npy").stdout, "printed classes")
    folder.save("m", model, NAMES[:-1])
    require("9 labels; expected 10" in folder.run("run --model m.onnx --input one.npy", 3).stderr, "labels of another number")


def other_commands(folder, seed):
    folder.save("m", classifier(seed))
    np.save(folder.path / "one.npy", folder.inputs[:1])
    run = folder.json("run --model m.onnx --input one.npy --config pe16x16_dyadic")
    point = folder.json("profile --model m.onnx --config pe16x16_dyadic --dataflow ws")["points"][0]
    run_ws = folder.json("run --model m.onnx --no-data --engine recurrence --config pe16x16_dyadic --dataflow ws")
    require(point["total"]["cycles"] == run_ws["total"]["cycles"], "profile has other cycles than run")
    require([layer["name"] for layer in point["layers"]] == [layer["name"] for layer in run["layers"]], "profile's layers")
    layer = run["layers"][-1]
    found = folder.json(f"explain --model m.onnx --config pe16x16_dyadic --layer {layer['name']}")
    require(found["cycles"] == layer["cycles"] and found["changes"], "explain has other cycles than run")
    require("name a layer of the array" in folder.run("explain --model m.onnx", 3).stderr, "explain without a layer")
    for command in ("compile --model m.onnx", "export-vectors --model m.onnx --input one.npy --out v"):
        error = folder.run(command, 4).stderr.strip()
        require("takes networks that the array runs alone" in error and "\n" not in error, f"{command}: {error}")


def inputs(folder, seed):
    del seed
    n = hosted_test.Network(5)
    for name in ("a/x", "a/y"):
        n.input(name, 1, 3, 8, 8)
    x, y = (n.conv(n.levels(name), 3, 4) for name in n.inputs)
    model = n.model([n.levels(n.add("Max", x, y))])
    folder.save("two", model)
    (folder.path / "ins").mkdir()
    for name, (tensor, _) in n.inputs.items():
        np.save(folder.path / "ins" / (name.replace("/", "_") + ".npy"), tensor)
    folder.run("run --model two.onnx --input ins --config pe16x16_dyadic --out two")
    np.save(folder.path / "ins/a_y.npy", np.zeros((1, 3, 8, 8), np.int32))
    require("ins/a_y.npy: 'a/y' is int32" in folder.run("run --model two.onnx --input ins", 3).stderr, "an input's file")


def estimate(folder, seed):
    folder.save("m", classifier(seed))
    np.save(folder.path / "one.npy", folder.inputs[:1])
    (folder.path / "c.yaml").write_text("requantizer: dyadic\nhost: {ops_per_cycle: 0.5, bytes_per_cycle: 3}\n")
    words = "--model m.onnx --input one.npy"
    plain = folder.json(f"run {words} --config pe16x16_dyadic")
    require("cycles_estimated" not in plain["host"], "an estimate that nobody asked for")
    found = folder.json(f"run {words} --config c.yaml")
    host, array = found["host"], found["total"]["cycles"]
    for node in host["nodes"]:
        expected = math.ceil(max(node["operations"] / 0.5, node["bytes"] / 3))
        require(node["cycles_estimated"] == expected > 0, f"the cycles of {node['name']}")
    require(host["cycles_estimated"] == sum(node["cycles_estimated"] for node in host["nodes"]), "the host's cycles")
    require(host["total_cycles_estimated"] == array + host["cycles_estimated"], "cycles without overlap")
    require(array == plain["total"]["cycles"], "the array's cycles changed")
    require(found["config"]["host"] == {"ops_per_cycle": 0.5, "bytes_per_cycle": 3.0, "overlap": False}, "the configuration")
    both = folder.json(f"run {words} --config c.yaml --set host.overlap=true --no-data")["host"]["total_cycles_estimated"]
    require(max(array, host["cycles_estimated"]) <= both <= array + host["cycles_estimated"], "cycles with overlap")
    verified = folder.json(f"verify {words} --config c.yaml")
    require(verified["total_cycles_estimated"] == host["total_cycles_estimated"], "the estimate of verify")
    text = folder.run(f"run {words} --config c.yaml").stdout
    require("estimate: host and array take " in text and "est. cycles" in text, "the printed estimate")


def main(qsim, *only):
    onnxruntime.set_default_logger_severity(4)
    wrong = 0
    cases = [eval_counts, eval_float, golden_run, best_classes, other_commands, inputs, estimate]
    for case in cases:
        if only and case.__name__ not in only:
            continue
        with tempfile.TemporaryDirectory() as name:
            try:
                case(Folder(pathlib.Path(qsim).resolve(), pathlib.Path(name)), 7)
            except Fault as fault:
                print(f"{case.__name__}: {fault}")
                wrong += 1
    print(f"{len(cases)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
