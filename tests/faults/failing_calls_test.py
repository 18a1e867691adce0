#!/usr/bin/env python3
"""failing_calls_test.py QSIM LIBRARY: every system call with which a command writes a file fails once, in
turn: no half file has a final name, no temporary is left, and exit code 3 comes with one line."""
import errno
import os
import sys

from common import COMMANDS, PRELOADED, Case, check, check_error, check_whole, contents, work_folder

# What fails, and with what: "on" goes on failing, as a full disk does.
FAULTS = [("open", errno.EACCES, ""), ("open", errno.ENOSPC, ""), ("write", errno.ENOSPC, "on"),
          ("write", errno.EDQUOT, ""), ("write", errno.EIO, ""), ("fsync", errno.EIO, ""),
          ("fsync", errno.ENOSPC, "on"), ("close", errno.EIO, ""), ("rename", errno.EACCES, ""),
          ("rename", errno.ENOSPC, "on"), ("mkdir", errno.EACCES, ""), ("unlink", errno.EACCES, "")]
# What is not a failure: the call is to be made again, or for the rest.
NUISANCES = [("open", errno.EINTR), ("write", errno.EINTR), ("write", 0), ("fsync", errno.EINTR),
             ("close", errno.EINTR), ("rename", errno.EINTR)]
# These may fail unnoticed for a file that has no content to lose: closing it, taking a trial away.
MAY_PASS = ("close", "unlink", "open")


def run_with_fault(case, library, call, number, error, onward=""):
    log = case.work / "fault"
    log.unlink(missing_ok=True)
    outcome = case.run(2, {
        "LD_PRELOAD": library, "QSIM_FAULT_FOLDER": str(case.there), "QSIM_FAULT_CALL": call,
        "QSIM_FAULT_NTH": str(number), "QSIM_FAULT_ERRNO": str(error), "QSIM_FAULT_ONWARD": onward,
        "QSIM_FAULT_LOG": str(log), **PRELOADED})
    return outcome, log.exists()


def every_call_in_turn(case, library, call, error, onward, old, new):
    """How many calls failed."""
    number = 0
    while True:
        number += 1
        before = restore(case, old)
        outcome, failed = run_with_fault(case, library, call, number, error, onward)
        what = f"{case.name}, {call} {number} fails with {errno.errorcode.get(error, 'half')}"
        found = contents(case.there) if case.there.exists() else {}
        if not failed:
            check(outcome.returncode == 0 and found == new, f"{what}: without a fault: {outcome.stderr}")
            return number - 1
        if outcome.returncode == 0 and call in MAY_PASS:
            check(found == new, f"{what}: says it is done and is not")
            continue
        check_error(outcome, what, case.there)
        check_whole(found, [before, new], case, what)


def restore(case, old):
    """The folder as it was before; `old` by its bytes."""
    case.fresh()
    for name, content in old.items():
        (case.there / name).write_bytes(content)
    return contents(case.there)


def raw(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def nuisances(case, library, new):
    for call, error in NUISANCES:
        number = 0
        failed = True
        while failed:
            number += 1
            case.fresh()
            outcome, failed = run_with_fault(case, library, call, number, error)
            what = f"{case.name}, {call} {number}, {errno.errorcode.get(error, 'half of it')}"
            check(outcome.returncode == 0, f"{what}: {outcome.stderr}")
            check(contents(case.there) == new, f"{what}: another result")


def main():
    qsim, library = sys.argv[1:]
    total = 0
    for name in COMMANDS:
        with work_folder() as work:
            case = Case(qsim, name, work)
            new = case.fresh(2)
            case.fresh(1)
            old = raw(case.there)
            count = 0
            # A folder of thirty files shows nothing more with every reason for the same call.
            faults = FAULTS if name != "export-vectors" else FAULTS[2::3]
            for call, error, onward in faults:
                for before in ({}, old):
                    count += every_call_in_turn(case, library, call, error, onward, before, new)
            nuisances(case, library, new)
            check(count > 8, f"{name}: {count} calls are fewer than it takes to write a file")
            print(f"{name}: {count} failed calls, none left half a file")
            total += count
    print(f"{total} failed calls")


if __name__ == "__main__":
    os.umask(0o022)

    main()
