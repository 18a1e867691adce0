#!/usr/bin/env python3
"""interrupt_test.py QSIM LIBRARY: Ctrl-C and its like, at random moments, in long phases, and while a write
hangs. Exit code 130, a line that says what was kept, and it is there; no temporary, no half file.
interrupt_test.py --measure QSIM LIBRARY [RUNS]: no test; prints how long the process lives after a SIGINT."""
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import time

from common import PRELOADED, TEMPORARY, Case, check, check_whole, contents, slow_files, work_folder

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
LINE = re.compile(r"qsim: interrupted(: .*)?; kept: (.*)\n$")
# What takes long by itself: more work than a test's time has room for. It ends because it is interrupted.
LONG = [["verify", "--seeds", "1000000", "--engines", "interpreter"],
        ["golden", "bench", "--model", "vgg16", "--runs", "100000", "--backend", "cpu"],
        ["explain", "--model", "vgg16", "--batch", "16", "--config", "pe4x4"],
        ["run", "--model", "vgg16", "--batch", "8", "--engine", "interpreter", "--config", "pe4x4"]]
# What hangs, and which of them the process waits for, but not for long (docs/reference/limits.md).
HANGING = [("write", 1), ("write", 4), ("fsync", 2), ("open", 5), ("open", 8), ("rename", 1), ("rename", 3)]
WAITED_FOR = ("open", "rename")
UNKNOWN = "unknown, a file was being made"
ANSWER_S = 300  # of a process that should end at once; else the test fails as hung


def start(words, folder, environment=None):
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            restore_signals=True, preexec_fn=forget_ignored_signals,
                            env={**os.environ, "QSIM_GOLDEN": "cpu", **(environment or {})})


def forget_ignored_signals():
    for number in SIGNALS:  # a background job of a shell has SIGINT ignored
        signal.signal(number, signal.SIG_DFL)


def wait_until_ready(process):
    """Until the signals wait for qsim's thread; before that they end it as they end any program."""
    status = pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        blocked = int(fields.get("SigBlk", "0"), 16)
        if blocked >> (signal.SIGINT - 1) & 1 and int(fields["Threads"]) > 1:
            return
        time.sleep(0.002)


def interrupt(process, number):
    process.send_signal(number)
    errors = process.communicate(timeout=ANSWER_S)[1]
    return process.returncode, errors


def check_interrupted(code, errors, what):
    check(code == 130, f"{what}: exit code {code}: {errors}")
    said = LINE.search(errors)
    check(said, f"{what}: does not say what was kept: {errors!r}")
    return said[2]


def at_random_moments(qsim, library, draw, count):
    interrupted = 0
    for name in ("run --out", "run --dump-layers", "export-vectors"):
        with work_folder() as work:
            case = Case(qsim, name, work)
            results = [case.fresh(seed) for seed in (1, 2)]
            begin = time.monotonic()
            slow = slow_files(case, library)
            case.run(1, slow)
            seconds = time.monotonic() - begin
            for number in range(count):
                what = f"{name}, interrupt {number}"
                before = case.fresh()
                seed = 1 + number % 2
                process = start(case.command(seed), case.work / str(seed), slow)
                wait_until_ready(process)
                time.sleep(draw.uniform(0, 0.7) * seconds)
                code, errors = interrupt(process, draw.choice(SIGNALS))
                found = contents(case.there)
                check_whole(found, [before, *results], case, what)
                if code == 0:  # it was faster
                    continue
                interrupted += 1
                check_kept(check_interrupted(code, errors, what), found, what)
    check(interrupted > 0, "none was interrupted before its end")
    print(f"{interrupted} of {3 * count} interrupted before their end")


def check_kept(kept, found, what):
    if kept == "nothing":
        return
    last = pathlib.Path(kept.split(", the last ")[-1]).name
    check(last in found, f"{what}: says that {last} was kept")
    count = re.match(r"(\d+) files", kept)
    check(len(found) >= (int(count[1]) if count else 1), f"{what}: kept {kept}, found {sorted(found)}")


def in_long_phases(qsim, draw):
    for words in LONG:
        with work_folder() as work:
            process = start([qsim, *words, "--quiet"], work)
            wait_until_ready(process)
            time.sleep(draw.uniform(0, 1.5))
            process.send_signal(signal.SIGINT)  # and a second one, of the impatient
            kept = check_interrupted(*interrupt(process, signal.SIGINT), " ".join(words))
            check(kept == "nothing", f"{words}: kept {kept}")
            check(not os.listdir(work), f"{words}: left {os.listdir(work)}")
            print(f"interrupted: {' '.join(words)}")


def start_and_hang(case, library, call, number):
    """The process in its `number`th call of the kind, which takes an hour."""
    log = case.work / "hangs"
    log.unlink(missing_ok=True)
    process = start(case.command(1), case.work / "1", {
        "LD_PRELOAD": library, "QSIM_FAULT_FOLDER": str(case.there), "QSIM_FAULT_CALL": call,
        "QSIM_FAULT_NTH": str(number), "QSIM_FAULT_HANG": "1", "QSIM_FAULT_LOG": str(log), **PRELOADED})
    while not log.exists():
        check(process.poll() is None, f"{call} {number} does not hang: exit code {process.returncode}")
        time.sleep(0.01)
    return process


