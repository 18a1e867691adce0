#!/usr/bin/env python3
"""Runs the steps of gpu-test and prints the table; run.sh calls it."""
import argparse
import concurrent.futures
import math
import pathlib
import signal
import sys
import time
import traceback

import measurements
import steps
from session import FAILED, NOT_THERE, SKIPPED, Session, required_names

LEAST_S = 5  # a step is not begun with less time left


def minutes(text):
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise ValueError
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="run.sh", description="Tests and measures this machine's GPU; ends with a table. Exit codes: "
        "0 every step is ok, or missing with --lenient; 1 a step failed; 2 usage; 3 no GPU; 130 interrupted.",
        epilog="QSIM_DATA: a folder with cifar10/test_batch.bin (else data/ beside run.sh). QSIM_REQUIRE: "
        "what --lenient must not skip: data, compute-sanitizer, onnxruntime, torch; separated by commas.")
    parser.add_argument("--quick", action="store_true", help="fewer shapes, no measurements")
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="only steps whose name has NAME in it; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the names of the steps")
    parser.add_argument("--lenient", action="store_true",
                        help="what the machine lacks is skipped, and is no failure")
    parser.add_argument("--minutes", type=minutes, help="time for everything (default 9; 3 with --quick)")
    parser.add_argument("--results", type=pathlib.Path, metavar="DIR",
                        help="where the log and the JSON files go (default: results/ beside run.sh)")
    return parser, parser.parse_args()


def chosen_steps(parser, args):
    if not all(name.strip() for name in args.only):
        parser.error("--only needs a name that is not empty; --list has the names")

    def wanted(step):
        if not args.only:
            return step.quick or not args.quick
        return any(name.lower() in step.name.lower() for name in args.only)

    chosen = [step for step in steps.STEPS if wanted(step)]
    if not chosen:
        parser.error(f"no step has {' or '.join(args.only)} in its name; --list has the names")
    return chosen


def run_step(session, step):
    """(name, result, seconds, detail); what a step does not foresee is its failure."""
    begin = time.monotonic()
    if session.left_s() < LEAST_S:
        return step.name, FAILED, 0.0, "not begun: no time is left"
    session.log(f"==== {step.name}")
    try:
        result, detail = step.action(session)
    except Exception:  # pylint: disable=broad-except
        session.log(traceback.format_exc())
        result, detail = FAILED, traceback.format_exc().strip().splitlines()[-1]
    print(f"  {step.name}: {result}", file=sys.stderr, flush=True)
    return step.name, result, time.monotonic() - begin, detail


def run_steps(session, chosen):
    """Rows in the order of the steps."""
    lanes = {}
    for step in chosen:
        lanes.setdefault(step.lane, []).append(step)

    def run_lane(lane):
        return [run_step(session, step) for step in lane]

    rows = []
    for phase in steps.PHASES:
        now = [lanes[lane] for lane in phase if lane in lanes]
        with concurrent.futures.ThreadPoolExecutor(len(phase)) as pool:
            running = [pool.submit(run_lane, lane) for lane in now]
            # By the half second: Python sees a signal that comes just as a wait begins when the wait ends.
            while concurrent.futures.wait(running, timeout=0.5).not_done:
                pass
            for lane in running:
                rows += lane.result()
    order = {step.name: at for at, step in enumerate(chosen)}
    return sorted(rows, key=lambda row: order[row[0]])


def layout(titles, rows):
    widths = [max(len(row[i]) for row in [titles, *rows]) for i in range(len(titles))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in [titles, ["-" * width for width in widths], *rows]]
    return "\n".join(lines)


def table_text(session, rows):
    text = layout(("step", "result", "time", "detail"),
                  [(name, result, f"{seconds:.1f} s", detail[:160])
                   for name, result, seconds, detail in rows])
    layers = measurements.layer_rows(session)
    if layers:
        text = layout(("layer", "kernel", f"ours, batch {measurements.LAYER_BATCH}", "of peak",
                       "cuDNN fp16", "cuBLASLt int8", "ratio", "target"), layers) + "\n\n" + text
    return text


def main():
    parser, args = parse_arguments()
    chosen = chosen_steps(parser, args)
    try:
        required_names()
    except ValueError as error:
        parser.error(str(error))
    if args.list:
        print("\n".join(step.name for step in steps.STEPS))
        return 0
    bundle = pathlib.Path(__file__).resolve().parents[1]
    try:
        session = Session(bundle, (args.results or bundle / "results").resolve(), args.minutes or (3 if args.quick else 9), args.quick,
                          args.lenient)
    except OSError as error:
        parser.error(f"--results: {error}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: interrupt(session))
    try:
        return run_session(session, chosen)
    except KeyboardInterrupt:
        print("gpu-test: interrupted", file=sys.stderr)
        return 130


def interrupt(session):
    session.stop()
    raise KeyboardInterrupt


def run_session(session, chosen):
    info = session.run([session.program("qsim"), "golden", "info"], 60)
    probe = session.run([session.program("requantize_device")], 60)
    if probe.exit_code == 77:
        print(f"gpu-test: no GPU can be used here: {probe.last_line()}\n{info.output}", file=sys.stderr)
        return 3
    rows = run_steps(session, chosen)
    text = table_text(session, rows)
    session.log(text)
    count = {result: sum(row[1] == result for row in rows) for result in (FAILED, SKIPPED, NOT_THERE)}
    print(info.output)
    print(text)
    print(f"\n{len(rows)} steps, {count[FAILED]} failed, {count[SKIPPED]} skipped, {count[NOT_THERE]} not "
          f"there; log: {session.log_path}")
    if count[SKIPPED] + count[NOT_THERE]:
        print("not shown: " + "; ".join(row[0] for row in rows if row[1] in (SKIPPED, NOT_THERE)))
    return 1 if count[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
