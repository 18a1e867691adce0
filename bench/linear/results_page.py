#!/usr/bin/env python3
"""Times the linear layers with integer weights on this machine, on a GPU too where there is one, and writes the page.

usage: results_page.py QSIM PAGE.md [--sizes KxN,...] [--iters N]
Each table is one run of `qsim golden linear --bench`, whose columns docs/reference/cli.md explains.
"""
import argparse
import json
import pathlib
import subprocess
import sys

SIZES = "512x2048,1024x4096,2048x8192,4096x4096,4096x14336,8192x8192,8192x28672"
# Title, and the options of the run.
TABLES = (
    ("int8 weights, one row of x", []),
    ("int8 weights, 16 rows of x", ["--M", "16"]),
    ("int8 weights and activations (W8A8), one row of x", ["--activations", "int8"]),
    ("int8 weights, groups of 128", ["--group", "128"]),
    ("4-bit weights, groups of 128", ["--bits", "4", "--group", "128"]),
)
COLUMNS = ("mode", "K", "N", "M", "mean us", "p50 us", "p95 us", "GB/s", "share of limit", "speedup over cpu_fp32",
           "max error", "mean error")


def run(qsim, *arguments):
    """The JSON of a command of qsim, which must end with 0."""
    done = subprocess.run([qsim, *arguments, "--json", "-", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"results_page.py: qsim {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def processor():
    """Its name, as the kernel says it."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unknown processor"


def number(value, form):
    return "-" if isinstance(value, str) else format(value, form)


def row(mode):
    times = [number(1e6 * mode[key], ".1f") for key in ("mean", "p50", "p95")]
    cells = [mode["mode"], str(mode["K"]), str(mode["N"]), str(mode["M"]), *times,
             number(mode["gigabytes_per_second"], ".2f"), number(mode["share_of_limit"], ".1%"),
             number(mode["speedup"], ".2f"), number(mode["max_error"], ".3g"), number(mode["mean_error"], ".3g")]
    return "| " + " | ".join(cells) + " |"


def table(qsim, title, options, arguments, modes):
    result = run(qsim, "golden", "linear", "--bench", "--mode", modes, "--sizes", arguments.sizes, "--iters",
                 str(arguments.iters), *options)
    lines = ["", f"## {title}", "", "| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += [row(mode) for mode in result["modes"]]
    lines += ["", "Preparing the weights of the last size takes "
              f"{1e3 * result['quantize_seconds']:.1f} ms to quantize, {1e3 * result['transpose_seconds']:.1f} ms from "
              f"[K, N] to [N, K], and {1e3 * result['pack_seconds']:.1f} ms to pack."]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("qsim")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--sizes", default=SIZES, help="default: %(default)s, minutes in all; the last has 0.9 GB of FP32 weights")
    parser.add_argument("--iters", type=int, default=21)
    arguments = parser.parse_args()
    info = run(arguments.qsim, "golden", "info")
    built = run(arguments.qsim, "doctor")
    modes = "cpu_fp32,cpu_int8" + (",gpu_int8" if info["cuda_usable"] else "")
    gpu = info["devices"][0]["name"] if info["cuda_usable"] else f"no GPU ({info['cuda_reason']})"
    lines = ["# Times of linear layers with integer weights", "",
             f"qsim {built['version']} ({built['commit']}) on {processor()}, {gpu}. The weights of a size take turns, so that "
             "no cache holds them; errors are against cpu_fp32."]
    for title, options in TABLES:
        lines += table(arguments.qsim, title, options, arguments, modes)
    arguments.page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
