#!/usr/bin/env python3
"""Runs the benchmarks, prints their figures, and compares them with a baseline; ./dev bench calls it.

Exit codes: 0; 1 a benchmark failed; 2 usage; 3 a base that cannot be read, or a file that cannot be
written; 6 a figure is missing or worse than the base's by more than 10%, or none could be judged; 130 interrupted, what had
finished is kept. bench/README.md says more.
"""
import argparse
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
for folder in ("bench/common", "bench/cost_growth"):
    sys.path.insert(0, str(ROOT / folder))

import benches  # noqa: E402  pylint: disable=wrong-import-position
import compare  # noqa: E402  pylint: disable=wrong-import-position
import machine  # noqa: E402  pylint: disable=wrong-import-position
import page  # noqa: E402  pylint: disable=wrong-import-position
import results  # noqa: E402  pylint: disable=wrong-import-position
import text  # noqa: E402  pylint: disable=wrong-import-position
from figure import BadFigure, figure_of  # noqa: E402  pylint: disable=wrong-import-position
from stopper import Stopper  # noqa: E402  pylint: disable=wrong-import-position

BASELINES = ROOT / "bench/baselines"
FAILED, BAD_FILE, MISSED, INTERRUPTED = 1, 3, 6, 130


def say(line):
    print(line, file=sys.stderr, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.split("\n", maxsplit=1)[0],
                                     epilog="Benchmarks: " + ", ".join(benches.NAMES))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR",
                        help="the build folder (default build/release)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="only this benchmark; may be repeated")
    parser.add_argument("--json", metavar="FILE|-", help="keep the figures, schema qsim.bench/1")
    parser.add_argument("--against", metavar="BASE", help="compare the figures with a file of --json, or a "
                        "name of bench/baselines")
    parser.add_argument("--page", action="store_true",
                        help="rewrite the tables of docs/measurements/performance.md")
    parser.add_argument("--dry-run", action="store_true", help="check the options, and run nothing")
    args = parser.parse_args()
    check_arguments(parser, args)
    args.build = args.build.resolve()
    return args


def check_arguments(parser, args):
    for name in args.only:
        if name not in benches.NAMES:
            parser.error(f"--only: no benchmark '{name}'; there are {', '.join(benches.NAMES)}")
    if args.against == "" or args.json == "":
        parser.error("--against and --json need a name that is not empty")
    if args.page and args.only and "cost_growth" not in args.only:
        parser.error("--page needs the benchmark cost_growth")


def base_path(name):
    """A path, or a name of bench/baselines."""
    return pathlib.Path(name) if "/" in name or name.endswith(".json") else BASELINES / f"{name}.json"


def load_base(name):
    file = base_path(name)
    if not file.is_file() and file.parent == BASELINES:
        known = sorted(path.stem for path in BASELINES.glob("*.json"))
        raise results.BadResults(f"--against {name}: no such baseline; bench/baselines has "
                                 f"{', '.join(known) or 'none'}")
    return results.load(file)


def check_writable(file):
    """Before the work begins: results would otherwise be lost at its end."""
    folder = pathlib.Path(file).resolve().parent
    if folder == BASELINES and not folder.exists():  # git keeps no empty folder
        folder = folder.parent
    if pathlib.Path(file).is_dir() or not os.access(folder, os.W_OK):
        raise results.BadResults(f"--json {file}: cannot be written")


class Run:
    """The results as they grow; saved after every benchmark."""

    def __init__(self, args):
        self.stopper = Stopper()
        self.json = args.json
        self.commit, self.dirty = machine.commit(ROOT)
        self.machine = {"compiler": "unknown", "build_type": "unknown",
                        **machine.describe(args.build / "qsim")}
        self.date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.benches = {}
        self.figures = {}
        self.complete = False
        self.unsaved = ""  # why the file could not be written the last time

    def as_results(self):
        return {"schema": results.SCHEMA, "commit": self.commit, "dirty": self.dirty, "date": self.date,
                "machine": self.machine, "complete": self.complete, "benches": self.benches,
                "figures": self.figures}

    def save(self):
        if not self.json or self.json == "-":
            return
        try:
            results.save(self.json, self.as_results())
            self.unsaved = ""
        except OSError as error:  # the measurements go on, and are printed at least
            self.unsaved = f"--json {self.json}: cannot be written: {error.strerror}"
            say(f"bench: {self.unsaved}")

    def add(self, line):
        figure = figure_of(json.loads(line))
        if figure.name in self.figures:
            raise BadFigure(f"the figure {figure.name} came twice")
        self.figures[figure.name] = figure
        return figure


