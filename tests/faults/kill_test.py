#!/usr/bin/env python3
"""kill_test.py QSIM LIBRARY: `kill -9` at random moments while results are written over older ones. Every
final name holds the old content or the new, whole; what was left besides goes with the next run."""
import os
import random
import subprocess
import sys
import time

from common import TEMPORARY, Case, check, check_whole, contents, settled, slow_files, work_folder

NAMES = ["run --out", "run --dump-layers", "export-vectors", "compile --out"]


def good_results(case, slow):
    """Contents by seed, and how long a run takes, for choosing moments in it."""
    results = {seed: case.fresh(seed) for seed in (1, 2)}
    begin = time.monotonic()
    case.run(2, slow)
    return results, time.monotonic() - begin


def contents_without_leftovers(case):
    """Temporaries are recognised by their names, and left alone."""
    return {path.name: settled(path) for path in case.there.iterdir() if not TEMPORARY.match(path.name)}


def kill_once(case, seed, delay, slow):
    with subprocess.Popen(case.command(seed), cwd=case.work / str(seed), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env={**os.environ, **slow}) as process:
        time.sleep(delay)
        process.kill()
    return process.returncode


def main():
    qsim, library = sys.argv[1:3]
    kills = 60
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw = random.Random(seed)
    killed = leftovers = 0
    for name in NAMES:
        with work_folder() as work:
            case = Case(qsim, name, work)
            slow = slow_files(case, library)
            results, seconds = good_results(case, slow)
            for number in range(kills // len(NAMES)):
                if kill_once(case, 1 + number % 2, draw.uniform(0.2, 1) * seconds, slow) != 0:
                    killed += 1
                found = contents_without_leftovers(case)
                leftovers += len(list(case.there.iterdir())) - len(found)
                check_whole(found, list(results.values()), case, f"{name}, kill {number}")
            outcome = case.run(1)
            check(outcome.returncode == 0, f"{name}: after all kills: {outcome.stderr}")
            check(contents(case.there) == results[1], f"{name}: something is left of the kills")
    check(killed > 0, "no process was killed before its end")
    print(f"{killed} of {kills} killed before their end, {leftovers} temporaries left and removed again")


if __name__ == "__main__":
    main()
