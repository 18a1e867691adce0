#!/usr/bin/env python3
"""threads_test.py QSIM SOURCE: where the system starts no more threads, or a thread of several has no memory, a command
goes on with fewer and says so, or ends with one line and exit code 3. No signal ends it."""
import os
import re
import resource
import shutil
import struct
import subprocess
import sys

from common import SMALL, check, work_folder

MB = 1 << 20
# A user of whom nothing else runs, so that RLIMIT_NPROC counts the threads of this process alone; root has no limit.
USER = 54321
NOTE = re.compile(r"qsim: note: (\d+) of 8 threads run: the system starts no more \(ulimit -u, -v, -d\); "
                  r"the work goes on with these")


PICTURES = 24


def npy_of(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def commands(work):
    values = [0.01 * (i % 97) - 0.4 for i in range(3 * 32 * 32)]
    pictures = struct.pack(f"<{len(values)}f", *values) * PICTURES
    with open(os.path.join(work, "pictures.npy"), "wb") as file:
        file.write(npy_of("<f4", (PICTURES, 3, 32, 32), pictures))
    with open(os.path.join(work, "pictures.labels.npy"), "wb") as file:
        file.write(npy_of("<i4", (PICTURES,), bytes(4 * PICTURES)))
    with open(os.path.join(work, "small.yaml"), "w", encoding="utf-8") as file:
        file.write(SMALL % 1)
    return {
        "linear": "golden linear --K 256 --N 128 --threads 8",
        "convert": "golden convert --rows 64 --cols 1024 --to int4 --threads 8",
        "quantize": "quantize resnet14-float.onnx --calibrate pictures.npy -o q.onnx --threads 8",
        "eval": "eval --model ./resnet14-int8.onnx --data pictures.npy --jobs 8",
        "profile": "profile --model ./small.yaml --set dram_latency_cycles=20,40,60 --dataflow ws,os,is --jobs 8",
    }


def run(command, work, kind, limit, user=None):
    def prepare():
        resource.setrlimit(kind, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=300, preexec_fn=prepare, user=user, env={**os.environ, "QSIM_GOLDEN": "cpu"})


def check_end(outcome, what):
    """A good end, or one error."""
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("qsim: error: ")]
    check(outcome.returncode in (0, 3), f"{what}: exit code {outcome.returncode}: {outcome.stderr}")
    check(len(errors) == (1 if outcome.returncode == 3 else 0), f"{what}: {outcome.stderr}")
    check(all(line.startswith("qsim: ") for line in outcome.stderr.splitlines()), f"{what}: {outcome.stderr}")


def main():
    qsim, source = sys.argv[1:]
    with work_folder() as work:
        for name in ("float.onnx", "float.yaml", "int8.onnx", "int8.yaml"):
            shutil.copy(os.path.join(source, "models/resnet14-cifar10", "resnet14-" + name), work)
        every = commands(work)
        few_processes(qsim, work, every)
        little_memory(qsim, work, every)


def few_processes(qsim, work, every):
    """The thread that waits for signals takes one of six."""
    if os.geteuid() != 0:
        print("few threads: skipped, needs root to be a user of whom nothing else runs")
        return
    os.chmod(work, 0o777)
    try:
        run([qsim, "--version"], work, resource.RLIMIT_NPROC, 6, USER).check_returncode()
    except (OSError, subprocess.CalledProcessError):
        print("few threads: skipped, another user may not read the build folder")
        return
    for name, command in every.items():
        outcome = run([qsim, *command.split()], work, resource.RLIMIT_NPROC, 6, USER)
        check(outcome.returncode == 0, f"{name} with 6 threads: exit code {outcome.returncode}: {outcome.stderr}")
        note = NOTE.search(outcome.stderr)
        started = "4" if name == "profile" else "5"  # its calling thread does no point
        check(note is not None and note.group(1) == started, f"{name} with 6 threads: {outcome.stderr}")
        print(f"{name} with 6 threads: {note.group(0)}")


def little_memory(qsim, work, every):
    codes = set()
    for name, command in every.items():
        for kind, limits in ((resource.RLIMIT_AS, range(36, 120, 7)), (resource.RLIMIT_DATA, (*range(8, 40, 3), 60, 90))):
            for limit in limits:
                outcome = run([qsim, *command.split()], work, kind, limit * MB)
                check_end(outcome, f"{name} with {limit} MB of limit {kind}")
                codes.add(outcome.returncode)
        print(f"{name}: no limit on memory ends it by a signal")
    check(codes == {0, 3}, f"exit codes {codes}")


if __name__ == "__main__":
    main()
