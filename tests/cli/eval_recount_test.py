"""What `qsim eval` counts equals what ONNX Runtime's logits give by NumPy and Python's integers: predictions,
top-1, top-5, confusion, agreement, distances, and McNemar's p; and the outputs of all engines equal ONNX Runtime's: golden's
of the quantized network, float's of the float network within 1e-5 of the largest, fake's of the quantized network
rewritten as float layers between QuantizeLinear and DequantizeLinear. Runs in the environment of tools/ort/install.sh.

usage: eval_recount_test.py QSIM MODELS DATA [PICTURES]

DATA/cifar10/test_batch.bin where it is there; without it, seeded pictures with seeded labels.
"""
import fractions
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/ort"))

import exact_session  # noqa: E402
import onnxruntime  # noqa: E402

RECORD = 3073
NAMES = ("vgg8-cifar10/vgg8-int8", "resnet14-cifar10/resnet14-int8")
FLOAT_TOLERANCE = 1e-5  # of the largest output
# The share of fake outputs that may differ, and by how many levels: ONNX Runtime's float32 sums
# have another order, so that a tensor's number near the middle of two levels may go to the other
# one, and those that it enters after it. With power-of-two scales all are equal.
FAKE_SHARE, FAKE_LEVELS = {"vgg8-int8": 0, "resnet14-int8": 0.15}, 6


def batch_of(data, folder, pictures):
    """A batch file of so many records."""
    source = pathlib.Path(data) / "cifar10/test_batch.bin"
    if source.exists():
        records = np.frombuffer(source.read_bytes(), np.uint8).reshape(-1, RECORD)
        # Every class: the file may be sorted.
        records = records[np.linspace(0, len(records) - 1, pictures).astype(int)]
    else:
        records = np.random.default_rng(5).integers(0, 256, (pictures, RECORD), np.uint8)
        records[:, 0] %= 10
    path = folder / "b.bin"
    path.write_bytes(records.tobytes())
    return path, records[:, 0].astype(int), records[:, 1:].reshape(-1, 3, 32, 32)


def sidecar_numbers(path):
    """mean and std of a sidecar, as float32, without a YAML library."""
    text = path.read_text()
    return [np.array(json.loads(text.split(key + ":")[1].split("]")[0] + "]"), np.float32).reshape(1, 3, 1, 1)
            for key in ("mean", "std")]


def logits_of(model, pictures):
    """ONNX Runtime's output, picture by picture."""
    mean, std = sidecar_numbers(model.with_suffix(".yaml"))
    values = (pictures.astype(np.float32) / np.float32(255) - mean) / std
    session = exact_session.open_session(onnx.load(model))
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: value[None]})[0].reshape(1, -1) for value in values])


def plain_logits(model, pictures, sidecar):
    """ONNX Runtime's float32 output, without its fusions."""
    mean, std = sidecar_numbers(sidecar)
    values = (pictures.astype(np.float32) / np.float32(255) - mean) / std
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3  # it warns of initializers that the rewrite leaves
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: value[None]})[0].reshape(1, -1) for value in values])


