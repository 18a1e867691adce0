#!/usr/bin/env python3
"""signals_test.py QSIM LIBRARY: a signal that was ignored before qsim began does not end it, and one that comes
while an output is only tried, before the work, leaves nothing of the trial."""
import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

from common import PRELOADED, Case, check, contents, slow_files, work_folder

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def start(case, environment, ignored=None):
    def set_signals():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN if number == ignored else signal.SIG_DFL)
    return subprocess.Popen(case.command(1), cwd=case.work / "1", stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, preexec_fn=set_signals,
                            env={**os.environ, "QSIM_GOLDEN": "cpu", **environment})


def waits_for_signals(process):
    """Whether qsim's own thread takes the signals: it has another, and a signal that it takes is blocked."""
    status = (pathlib.Path("/proc") / str(process.pid) / "status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    blocked = int(fields.get("SigBlk", "0"), 16)
    return int(fields.get("Threads", "1")) > 1 and any(blocked >> (number - 1) & 1 for number in SIGNALS)


def ignored_ones_stay_ignored(qsim, library):
    with work_folder() as work:
        case = Case(qsim, "run --out", work)
        whole = case.fresh(1)
        for number in SIGNALS:
            case.fresh()
            process = start(case, slow_files(case, library), ignored=number)
            while process.poll() is None and not waits_for_signals(process):
                time.sleep(0.002)
            process.send_signal(number)
            errors = process.communicate(timeout=300)[1]
            check(process.returncode == 0, f"{number.name}, ignored: {process.returncode}: {errors}")
            check(contents(case.there) == whole, f"{number.name}, ignored: another result")
            print(f"{number.name} stays ignored")


def a_trial_goes(qsim, library):
    """The process hangs where it takes the trial away itself."""
    with work_folder() as work:
        case = Case(qsim, "run --json", work)
        case.fresh()
        log = case.work / "hangs"
        process = start(case, {
            "LD_PRELOAD": library, "QSIM_FAULT_FOLDER": str(case.there), "QSIM_FAULT_CALL": "unlink",
            "QSIM_FAULT_NTH": "1", "QSIM_FAULT_HANG": "1", "QSIM_FAULT_LOG": str(log), **PRELOADED})
        while not log.exists():
            check(process.poll() is None, f"no trial hangs: exit code {process.returncode}")
            time.sleep(0.01)
        check(len(list(case.there.iterdir())) == 1, "there is no trial")
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=300)[1]
        check(process.returncode == 130, f"a trial: exit code {process.returncode}: {errors}")
        check(not list(case.there.iterdir()), f"a trial stays: {list(case.there.iterdir())}")
        print("interrupted while an output was tried: nothing is left")


def the_first_moment_counts(qsim, library):
    """A signal that comes while main begins, before any thread is there to take it."""
    with work_folder() as work:
        case = Case(qsim, "run --out", work)
        for number in SIGNALS:
            case.fresh()
            process = start(case, {"LD_PRELOAD": library, "QSIM_FAULT_SIGNAL": str(int(number)), **PRELOADED})
            errors = process.communicate(timeout=300)[1]
            check(process.returncode == 130, f"{number.name} in main: exit code {process.returncode}: {errors}")
            check(errors == "qsim: interrupted; kept: nothing\n", f"{number.name} in main: {errors!r}")
            check(not list(case.there.iterdir()), f"{number.name} in main: something is left")
        print("a signal in the first moment of main: exit code 130")


def right_after_exec(qsim):
    """At random moments of the first milliseconds. Once the signals are blocked, which is the first thing that main
    does, the process ends with 130 or has ended well; before, while libraries are loaded, it ends as any program."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    codes = collections.Counter()
    with work_folder() as work:
        case = Case(qsim, "run --out", work)
        for _ in range(200):
            case.fresh()
            number = draw.choice(SIGNALS)
            process = start(case, {})
            time.sleep(draw.uniform(0, 0.03))
            status = (pathlib.Path("/proc") / str(process.pid) / "status").read_text()
            blocked = int(re.search(r"SigBlk:\t(\w+)", status)[1], 16) >> (number - 1) & 1
            process.send_signal(number)
            errors = process.communicate(timeout=300)[1]
            allowed = (0, 130) if blocked else (0, 130, -number)
            check(process.returncode in allowed, f"{number.name}: {process.returncode}: {errors}")
            codes["before main" if process.returncode == -number else process.returncode] += 1
    check(codes[130] > 0, f"none was interrupted in time: {codes}")
    print(f"right after exec: {dict(codes)}")


def main():
    the_first_moment_counts(*sys.argv[1:3])
    right_after_exec(sys.argv[1])
    ignored_ones_stay_ignored(*sys.argv[1:3])
    a_trial_goes(*sys.argv[1:3])


if __name__ == "__main__":
    main()