def read_figures(run, bench, child):
    for line in child.stdout:
        figure = run.add(line)
        if compare.bench_of(figure.name) != bench.name:
            raise BadFigure(f"the figure {figure.name} is not called {bench.name}/...")
        say(f"    {figure.name}  {text.figure_text(figure)}")


def run_command(run, bench, command):
    """What to note of the benchmark: RAN, or why not."""
    before = len(run.figures)
    try:
        with run.stopper.running(command, cwd=ROOT, env={**os.environ, "QSIM_GOLDEN": "cpu"}) as child:
            try:
                read_figures(run, bench, child)
            except (BadFigure, ValueError) as error:
                run.stopper.end()
                # The last line of a command that was ended may be cut short.
                return "interrupted" if run.stopper.asked else f"failed: {error}"
    except OSError as error:
        return f"failed: {command[0]}: {error.strerror}"
    if run.stopper.asked:
        return "interrupted"
    if child.returncode != 0:
        return f"failed: exit code {child.returncode}"
    return results.RAN if len(run.figures) > before else f"failed: {command[0]} printed no figure"


def run_bench(run, bench, args):
    reason = bench.why_not(args.build)
    if reason:
        return f"skipped: {reason}"
    for command in bench.commands(args.build):
        state = run_command(run, bench, [str(word) for word in command])
        if state != results.RAN:
            return state
    return results.RAN


def run_benches(run, args):
    """False when interrupted."""
    chosen = [bench for bench in benches.BENCHES if not args.only or bench.name in args.only]
    seconds = sum(bench.quiet_seconds for bench in chosen)
    say(f"  together some {text.duration(seconds)} on a quiet machine")
    for number, bench in enumerate(chosen, start=1):
        say(f"  ({number}/{len(chosen)}) {bench.name}: {bench.what}")
        begin = time.monotonic()
        run.benches[bench.name] = run_bench(run, bench, args)
        run.save()
        if run.stopper.asked:
            kept = args.json not in (None, "-") and not run.unsaved
            say("interrupted" + (f"; {args.json} has what was measured" if kept else ""))
            return False
        ran = run.benches[bench.name] == results.RAN
        say(f"    took {text.duration(time.monotonic() - begin)}" if ran else f"    {run.benches[bench.name]}")
    run.complete = True
    run.save()
    return True


def report(run, base, out):
    """Prints; whether something is flagged, or nothing could be judged."""
    if base is None:
        print(text.figures_table(run.figures.values()), file=out)
        paths = text.paths_table(run.figures.values())
        if paths:
            print(f"\n{paths}", file=out)
        return False
    new = run.as_results()
    rows = compare.compare(base, new)
    print(text.comparison_table(rows), file=out)
    for note in compare.notes(base, new):
        print(f"note: {note}", file=out)
    print(text.comparison_summary(rows), file=out)
    if compare.nothing_judged(rows):
        print("nothing could be judged: no figure is in both, or none of the same build and machine", file=out)
        return True
    return any(row.verdict in compare.FLAGGED for row in rows)


def main():
    args = parse_arguments()
    try:
        base = load_base(args.against) if args.against else None
        if args.json and args.json != "-":
            check_writable(args.json)
    except results.BadResults as error:
        say(f"bench: {error}")
        return BAD_FILE
    if args.dry_run:
        return 0
    if args.json and args.json != "-" and pathlib.Path(args.json).resolve().parent == BASELINES:
        BASELINES.mkdir(exist_ok=True)
    run = Run(args)
    finished = run_benches(run, args)
    out = sys.stderr if args.json == "-" else sys.stdout
    if args.json == "-":
        print(results.text_of(run.as_results()), end="")
    flagged = report(run, base, out)
    if not finished:
        return INTERRUPTED
    if any(state.startswith("failed") for state in run.benches.values()):
        say("bench: " + "; ".join(f"{name} {state}" for name, state in run.benches.items()
                                  if state.startswith("failed")))
        return FAILED
    if args.page:
        page.write(run.as_results())
    if run.unsaved:
        return BAD_FILE
    return MISSED if flagged else 0


if __name__ == "__main__":
    sys.exit(main())
