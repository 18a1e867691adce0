#!/usr/bin/env python3
"""cpu.py runs in small: a row for each work in both layouts, of times above 0, and ratios that fit them.

usage: cpu_test.py BUILD LIMITS; LIMITS is train_limits. Skips (77) without PyTorch, and where no limit is known.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

try:
    import torch  # noqa: F401  pylint: disable=unused-import
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def main():
    limits = subprocess.run([sys.argv[2]], capture_output=True, text=True, check=False)
    if limits.returncode != 0:
        print(f"skipped: {limits.stderr.strip()}")
        sys.exit(77)
    environment = {name: value for name, value in os.environ.items() if name != "QSIM_GOLDEN_LIBRARY"}
    printed = subprocess.run([sys.executable, "-B", HERE / "cpu.py", "--quick", "--build", sys.argv[1]], check=True,
                             env=environment, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    rows = [(line[:30].strip(), [float(cell) for cell in line[30:].split()]) for line in printed[1:-1]]
    assert [name for name, _ in rows] == [f"{work}, {layout}" for layout in ("NCHW", "channels last")
                                          for work in ("layer forward", "layer step", "vgg8 step")], printed
    for name, (plain, ours, _, over_plain, _, _) in rows:
        assert plain > 0 and ours > 0, printed
        if name.startswith("vgg8"):  # the others are too short for the digits
            assert 0.5 < over_plain / (ours / plain) < 2, printed
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
