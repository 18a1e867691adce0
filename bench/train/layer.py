#!/usr/bin/env python3
"""Times one convolution as a layer in training, and its peak memory: qsim's beside PyTorch's.

usage: layer.py [--quick] [--json FILE] [--rounds N] [--iterations N] [--no-compile]
3x3, 64 -> 64 channels, 224x224, batch 8, float32 in and out. `forward` is the module in training mode, `step` forward and
backward. Two processes take turns, round by round: in one cuDNN searches its kernels (cudnn.benchmark), in the other it
does not; a process keeps the kernels that it found first. Needs PyTorch; on a machine without a GPU --quick is a test of
this program, and its times mean nothing.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

import torch

import measuring
from layer_cases import COMPILED, LAYOUTS, PEERS, SUBJECTS, Case, check

SCHEMA = "qsim.bench.train.layer/1"


def ways(arguments):
    if arguments.device == "cpu":
        return ("eager",)
    return ("eager", "graph") if arguments.no_compile else ("eager", "graph", "compiled")


def measure_memory(row, subject, layout, arguments):
    """The peak of a subject that is alone on the device."""
    measuring.free()
    case = Case(subject, layout, row["how"], arguments)
    row["first_peak_bytes"] = measuring.peak_bytes(case.step, 3)  # the search is in it
    row["peak_bytes"] = measuring.peak_bytes(case.step, arguments.iterations)
    if row["how"] == "eager":
        row["kept_bytes_a_value"] = case.kept_bytes() / case.x.numel()


def make_case(row, subject, layout, arguments):
    case = Case(subject, layout, row["how"], arguments)
    row["y_apart"], row["dx_apart"] = check(case, subject, layout, arguments)
    case.prepare(row["how"])
    return case


def work(arguments):
    """A worker: prepares, says so, then measures once for each line that it is given."""
    search = arguments.worker == "search"
    torch.backends.cudnn.benchmark = search
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    subjects = PEERS if search else SUBJECTS
    rows = [{"subject": subject, "layout": layout, "how": how, "search": search} for how in ways(arguments)
            for subject in subjects if how != "compiled" or subject in COMPILED for layout in LAYOUTS]
    cases = []
    for row in rows:
        if row["how"] != "graph":  # its memory is a pool, which is never given back
            measuring.attempt(row, lambda row=row: measure_memory(row, row["subject"], row["layout"], arguments))
    measuring.free()
    for row in rows:
        case = measuring.attempt(row, lambda row=row: make_case(row, row["subject"], row["layout"], arguments))
        if case is not None and "error" not in row:
            cases.append((case, row))
    print(json.dumps({"machine": measuring.machine()}), flush=True)
    times = [{"forward": [], "step": []} for _ in cases]
    for line in sys.stdin:
        if line.strip() == "end":
            break
        for (case, _), found in zip(cases, times):
            for name, value in case.times().items():
                found[name].append(value)
        print("{}", flush=True)
    for (_, row), found in zip(cases, times):
        row.update({name: measuring.summary(values) for name, values in found.items()})
    print(json.dumps({"rows": rows}), flush=True)


class Worker:
    """A process of this program."""

    def __init__(self, name, options):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, "--worker", name, *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"layer.py: a worker ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small picture, three rounds; for a test of this program")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--iterations", type=int, default=100, help="of a peak of memory; default: %(default)s")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes a minute")
    parser.add_argument("--worker", choices=("search", "heuristic"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.device = "cuda" if torch.cuda.is_available() else "cpu"
    if arguments.device == "cpu" and not arguments.quick:
        sys.exit("layer.py: PyTorch sees no GPU; --quick runs on the CPU")
    arguments.shape = (2, 16, 16) if arguments.quick else (8, 64, 224)
    if arguments.quick:
        arguments.rounds, arguments.iterations = 3, 3
    return arguments


def show(rows):
    for row in rows:
        name = f"{row['subject']}, {row['layout']}, {row['how']}{', search' if row['search'] else ''}"
        if "error" in row:
            print(f"{name:62} not run: {row['error']}")
            continue
        peak = row.get("peak_bytes")
        first = row.get("first_peak_bytes")
        memory = f"{peak / 1e6:9.1f} MB, {first / 1e6:.1f} at first" if peak else ""
        memory += f" kept {row['kept_bytes_a_value']:.3f} bytes a value" if "kept_bytes_a_value" in row else ""
        print(f"{name:62} {1e3 * row['forward']['median_ms']:9.1f} {1e3 * row['step']['median_ms']:9.1f} us {memory}")


def main():
    arguments = parse()
    if arguments.worker:
        work(arguments)
        return
    begin = time.monotonic()
    options = [f"--rounds={arguments.rounds}", f"--iterations={arguments.iterations}"]
    options += ["--quick"] * arguments.quick + ["--no-compile"] * arguments.no_compile
    workers = []
    for name in ("heuristic",) if arguments.device == "cpu" else ("heuristic", "search"):
        workers.append(Worker(name, options))
        machine = workers[-1].answer()["machine"]
    for _ in range(arguments.rounds):
        for worker in workers:
            worker.ask("round")
    rows = [row for worker in workers for row in worker.ask("end")["rows"]]
    result = {"schema": SCHEMA, "machine": machine, "shape": arguments.shape, "rounds": arguments.rounds,
              "iterations": arguments.iterations, "quick": arguments.quick, "rows": rows,
              "seconds": round(time.monotonic() - begin, 1)}
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    show(rows)


if __name__ == "__main__":
    main()
