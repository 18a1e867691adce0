#!/usr/bin/env python3
"""writers_test.py QSIM LIBRARY: processes that write into one folder at the same time. One writes, the others end
with exit code 3 and one line; the folder's files are of one run. A lock ends with its process, and a file system
without locks is told in a note."""
import errno
import os
import pathlib
import signal
import subprocess
import sys
import time

from common import PRELOADED, Case, check, check_error, contents, slow_files, work_folder

FOLDERS = ["run --out", "run --dump-layers", "export-vectors", "golden run --out"]
REFUSED = "another qsim process is writing into this folder; wait for it, or name another folder"
ROUNDS = 60
PROCESSES = 4


def start(case, seed, there=None, environment=None):
    return subprocess.Popen(case.command(seed, there), cwd=case.work / str(seed), stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "QSIM_GOLDEN": "cpu", **(environment or {})})


def end(process):
    process.stderr_text = process.communicate(timeout=300)[1]
    return process


def check_refused(process, what, there):
    process.stderr = process.stderr_text
    check_error(process, what, there)
    check(REFUSED in process.stderr, f"{what}: {process.stderr}")


def race(case, what, results, there, slow):
    """The number of processes that were refused."""
    processes = [start(case, 1 + number % 2, there, slow) for number in range(PROCESSES)]
    ended = [end(process) for process in processes]
    done = [process for process in ended if process.returncode == 0]
    check(done, f"{what}: none was let in: {ended[0].stderr_text}")
    for process in ended:
        if process.returncode != 0:
            check_refused(process, what, there)
    found = contents(there)
    check(any(found == result for result in results), f"{what}: files of two runs, or not all: {sorted(found)}")
    return PROCESSES - len(done)


def together(qsim, library):
    """Rounds of four, half of them into a folder that none of them has found."""
    for name in FOLDERS:
        refused = 0
        with work_folder() as work:
            case = Case(qsim, name, work)
            results = [case.fresh(seed) for seed in (1, 2)]
            slow = slow_files(case, library)
            for number in range(ROUNDS // len(FOLDERS)):
                case.fresh()
                there = case.there / "made" / "deep" if number % 2 else case.there
                refused += race(case, f"{name}, round {number}", results, there, slow)
        check(refused > 0, f"{name}: no two processes met")
        print(f"{name}: {ROUNDS // len(FOLDERS)} rounds of {PROCESSES}, {refused} refused, no mixed folder")


def wait_for(log, process):
    while not log.exists():
        check(process.poll() is None, f"does not hang: exit code {process.returncode}")
        time.sleep(0.01)


def while_one_writes(qsim, library):
    """Refused by every spelling of the folder while another is in the middle of it; let in once that was killed."""
    for name in FOLDERS:
        with work_folder() as work:
            case = Case(qsim, name, work)
            results = [case.fresh(seed) for seed in (1, 2)]
            case.fresh()
            log = case.work / "hangs"
            (case.work / "link").symlink_to(case.there)
            first = start(case, 1, environment={
                "LD_PRELOAD": library, "QSIM_FAULT_FOLDER": str(case.there), "QSIM_FAULT_CALL": "write",
                "QSIM_FAULT_NTH": "1", "QSIM_FAULT_HANG": "1", "QSIM_FAULT_LOG": str(log), **PRELOADED})
            wait_for(log, first)
            for there in (case.there, case.work / "link", f"{case.work}/1/../there/", "../there"):
                check_refused(end(start(case, 2, there)), f"{name} into {there}", there)
            first.send_signal(signal.SIGKILL)
            first.communicate()
            third = case.run(2)
            check(third.returncode == 0, f"{name} after a kill: {third.stderr}")
            check(contents(case.there) == results[1], f"{name} after a kill: another result")
            print(f"{name}: refused while another writes, let in after it was killed")


def has_open(process, folder):
    """Whether one of the process's descriptors is of that folder."""
    links = []
    for link in (pathlib.Path("/proc") / str(process.pid) / "fd").iterdir():
        try:
            links.append(os.readlink(link))
        except OSError:  # closed in the meantime
            pass
    return str(folder) in links


LONG = ["run", "--model", "vgg16", "--batch", "8", "--engine", "interpreter", "--config", "pe4x4", "--quiet"]


def a_refused_one_removes_nothing(qsim):
    """A folder that another made and has written nothing into yet stays; that one removes it when it ends."""
    with work_folder() as work:
        case = Case(qsim, "run --out", work)
        result = case.fresh(1)
        case.fresh()
        there = case.there / "new" / "deep"
        first = subprocess.Popen([qsim, *LONG, "--out", there], cwd=work, stdout=subprocess.DEVNULL, text=True,
                                 stderr=subprocess.PIPE, env={**os.environ, "QSIM_GOLDEN": "cpu"})
        while not has_open(first, there):
            check(first.poll() is None, f"makes no folder: exit code {first.returncode}")
            time.sleep(0.01)
        time.sleep(0.1)  # it locks the folder right after it opened it
        check_refused(end(start(case, 2, there)), "a folder that is still empty", there)
        check(there.is_dir(), "the refused process removed the folder")
        first.send_signal(signal.SIGTERM)
        check(end(first).returncode == 130, f"interrupted: {first.stderr_text}")
        check(case.there.is_dir() and not list(case.there.iterdir()), "folders stay")
        last = end(start(case, 1, there))
        check(last.returncode == 0 and contents(there) == result, f"the last run: {last.stderr_text}")
        print("a folder that is still empty: refused, and it stays")


def without_locks(qsim, library):
    """As on some network file systems, and where a folder may not be read: the run goes on, with a note."""
    for number in (errno.ENOLCK, errno.EBADF, errno.EOPNOTSUPP):
        with work_folder() as work:
            case = Case(qsim, "run --out", work)
            result = case.fresh(1)
            case.fresh()
            environment = {"LD_PRELOAD": library, "QSIM_FAULT_FOLDER": str(case.there), "QSIM_FAULT_CALL": "flock",
                           "QSIM_FAULT_NTH": "1", "QSIM_FAULT_ONWARD": "1", "QSIM_FAULT_ERRNO": str(number),
                           **PRELOADED}
            loud = [word for word in case.command(1) if word != "--quiet"]
            outcome = subprocess.run(loud, cwd=case.work / "1", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     text=True, check=False, timeout=120,
                                     env={**os.environ, "QSIM_GOLDEN": "cpu", **environment})
            check(outcome.returncode == 0, f"{errno.errorcode[number]}: {outcome.stderr}")
            check(f"qsim: note: {case.there}: cannot be locked here; let no other run write into it\n" in
                  outcome.stderr, f"{errno.errorcode[number]}: {outcome.stderr}")
            check(contents(case.there) == result, f"{errno.errorcode[number]}: another result")
    print("without locks: a note, and the result")


def main():
    qsim, library = sys.argv[1:3]
    while_one_writes(qsim, library)
    a_refused_one_removes_nothing(qsim)
    without_locks(qsim, library)
    together(qsim, library)


if __name__ == "__main__":
    main()
