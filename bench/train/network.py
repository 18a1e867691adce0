#!/usr/bin/env python3
"""Times a training step of VGG-16, and its peak memory: qsim's beside PyTorch's.

usage: network.py [--quick] [--json FILE] [--rounds N] [--seconds N] [--search]
224x224, batch 32, 1000 classes, no dropout: forward, loss, backward, SGD. Weights are float32 for all. AMP is autocast to
bfloat16. Cases take turns, round by round, in one process. With --search cuDNN searches its kernels, which takes minutes.
Compiled cases are prepared last, while less than --seconds have passed. Needs PyTorch; on a machine without a GPU --quick is a test of this
program, and its times mean nothing.
"""
import argparse
import json
import pathlib
import sys
import time

import torch

import measuring
from layer_cases import LAYOUTS
from network_cases import FAKE_AMP, MOMENTA, SUBJECTS, Case

SCHEMA = "qsim.bench.train.network/1"


def plan(arguments):
    """The cases, the dear ones last."""
    layouts = list(LAYOUTS)
    cases = [(subject, layout, "eager") for subject in SUBJECTS for layout in layouts]
    if arguments.device == "cuda":
        # Not PyTorch's fake quantization: it waits for the device, and a capture that fails spoils those after it.
        cases += [(subject, layout, "graph") for subject in SUBJECTS if subject != FAKE_AMP for layout in layouts]
        cases += [(subject, layout, "compiled") for layout in reversed(layouts) for subject in SUBJECTS]
    return [{"subject": subject, "layout": layout, "how": how} for subject, layout, how in cases]


def say(row, what, begin):
    print(f"network.py: {row['subject']}, {row['layout']}, {row['how']}: {what}, {time.monotonic() - begin:.0f} s "
          f"{row.get('error', '')}", file=sys.stderr, flush=True)


def peaks(row, arguments, begin):
    """Of a subject alone on the device, for each optimizer: the first steps, and later ones."""
    for optimizer in MOMENTA:
        measuring.free()
        case = Case(row["subject"], row["layout"], row["how"], optimizer, arguments)
        row[f"{optimizer}: first_peak_bytes"] = measuring.peak_bytes(case.step, 2)
        row[f"{optimizer}: peak_bytes"] = measuring.peak_bytes(case.step, 3)
        del case
    say(row, "memory", begin)


def prepared(row, arguments):
    case = Case(row["subject"], row["layout"], row["how"], "plain SGD", arguments)
    row["first_loss"], row["last_loss"] = case.prepare(row["how"])
    return case


def prepare(rows, cases, arguments, begin):
    """Adds to `cases` those of the rows that run."""
    for row in rows:
        if row["how"] == "compiled" and time.monotonic() - begin > arguments.seconds:
            row["error"] = f"{arguments.seconds:g} seconds were given for what comes before compiling"
            continue
        case = measuring.attempt(row, lambda row=row: prepared(row, arguments))
        if case is not None and "error" not in row:
            cases.append((case, row))
        say(row, "ready", begin)


def measure(cases, rounds):
    """The cases take turns; their rows get the times."""
    times = [[] for _ in cases]
    for _ in range(rounds):
        for (case, _), own in zip(cases, times):
            own.append(case.time())
    for (_, row), own in zip(cases, times):
        row["step"] = measuring.summary(own)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small pictures and layers; for a test of this program")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=240, help="compile while fewer have passed; default: %(default)s")
    parser.add_argument("--search", action="store_true", help="with cuDNN's search (cudnn.benchmark), which takes minutes")
    arguments = parser.parse_args()
    arguments.device = "cuda" if torch.cuda.is_available() else "cpu"
    if arguments.device == "cpu" and not arguments.quick:
        sys.exit("network.py: PyTorch sees no GPU; --quick runs on the CPU")
    arguments.batch, arguments.size, arguments.classes, arguments.width = 32, 224, 1000, 1
    if arguments.quick:
        arguments.batch, arguments.size, arguments.classes, arguments.width, arguments.rounds = 4, 32, 10, 16, 3
    return arguments


def show(rows):
    for row in rows:
        name = f"{row['subject']}, {row['layout']}, {row['how']}"
        if "error" in row:
            print(f"{name:60} not run: {row['error']}")
            continue
        peak = [row.get(f"{optimizer}: peak_bytes") for optimizer in MOMENTA]
        memory = " ".join(f"{value / 1e6:9.1f} MB" for value in peak if value)
        print(f"{name:60} {row['step']['median_ms']:9.3f} ms {memory}")


def keep(rows, arguments, begin):
    """Writes the file of --json."""
    result = {"schema": SCHEMA, "machine": measuring.machine(), "batch": arguments.batch, "size": arguments.size,
              "rounds": arguments.rounds, "search": arguments.search, "quick": arguments.quick, "rows": rows,
              "seconds": round(time.monotonic() - begin, 1)}
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


def main():
    arguments = parse()
    begin = time.monotonic()
    torch.backends.cudnn.benchmark = arguments.search
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    rows, cases = plan(arguments), []
    for row in rows:
        if row["how"] == "eager":
            measuring.attempt(row, lambda row=row: peaks(row, arguments, begin))
    measuring.free()
    compiled = [row for row in rows if row["how"] == "compiled"]
    # What is compiled may take longer than one waits: without it first, then all again.
    for group in ([row for row in rows if row["how"] != "compiled"], compiled):
        if group:
            prepare(group, cases, arguments, begin)
            measure(cases, arguments.rounds)
            keep([row for row in rows if "step" in row or "error" in row], arguments, begin)
    show(rows)


if __name__ == "__main__":
    main()
