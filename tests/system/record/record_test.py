#!/usr/bin/env python3
"""What is preloaded into the tests' processes writes down what they did, once, and doesn't disturb them.

usage: record_test.py RECORDER QSIM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "meta"))
import provoked  # noqa: E402  the reader of the record

faults = []


def check(what, found, wanted):
    """Complains unless both are the same."""
    if found != wanted:
        faults.append(f"{what}: {found!r}; expected {wanted!r}")


def run(recorder, record, script, *arguments):
    """Exit status of a bash script that is recorded; below 0 for a signal."""
    environment = dict(os.environ, LD_PRELOAD=recorder, QSIM_RECORD=str(record))
    return subprocess.run(["bash", "-c", script, "bash", *arguments], env=environment, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def main():
    recorder, qsim = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        record = pathlib.Path(name, "record.jsonl")
        record.write_text("")
        check("qsim's exit code", run(recorder, record, '"$1" run --model "no\u2028where"; true', qsim), 0)
        errors, runs = provoked.read_record(record)
        check("the error's code", [code for code, _ in errors], [3])
        check("its message", all(r"no\xe2\x80\xa8where" in message for _, message in errors), True)
        check("the command lines", [(status, argv[1:2]) for status, argv in runs], [(3, ["run"]), (0, ["-c"])])

        record.write_text("")
        check("a shell with a subshell", run(recorder, record, "(exit 7); [ $? -eq 7 ]; exit 4"), 4)
        check("is recorded once", [status for status, _ in provoked.read_record(record)[1]], [4])

        # A file that is larger than allowed already, and one that a line would make so.
        for size in (4000, 1020):
            record.write_text("\n" * size)
            script = 'ulimit -f 1; "$1" --version; exit 5'
            check(f"with ulimit -f and a record of {size} bytes", run(recorder, record, script, qsim), 5)
            check("no half line is written", record.read_text(), "\n" * size)
    print("\n".join(faults))
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