def while_a_call_hangs(qsim, library):
    """A disk that takes an hour for one call: the process does not wait for it, or, where a file is made or
    renamed, not for long. It cannot then know what is kept, and may leave one temporary, which goes with the
    next run."""
    for call, number in HANGING:
        with work_folder() as work:
            case = Case(qsim, "run --dump-layers", work)
            whole = case.fresh(1)
            case.fresh()
            what = f"{call} {number} hangs"
            process = start_and_hang(case, library, call, number)
            kept = check_interrupted(*interrupt(process, signal.SIGINT), what)
            found = contents(case.there)
            left = [name for name in found if TEMPORARY.match(name)]
            if call in WAITED_FOR:
                check(kept == UNKNOWN and len(left) <= 1, f"{what}: kept {kept}, left {left}")
                check(call != "rename" or left, f"{what}: not in a rename")
                found = {name: content for name, content in found.items() if name not in left}
            else:
                check_kept(kept, found, what)
            check_whole(found, [whole], case, what)
            check(case.run(1).returncode == 0 and contents(case.there) == whole, f"{what}: {left} stay")
            print(f"interrupted while {call} {number} hung; kept: {kept}; left: {len(left)}")


def with_closed_streams(qsim, library):
    """No file that is written becomes stdout or stderr, where the interrupt's line would end up in it."""
    with work_folder() as work:
        case = Case(qsim, "run --dump-layers", work)
        case.fresh()
        log = case.work / "hangs"
        closing = ["bash", "-c", 'exec "$@" >&- 2>&-', "bash", *case.command(1)]
        process = start(closing, case.work / "1", {
            "LD_PRELOAD": library, "QSIM_FAULT_FOLDER": str(case.there), "QSIM_FAULT_CALL": "write",
            "QSIM_FAULT_NTH": "2", "QSIM_FAULT_HANG": "1", "QSIM_FAULT_LOG": str(log), **PRELOADED})
        while not log.exists():
            check(process.poll() is None, f"closed streams: {process.returncode}")
            time.sleep(0.01)
        streams = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in (1, 2)]
        code, _ = interrupt(process, signal.SIGINT)
        check(streams == ["/dev/null", "/dev/null"] and code == 130, f"closed streams: {streams}, {code}")


def lives(process):
    try:
        return "State:\tZ" not in (process / "status").read_text()
    except OSError:
        return False


def start_rtl_build(qsim, folder):
    """The process while a Verilator of ours, which takes an hour, builds a model; and that Verilator."""
    (folder / "bin").mkdir()
    tool = ("#!/bin/sh\n[ \"$1\" != --getenv ] || exec echo /none\n"
            f"echo $$ > '{folder}/tool.part' && mv '{folder}/tool.part' '{folder}/tool'\nexec sleep 3600\n")
    for name, text in (("verilator", tool), ("clang++", "#!/bin/sh\n")):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    (folder / "odd.yaml").write_text("array_rows: 4\narray_cols: 8\nbus_bytes: 8\n")
    process = start([qsim, "run", "--config", "./odd.yaml", "--engine", "rtl"], folder, {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "QSIM_CACHE": str(folder / "cache"),
        "XDG_CACHE_HOME": str(folder), "HOME": str(folder)})
    while not (folder / "tool").exists():
        check(process.poll() is None, "there is a model already, so that none is built")
        time.sleep(0.01)
    return process, pathlib.Path("/proc") / (folder / "tool").read_text().strip()


def in_a_build_of_rtl(qsim):
    """The tools that build a model end with qsim, and leave nothing where the models are kept."""
    with work_folder() as work:
        process, tool = start_rtl_build(qsim, pathlib.Path(work))
        kept = check_interrupted(*interrupt(process, signal.SIGTERM), "a build of RTL")
        check(kept == "nothing", f"kept {kept}")
        while lives(tool):
            time.sleep(0.01)  # else the test hangs, and fails by its time limit
        cache = pathlib.Path(work) / "cache" / "rtl"
        while any(cache.iterdir()):
            time.sleep(0.01)
        print("interrupted while an RTL model was built: its tools have ended too")


def phases(qsim, library, draw):
    """Names, and how to bring a process there in a folder."""
    def at_work(words, seconds):
        def begin(work):
            process = start([qsim, *words, "--quiet"], work)
            wait_until_ready(process)
            time.sleep(draw.uniform(0, seconds))
            return process
        return begin

    def hanging(call, number):
        def begin(work):
            case = Case(qsim, "run --dump-layers", work)
            case.fresh()
            return start_and_hang(case, library, call, number)
        return begin

    # Within its first half second: start, import, compile, simulate.
    yield "run --model vgg16 --batch 8", at_work(["run", "--model", "vgg16", "--batch", "8"], 0.5)
    for words in LONG:
        yield " ".join(words), at_work(words, 1.5)
    yield "an RTL model is built", lambda work: start_rtl_build(qsim, pathlib.Path(work))[0]
    for call, number in HANGING:
        yield f"{call} {number} hangs", hanging(call, number)


def measure(qsim, library, runs):
    draw = random.Random(1)
    print(f"from SIGINT to the end of the process, {runs} runs: median and largest, in ms")
    for name, begin in phases(qsim, library, draw):
        taken_ms = []
        for _ in range(runs):
            with work_folder() as work:
                process = begin(work)
                sent = time.monotonic()
                check_interrupted(*interrupt(process, signal.SIGINT), name)
                taken_ms.append(1000 * (time.monotonic() - sent))
        print(f"{name:72} {statistics.median(taken_ms):6.1f} {max(taken_ms):6.1f}", flush=True)


def main():
    if sys.argv[1] == "--measure":
        measure(*sys.argv[2:4], int(sys.argv[4]) if len(sys.argv) > 4 else 11)
        return
    qsim, library = sys.argv[1:3]
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    while_a_call_hangs(qsim, library)
    with_closed_streams(qsim, library)
    in_long_phases(qsim, draw)
    in_a_build_of_rtl(qsim)
    at_random_moments(qsim, library, draw, 12)


if __name__ == "__main__":
    main()
