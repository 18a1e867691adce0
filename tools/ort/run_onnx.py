"""Runs ONNX models with ONNX Runtime on one thread, .npy in and .npy out, exactly: exact_session.py.
It knows nothing of qsim.

  run_onnx.py [--optimization all|disabled] [--plain] [--repeat N] MODEL.onnx INPUT.npy OUTDIR
  run_onnx.py [--optimization all|disabled] [--plain] --batch LIST.json

LIST.json: [{"model": FILE, "input": FILE, "outdir": DIR}, ...]. Each output is written to
OUTDIR/<name>.npy, with '_' for characters of its name other than letters, digits, '.', '_' and '-'.
--repeat N prints {"median_ms": T} of N further runs. --plain takes the model and ONNX Runtime as they
are, as a user's own session does: for times, not for a comparison of values.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys
import time

import numpy as np
import onnx

import exact_session


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimization", choices=exact_session.OPTIMIZATIONS, default="all")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--repeat", type=int, default=0, metavar="N")
    parser.add_argument("--batch", metavar="LIST.json")
    parser.add_argument("run", nargs="*", metavar="MODEL.onnx INPUT.npy OUTDIR")
    args = parser.parse_args(words)
    if len(args.run) != (0 if args.batch else 3):
        parser.error("one of MODEL.onnx INPUT.npy OUTDIR and --batch LIST.json is needed")
    return args


def median_milliseconds(session, feeds, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        session.run(None, feeds)
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median_high(times)


def run_model(run, args):
    if args.plain:
        session = exact_session.open_plain_session(onnx.load(run["model"]), args.optimization)
    else:
        session = exact_session.open_session(run["model"], args.optimization)
    feeds = {session.get_inputs()[0].name: np.load(run["input"])}
    names = [output.name for output in session.get_outputs()]
    outdir = pathlib.Path(run["outdir"])
    outdir.mkdir(parents=True, exist_ok=True)
    for name, values in zip(names, session.run(names, feeds)):
        np.save(outdir / f"{re.sub('[^A-Za-z0-9._-]', '_', name)}.npy", values)
    if args.repeat > 0:
        print(json.dumps({"median_ms": median_milliseconds(session, feeds, args.repeat)}))


def main(words):
    args = parse_arguments(words)
    runs = [dict(zip(("model", "input", "outdir"), args.run))]
    if args.batch:
        runs = json.loads(pathlib.Path(args.batch).read_text(encoding="utf-8"))
    for run in runs:
        try:
            run_model(run, args)
        except exact_session.NotExact as error:
            sys.exit(f"run_onnx.py: {run['model']}: {error}")
        except Exception as error:  # pylint: disable=broad-exception-caught  # of ONNX Runtime's many
            sys.exit(f"run_onnx.py: {run['model']}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