class FakeRewrite:
    """A QOperator model as float layers, each output rounded by QuantizeLinear and DequantizeLinear."""

    FLOAT = {"QLinearConv": "Conv", "QGemm": "Gemm", "QLinearAdd": "Add", "QLinearGlobalAveragePool": "GlobalAveragePool"}

    def __init__(self, path):
        self.model = onnx.load(path)
        self.constants = {t.name: onnx.numpy_helper.to_array(t) for t in self.model.graph.initializer}
        self.nodes = []
        self.real = {}  # name of a quantized tensor -> of its real numbers
        for node in self.model.graph.node:
            self.take(node)
        graph = self.model.graph
        del graph.node[:]
        graph.node.extend(self.nodes)

    def constant(self, name, value):
        tensor = onnx.numpy_helper.from_array(value.astype(np.float32), name)
        self.model.graph.initializer.append(tensor)
        return name

    def rounded(self, name, scale, zero_point, output):
        """Adds the rounding of a real tensor."""
        self.nodes += [onnx.helper.make_node("QuantizeLinear", [name, scale, zero_point], [output + ".q"]),
                       onnx.helper.make_node("DequantizeLinear", [output + ".q", scale, zero_point], [output + ".r"])]
        self.real[output] = output + ".r"

    def product_inputs(self, a, b, bias, channel_axis):
        """Real input, weights and bias of QLinearConv or QGemm."""
        scale, zero_point = (self.constants[name].astype(np.float64) for name in b[1:])
        level = self.constants[b[0]].astype(np.float64)
        shape = [-1 if axis == channel_axis else 1 for axis in range(level.ndim)]
        weights = (level - zero_point.reshape(shape)) * scale.reshape(shape)
        inputs = [self.real[a[0]], self.constant(b[0] + ".r", weights)]
        if bias:
            unit = np.float64(self.constants[a[1]]) * scale
            inputs.append(self.constant(bias + ".r", self.constants[bias].astype(np.float64) * unit))
        return inputs

    def take(self, node):
        op, i = node.op_type, list(node.input)
        kept = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if op == "QuantizeLinear":
            return self.rounded(i[0], i[1], i[2], node.output[0])
        if op == "DequantizeLinear":
            return self.nodes.append(onnx.helper.make_node("Identity", [self.real[i[0]]], list(node.output)))
        if op in ("MaxPool", "Flatten"):
            self.real[node.output[0]] = node.output[0] + ".r"
            return self.nodes.append(onnx.helper.make_node(op, [self.real[i[0]]], [node.output[0] + ".r"], **kept))
        if op == "QLinearConv":
            inputs, ends = self.product_inputs(i[0:3], i[3:6], i[8] if len(i) > 8 else "", 0), i[6:8]
        elif op == "QGemm":
            inputs, ends = self.product_inputs(i[0:3], i[3:6], i[6], 0 if kept.get("transB") else 1), i[7:9]
        elif op == "QLinearAdd":
            inputs, ends = [self.real[i[0]], self.real[i[3]]], i[6:8]
        elif op == "QLinearGlobalAveragePool":
            inputs, ends = [self.real[i[0]]], i[3:5]
            kept = {}
        else:
            sys.exit(f"{op}: the rewrite knows no such node")
        real = node.output[0] + ".f"
        self.nodes.append(onnx.helper.make_node(self.FLOAT[op], inputs, [real], **kept))
        return self.rounded(real, ends[0], ends[1], node.output[0])


