"""Top-1 of an ONNX model on a CIFAR-10 test batch with ONNX Runtime, and what it sees in a picture."""

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
    name = session.get_inputs()[0].name
    parts = [session.run(None, {name: normalize(part).numpy()})[0] for part in images.split(BATCH)]
    return np.concatenate(parts)


def top1_report(logits, labels):
    """Top-1 over all and for each class; the first of equal logits counts."""
    correct = logits.argmax(axis=1) == labels
    per_class = {name: round(float(correct[labels == i].mean()), 4) for i, name in enumerate(CLASS_NAMES)}
    return {"pictures": len(labels), "correct": int(correct.sum()), "top1": float(correct.mean()), "classes": per_class}


def classify(session, path):
    """The three likeliest classes of a 32x32 picture with their softmax probabilities."""
    picture = np.asarray(Image.open(path).convert("RGB"))
    logits = run_model(session, torch.from_numpy(picture.copy()).permute(2, 0, 1).unsqueeze(0))[0].astype(np.float64)
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = np.argsort(-probabilities, kind="stable")[:3]
    return {CLASS_NAMES[i]: round(float(probabilities[i]), 4) for i in best}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="an ONNX model, float or int8")
    parser.add_argument("--test-batch", help="CIFAR-10 binary batch")
    parser.add_argument("--image", nargs="*", default=[], help="32x32 pictures to classify")
    args = parser.parse_args()
    session = open_session(args.model)
    report = {"model": args.model, "onnxruntime": onnxruntime.__version__}
    if args.test_batch:
        test = load_binary_batch(args.test_batch)
        logits = run_model(session, test.images)
        report |= top1_report(logits, test.labels.numpy())
    report |= {"images": {path: classify(session, path) for path in args.image}} if args.image else {}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
