#!/usr/bin/env python3
"""User-space instructions of whole qsim processes: what a noisy machine leaves alone.

usage: instructions.py BUILD_DIR       Figures on stdout, JSON a line.
Short ones are counted three times, to show how well the count repeats; those of vgg16 once, since valgrind
is some 50 times slower than the processor.
"""
import pathlib
import sys

import counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
from figure import median_figure  # noqa: E402  pylint: disable=wrong-import-position
from emit import emit  # noqa: E402  pylint: disable=wrong-import-position

SHORT, LONG = 3, 1
CASES = (
    ("start/version", SHORT, ["--version"]),
    ("vgg8-cifar10/no_verify", SHORT, ["--quiet", "--no-verify"]),
    ("vgg8-cifar10/no_data", SHORT, ["--quiet", "--no-data"]),
    ("vgg8-cifar10/verified", SHORT, ["--quiet"]),
    ("vgg8/no_verify", SHORT, ["--quiet", "--model", "vgg8", "--no-verify"]),
    ("vgg8-cifar10/compile", SHORT, ["compile", "--quiet"]),
    ("vgg8-cifar10/program_text", SHORT, ["compile", "--quiet", "--out", "-"]),
    ("verify/20_seeds", SHORT, ["verify", "--quiet", "--seeds", "20"]),
    ("vgg16/compile", LONG, ["compile", "--quiet", "--model", "vgg16"]),
    ("vgg16/no_data", LONG, ["--quiet", "--model", "vgg16", "--no-data"]),
    ("vgg16/no_verify", LONG, ["--quiet", "--model", "vgg16", "--no-verify"]),
)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    counting = counter.find()
    if counting is None:
        print("instructions: neither perf with hardware counters nor valgrind", file=sys.stderr)
        return 1
    qsim = pathlib.Path(sys.argv[1]).resolve() / "qsim"
    for name, runs, arguments in CASES:
        counts = [counting.count([qsim, *arguments]) for _ in range(runs)]
        emit(median_figure(f"instructions/{name}", counts, "instructions", "instructions", counting.tool))
    return 0


if __name__ == "__main__":
    sys.exit(main())