def check_distance(pair, first, second):
    """The distances of one pair, from outputs."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    apart = np.abs(first - second)
    check([pair["outputs"], pair["differing_outputs"]], [apart.size, int((apart > 0).sum())], "outputs")
    check(pair["largest_difference"], float(apart.max()), "largest_difference")
    for key, expected in (("mean_difference", apart.mean()),
                          ("relative_distance", math.sqrt((apart**2).sum() / (first**2).sum()))):
        if not math.isclose(pair[key], expected, rel_tol=1e-9, abs_tol=1e-300):
            sys.exit(f"{key}: {pair[key]}, the recount {expected}")


def check_engines(qsim, folder, model, batch, labels, images):
    """All engines of one network: their outputs are ONNX Runtime's, and the pairs are counted."""
    real = model.with_name(model.name.replace("int8", "float"))
    out = folder / model.stem
    subprocess.run([qsim, "eval", "--model", model, "--float", real, "--engines", "golden,float,fake", "--data", batch,
                    "--backend", "cpu", "--out", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    report = json.loads((out / "eval.json").read_text())
    found = dict(zip(("golden", "float", "fake"), np.load(out / "outputs.npy")))
    sidecar = model.with_suffix(".yaml")
    if not np.array_equal(found["golden"], logits_of(model, images)):
        sys.exit(f"{model}: golden's outputs are not those of ONNX Runtime")
    expected = plain_logits(str(real), images, sidecar)
    apart = float(np.abs(found["float"] - expected).max() / np.abs(expected).max())
    if apart > FLOAT_TOLERANCE:
        sys.exit(f"{real}: the outputs are {apart:.2g} of the largest apart from those of ONNX Runtime")
    fake = plain_logits(FakeRewrite(model).model.SerializeToString(), images, sidecar)
    differing = float((found["fake"] != fake).mean())
    level = np.diff(np.unique(fake)).min()
    levels = float(np.abs(found["fake"] - fake).max() / level)
    if differing > FAKE_SHARE[model.stem] or levels > FAKE_LEVELS + 0.5:
        sys.exit(f"{model}: {differing:.2%} of the fake outputs are not those of ONNX Runtime's float layers, up to "
                 f"{levels:.1f} levels apart")
    for engine in report["engines"]:
        check_engine(engine, found[engine["engine"]], labels)
    for pair in report["pairs"]:
        first, second = (found[pair[key]["engine"]] for key in ("first", "second"))
        check(pair["same_top1"], int((first.argmax(1) == second.argmax(1)).sum()), "same_top1")
        check_distance(pair, first, second)
    of_fake = next(p for p in report["pairs"] if p["first"]["engine"] == "golden" and p["second"]["engine"] == "fake")
    print(f"{model.stem}: float {apart:.1e} of the largest apart from ONNX Runtime; fake: {differing:.3%} of outputs other "
          f"than ONNX Runtime's, {of_fake['differing_outputs']} of {of_fake['outputs']} other than golden's")


def exact_p(first, second):
    """McNemar's exact two-sided p."""
    count = first + second
    tail = sum(math.comb(count, i) for i in range(min(first, second) + 1))
    return float(min(fractions.Fraction(1), fractions.Fraction(2 * tail, 2**count)))


def check(found, expected, what):
    """Equality, or the end."""
    if found != expected:
        sys.exit(f"{what}: eval says {found}, the recount {expected}")


def check_engine(engine, logits, labels):
    """One row of `engines`; the predictions."""
    order = np.argsort(-logits, axis=1, kind="stable")
    right = order[:, 0] == labels
    confusion = np.zeros((10, 10), int)
    np.add.at(confusion, (labels, order[:, 0]), 1)
    check(engine["pictures"], len(labels), "pictures")
    check(engine["top1_correct"], int(right.sum()), "top1_correct")
    check(engine["top5_correct"], int((order[:, :5] == labels[:, None]).any(axis=1).sum()), "top5_correct")
    check(engine["confusion"], confusion.tolist(), "confusion")
    for row in engine["per_class"]:
        of_class = labels == row["class"]
        check([row["pictures"], row["right"]], [int(of_class.sum()), int(right[of_class].sum())], "per_class")
    share = right.mean()
    expected = math.sqrt(share * (1 - share) / len(labels))
    if abs(engine["top1_standard_error"] - expected) > 1e-12:
        sys.exit(f"top1_standard_error: {engine['top1_standard_error']}, the recount {expected}")
    return order[:, 0], right


def main():
    qsim, models, data = sys.argv[1:4]
    pictures = int(sys.argv[4]) if len(sys.argv) > 4 else 300
    files = [pathlib.Path(models) / (name + ".onnx") for name in NAMES]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        batch, labels, images = batch_of(data, folder, pictures)
        subprocess.run([qsim, "eval", "--model", files[0], "--against", files[1], "--data", batch, "--backend", "cpu",
                        "--out", folder / "o", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        report = json.loads((folder / "o/eval.json").read_text())
        written = np.load(folder / "o/predictions.npy")
        for file in files:
            check_engines(qsim, folder, file, batch, labels, images)
    best, right = zip(*(check_engine(engine, logits_of(file, images), labels)
                        for engine, file in zip(report["engines"], files)))
    check(written.tolist(), np.array(best).tolist(), "predictions.npy")
    pair = report["pairs"][0]
    wins, losses = (right[0] & ~right[1]).sum(), (right[1] & ~right[0]).sum()
    check([pair["same_top1"], pair["first_only_right"], pair["second_only_right"]],
          [int((best[0] == best[1]).sum()), int(wins), int(losses)], "pair")
    if not math.isclose(pair["mcnemar_p"], exact_p(int(wins), int(losses)), rel_tol=1e-9):
        sys.exit(f"mcnemar_p: {pair['mcnemar_p']}, the recount {exact_p(int(wins), int(losses))}")
    print(f"{pictures} pictures, 2 networks: predictions, counts and p equal those of ONNX Runtime's logits; "
          f"{int(wins)} against {int(losses)}, p = {pair['mcnemar_p']:.3g}")


if __name__ == "__main__":
    main()
