"""Top-1 of an ONNX model on a CIFAR-10 test batch with ONNX Runtime, and what it sees in a picture.

With --integers it also compares every logit with the integer network, which must be equal.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import onnxruntime
import torch
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/ort"))
from exact_session import open_session

from data import CLASS_NAMES, load_binary_batch, normalize

BATCH = 250


def run_model(session, images):
    """uint8 [N, 3, 32, 32] -> float32 logits [N, 10]."""
    parts = [session.run(["logits"], {"image": normalize(part).numpy()})[0] for part in images.split(BATCH)]
    return np.concatenate(parts)


def top1_report(logits, labels):
    """Top-1 over all and for each class; the first of equal logits counts."""
    correct = logits.argmax(axis=1) == labels
    per_class = {name: round(float(correct[labels == i].mean()), 4) for i, name in enumerate(CLASS_NAMES)}
    return {"pictures": len(labels), "correct": int(correct.sum()), "top1": float(correct.mean()), "classes": per_class}


def count_differing_logits(path, images, logits):
    """Differences between ONNX Runtime's logits and the integer network's, after the same dequantizing."""
    from integer_network import load_network, run_network

    layers = load_network(path)
    last = layers["fc3"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    integers = run_network(layers, images.to(device)).cpu().numpy().astype(np.float32)
    expected = (integers - last.output_zero_point) * np.float32(2.0**-last.output_exponent)
    return int((expected != logits).sum())


def classify(session, path):
    """The three likeliest classes of a 32x32 picture with their softmax probabilities."""
    picture = np.asarray(Image.open(path).convert("RGB"))
    logits = run_model(session, torch.from_numpy(picture.copy()).permute(2, 0, 1).unsqueeze(0))[0].astype(np.float64)
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = np.argsort(-probabilities, kind="stable")[:3]
    return {CLASS_NAMES[i]: round(float(probabilities[i]), 4) for i in best}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="vgg8-int8.onnx or vgg8-float.onnx")
    parser.add_argument("--test-batch", help="CIFAR-10 binary batch")
    parser.add_argument("--integers", help="vgg8-int8.npz of quantize.py, to compare the logits with")
    parser.add_argument("--image", nargs="*", default=[], help="32x32 pictures to classify")
    args = parser.parse_args()
    if args.integers and not args.test_batch:
        parser.error("--integers needs --test-batch")
    session = open_session(args.model)
    report = {"model": args.model, "onnxruntime": onnxruntime.__version__}
    if args.test_batch:
        test = load_binary_batch(args.test_batch)
        logits = run_model(session, test.images)
        report |= top1_report(logits, test.labels.numpy())
    if args.integers:
        report["differing_logits"] = count_differing_logits(args.integers, test.images, logits)
    report |= {"images": {path: classify(session, path) for path in args.image}} if args.image else {}
    print(json.dumps(report, indent=2))
    return 1 if report.get("differing_logits") else 0


if __name__ == "__main__":
    sys.exit(main())
