"""What `qsim eval` counts equals what ONNX Runtime's logits give by NumPy and Python's integers: predictions,
top-1, top-5, confusion, agreement, and McNemar's p. Runs in the environment of tools/ort/install.sh.

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

RECORD = 3073
NAMES = ("vgg8-cifar10/vgg8-int8", "resnet14-cifar10/resnet14-int8")


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
