#!/usr/bin/env python3
"""`qsim eval` of 3,000 pictures, the whole process on two threads: wall time and processor time (user and system), medians
of 9. The pictures are a CIFAR-10 batch; without one, seeded bytes, which take as long.

usage: eval.py BUILD_DIR [BATCH.bin]       Figures on stdout, JSON a line.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))

from emit import emit  # noqa: E402
from figure import median_figure  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES, RECORD, RUNS = 3000, 3073, 9
VGG8, RESNET14 = (ROOT / f"models/{name}" for name in ("vgg8-cifar10/vgg8", "resnet14-cifar10/resnet14"))
CASES = {
    "vgg8/golden": ["--model", f"{VGG8}-int8.onnx", "--backend", "cpu"],
    "vgg8/float": ["--model", f"{VGG8}-float.onnx"],
    "vgg8/fake": ["--model", f"{VGG8}-int8.onnx", "--engines", "fake"],
    "resnet14/golden": ["--model", f"{RESNET14}-int8.onnx", "--backend", "cpu"],
    "resnet14/float": ["--model", f"{RESNET14}-float.onnx"],
}


def seeded_batch(path):
    """Records with seeded labels and pictures."""
    source = random.Random(1)
    with path.open("wb") as file:
        for _ in range(PICTURES):
            file.write(bytes([source.randrange(10)]) + source.randbytes(RECORD - 1))


def cost_of(command):
    """Wall and processor seconds of one process."""
    begin, before = time.perf_counter(), os.times()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - begin, os.times()
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed: exit code {done.returncode}")
    return wall, sum(after[2:4]) - sum(before[2:4])  # of children: user, system


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    qsim = pathlib.Path(sys.argv[1]) / "qsim"
    with tempfile.TemporaryDirectory() as folder:
        batch = pathlib.Path(folder) / "seeded.bin"
        if len(sys.argv) == 3:
            batch = pathlib.Path(sys.argv[2])
        else:
            seeded_batch(batch)
        for name, arguments in CASES.items():
            command = [qsim, "eval", "--quiet", "--jobs", "2", "--data", batch, "--pictures", str(PICTURES), *arguments]
            walls, processor = zip(*(cost_of(command) for _ in range(RUNS)))
            emit(median_figure(f"eval/{name}/wall", walls, "s", "time"))
            emit(median_figure(f"eval/{name}/processor", processor, "s", "time"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
