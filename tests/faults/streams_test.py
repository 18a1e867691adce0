#!/usr/bin/env python3
"""streams_test.py QSIM: standard output that is full, closed or not read; no permission; a disk that is
really full. An error with exit code 3, never a silent success, and nothing half-written."""
import os
import pathlib
import shutil
import subprocess
import sys

from common import COMMANDS, Case, check, check_error, check_whole, contents, skip, work_folder

NOBODY = 65534


def shell(case, command):
    return subprocess.run(["bash", "-c", command], cwd=case.work / "1", stderr=subprocess.PIPE, text=True,
                          check=False, timeout=120, env={**os.environ, "QSIM_GOLDEN": "cpu"})


def standard_output(qsim):
    with work_folder() as work:
        case = Case(qsim, "run --json", work)
        case.fresh()
        there, run = case.there, f"'{qsim}' --model ./small.yaml --quiet"
        full = shell(case, f"{run} --json '{there}/full.json' > /dev/full")
        check_error(full, "stdout is full")
        check("standard output: cannot be written: the disk is full" in full.stderr, full.stderr)
        closed = shell(case, f"{run} --json '{there}/closed.json' >&-")
        check_error(closed, "stdout is closed")
        check("standard output: cannot be written: it is closed" in closed.stderr, closed.stderr)
        for words in ("--version", "--help", "golden info", "inspect vgg8-cifar10", "run --json -"):
            check_error(shell(case, f"'{qsim}' {words} > /dev/full"), f"{words} > /dev/full")
        # As any filter: quietly by SIGPIPE (141 to a shell); what was to be kept is there.
        piped = shell(case, f"{run} --json '{there}/piped.json' | true; exit ${{PIPESTATUS[0]}}")
        check(piped.returncode in (0, 141), f"nobody reads: {piped.returncode} {piped.stderr}")
        found = contents(there)
        check(sorted(found) == ["closed.json", "full.json", "piped.json"], f"kept: {sorted(found)}")
        check(len(set(found.values())) == 1, "the files differ")
        quiet = shell(case, f"{run} 2>&- <&- | tail -n 1 | grep -q mismatches")
        check(quiet.returncode == 0, f"without stdin and stderr: {quiet.returncode}")
    print("standard output: full, closed, not read")


def no_permission(qsim):
    """As a user who may read everything here and write nothing."""
    become = []
    if os.geteuid() == 0:
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        usable = shutil.which("setpriv") and subprocess.run(
            [*become, qsim, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False).returncode == 0
        if not usable:
            return "setpriv cannot run qsim as another user (is its folder closed to others?)"
    for name in COMMANDS:
        with work_folder() as work:
            case = Case(qsim, name, work)
            old = case.fresh(1)
            case.there.chmod(0o555)
            outcome = subprocess.run([*become, *case.command(2)], cwd=case.work / "2", text=True, check=False,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            check_error(outcome, f"{name} without permission", case.there)
            check("no permission" in outcome.stderr, outcome.stderr)
            check(contents(case.there) == old, f"{name} without permission: something changed")
            case.there.chmod(0o755)
    print("no permission")
    return None


def full_disk(qsim):
    """A tmpfs of some pages in a mount namespace of its own, with and without an older result in it."""
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    tried = subprocess.run([*namespace, "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if shutil.which(
                               "unshare") else None
    if tried is None or tried.returncode != 0:
        return "no mount namespace can be made here"
    failed = 0
    for name in COMMANDS:
        with work_folder() as work:
            case = Case(qsim, name, work)
            good = [case.fresh(seed) for seed in (1, 2)]
            for kib in (4, 8, 16, 32, 48, 64, 128):
                failed += on_a_disk_of(kib, case, namespace, good)
    check(failed > 0, "no disk was full")
    print(f"full disk: {failed} runs, none left half a file")
    return None


def on_a_disk_of(kib, case, namespace, good):
    """Twice, so that the second writes over what the first left. Copied out by the shell that made it."""
    kept = case.work / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    script = (f"mount -t tmpfs -o size={kib}k none '{case.there}' && code=0; "
              f"{' '.join(case.command(1))} > /dev/null 2> ../err1; cd ../2; "
              f"{' '.join(case.command(2))} > /dev/null 2> ../err2 || code=$?; "
              f"cp -a '{case.there}' '{kept}'; exit $code")
    outcome = subprocess.run([*namespace, "bash", "-c", script], cwd=case.work / "1", check=False)
    what = f"{case.name} on a disk of {kib} KiB"
    found = contents(kept)
    if outcome.returncode == 0:
        check(found == good[1], f"{what}: says it is done and is not")
        return 0
    outcome.stderr = pathlib.Path(case.work / "err2").read_text()
    check_error(outcome, what, case.there)
    check("the disk is full" in outcome.stderr, outcome.stderr)
    check_whole(found, good, case, what)
    return 1


def main():
    what, qsim = sys.argv[1:3]
    reason = {"standard_output": standard_output, "no_permission": no_permission, "full_disk": full_disk}[what](qsim)
    if reason:
        skip(reason)


if __name__ == "__main__":
    main()
