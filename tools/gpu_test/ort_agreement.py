#!/usr/bin/env python3
"""The CUDA golden against ONNX Runtime on the shipped model: every logit of many pictures, with ==.

usage: ort_agreement.py --qsim FILE --model FILE --work DIR [--batch FILE.bin] [--images 256]
Pictures: records of a CIFAR-10 batch where one is given, and as many of random pixels (seed 11).
exact_session.py, of tools/ort, is beside this file in a bundle.
"""
import argparse
import pathlib
import subprocess
import sys

import numpy as np
import onnxruntime

import exact_session

RECORD = 3073  # a label, then 32 x 32 pixels, colour by colour
SEED = 11


def random_batch(path, images):
    pixels = np.random.default_rng(SEED).integers(0, 256, (images, RECORD), dtype=np.uint8)
    pixels[:, 0] %= 10
    pixels.tofile(path)
    return path


def qsim_logits(args, batch, out):
    command = [args.qsim, "golden", "run", "--backend", "cuda", "--model", args.model, "--input", batch,
               "--images", args.images, "--out", out]
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr)
    return np.load(out / "output.npy")


def ort_logits(args, batch):
    """On the CPU; pixels become (p - 128) / 128, as the model's sidecar says."""
    session = exact_session.open_session(args.model)
    records = np.fromfile(batch, np.uint8, args.images * RECORD).reshape(-1, RECORD)
    pixels = records[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32)
    return session.run(None, {session.get_inputs()[0].name: (pixels - 128) / 128})[0]


def compare(args, name, batch):
    """The number of differing logits; prints what was compared and the first difference."""
    ours = qsim_logits(args, batch, args.work / name)
    theirs = ort_logits(args, batch)
    if ours.size != theirs.size or ours.dtype != theirs.dtype:
        raise SystemExit(f"{name}: qsim gave {ours.shape} {ours.dtype}, ONNX Runtime {theirs.shape} "
                         f"{theirs.dtype}")
    ours = ours.reshape(theirs.shape)
    wrong = np.argwhere(ours.view(np.uint32) != theirs.view(np.uint32))
    print(f"{name}: {len(ours)} pictures, {ours.size} logits, {len(np.unique(theirs))} different "
          f"values, {len(wrong)} mismatches")
    if len(wrong):
        at = tuple(wrong[0])
        print(f"  picture {at[0]}, logit {at[1]}: qsim {ours[at]}, ONNX Runtime {theirs[at]}")
    if len(np.unique(theirs)) < 32:
        raise SystemExit(f"{name}: too few different logits to show anything")
    return len(wrong), len(ours)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qsim", required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--batch", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=256)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    batches = [("random pixels", random_batch(args.work / "random.bin", args.images))]
    if args.batch:
        batches.insert(0, ("cifar10", args.batch))
    try:
        counts = [compare(args, name, batch) for name, batch in batches]
    except exact_session.NotExact as error:
        sys.exit(str(error))
    mismatches, pictures = (sum(column) for column in zip(*counts))
    print(f"onnxruntime {onnxruntime.__version__}: {pictures} pictures, {mismatches} mismatches")
    sys.exit(1 if mismatches else 0)


if __name__ == "__main__":
    main()
