#!/usr/bin/env python3
"""The golden library and ONNX Runtime on the same network, one thread each, in the same run: N rounds in
turn, each a median of 9 forward passes. Figures (bench/README.md) on stdout, JSON a line.

usage: compare.py [--rounds N] BIN_DIR ORT_DIR WORKLOAD.yaml...   (N: 9 or more)

BIN_DIR holds golden_cpu_bench and golden_export_onnx, ORT_DIR is what tools/ort/install.sh made. The last
layers' bytes are compared with an exact run of ONNX Runtime (tools/ort/exact_session.py), and must agree.
Timed is a plain session, the kernels that a user gets. Where these give other bytes, as with AVX2 and no
VNNI, a line on stderr says so, and the exact kernels are timed as well.
Compare on uint8 networks such as vgg16: on int8 activations ONNX Runtime 1.30 was measured at
12 GMAC/s, on uint8 at 380.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/common"))

from emit import emit  # noqa: E402
from figure import LEAST_TIMED_RUNS, median_figure  # noqa: E402

RUNS = 9


def run(*words):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, encoding="utf8",
                          check=True).stdout


class OnnxRuntime:
    """One process for each call; `folder` has the model, its input and the golden's last layer."""

    def __init__(self, ort_dir, folder):
        self.command = [ort_dir / "bin/python", "-B", ROOT / "tools/ort/run_onnx.py"]
        self.folder = folder

    def __call__(self, *options):
        return run(*self.command, *options, self.folder / "model.onnx", self.folder / "input.npy",
                   self.folder / "out")

    def agrees(self, *options):
        self(*options)
        (found,) = (self.folder / "out").glob("*.npy")
        return np.load(found).tobytes() == np.load(self.folder / "expected.npy").tobytes()

    def seconds(self, *options):
        return 1e-3 * json.loads(self(*options, "--repeat", RUNS))["median_ms"]


def compare(args, workload, folder):
    run(args.bin_dir / "golden_export_onnx", workload, folder)
    onnxruntime = OnnxRuntime(args.ort_dir, folder)
    if not onnxruntime.agrees():
        sys.exit(f"compare.py: {workload}: golden and ONNX Runtime differ in bytes")
    timed = {"onnxruntime": ["--plain"]}
    if not onnxruntime.agrees("--plain"):
        print(f"{workload.stem}: a plain session of ONNX Runtime gives wrong bytes on this processor; "
              "onnxruntime_exact is the time of kernels that give the right ones", file=sys.stderr)
        timed["onnxruntime_exact"] = []
    samples = {name: [] for name in ["golden", *timed]}
    for _ in range(args.rounds):
        found = json.loads(run(args.bin_dir / "golden_cpu_bench", "--runs", RUNS, workload))
        samples["golden"].append(1e-3 * found["median_ms"])
        for name, options in timed.items():
            samples[name].append(onnxruntime.seconds(*options))
    return samples


def print_figures(workload, samples):
    for name, times in samples.items():
        emit(median_figure(f"golden_vs_ort/{workload.stem}/{name}", times, "s", "time"))
    golden = samples.pop("golden")
    for name, times in samples.items():
        ratios = [mine / theirs for mine, theirs in zip(golden, times)]
        emit(median_figure(f"golden_vs_ort/{workload.stem}/golden_over_{name}", ratios, "1", "ratio"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=LEAST_TIMED_RUNS)
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("ort_dir", type=pathlib.Path)
    parser.add_argument("workloads", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    if args.rounds < LEAST_TIMED_RUNS:
        parser.error(f"--rounds needs {LEAST_TIMED_RUNS} or more")
    for workload in args.workloads:
        with tempfile.TemporaryDirectory(prefix="golden_vs_ort-") as folder:
            try:
                print_figures(workload, compare(args, workload, pathlib.Path(folder)))
            except subprocess.CalledProcessError as error:  # which has said why
                sys.exit(f"compare.py: {workload}: {pathlib.Path(error.cmd[0]).name}: exit code {error.returncode}")


if __name__ == "__main__":
    main()
