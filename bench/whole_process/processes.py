#!/usr/bin/env python3
"""Wall time and peak memory of whole qsim processes, from fork to exit; medians of 9.

usage: processes.py BUILD_DIR       Figures on stdout, JSON a line.
"""
import pathlib
import subprocess
import sys

# Arguments after --quiet. vgg8-cifar10 is the shipped trained network on the shipped picture.
CASES = {
    "version": ["--version"],
    "vgg8-cifar10/no_verify": ["--no-verify"],
    "vgg8-cifar10/no_data": ["--no-data"],
    "vgg8-cifar10/verified": [],
    "vgg8/no_verify": ["--model", "vgg8", "--no-verify"],
    "vgg16/no_verify": ["--model", "vgg16", "--no-verify"],
    "vgg16/no_data": ["--model", "vgg16", "--no-data"],
    "vgg16/recurrence": ["--model", "vgg16", "--no-data", "--engine", "recurrence"],
    "vgg16/verified": ["--model", "vgg16"],
    "vgg8-cifar10/profile_all_dataflows": ["profile", "--dataflow", "all"],
    "vgg16/profile_all_dataflows": ["profile", "--model", "vgg16", "--dataflow", "all"],
    "vgg16/profile_100_configs": ["profile", "--model", "vgg16", "--dataflow", "ws",
                                  "--set", "array_rows=8,16,32,64", "--set", "array_cols=8,16,32,64,128",
                                  "--set", "bus_bytes=8,16,32,64,128"],
}


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(sys.argv[1])
    for name, arguments in CASES.items():
        quiet = [] if name == "version" else ["--quiet"]
        done = subprocess.run([build / "bin/process_cost", "--name", f"process/{name}", build / "qsim", *quiet,
                               *arguments], check=False)
        if done.returncode != 0:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
