"""Counts the user-space instructions of a process: by the processor (perf) where it may, else by
valgrind, which executes the program on a processor without AVX-512."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
import machine  # noqa: E402  pylint: disable=wrong-import-position


# Instructions depend on the environment's length a little, so it is always the same.
ENVIRONMENT = {"LC_ALL": "C", "HOME": "/", "PATH": "/usr/bin:/bin", "QSIM_GOLDEN": "cpu"}


class CounterFailed(Exception):
    """The program failed, or the tool's output has no count."""


@dataclass(frozen=True)
class Counter:
    tool: str  # counts of different tools are never compared
    prefix: tuple
    pattern: re.Pattern  # of the count, in the tool's file

    def count(self, command):
        """Instructions of one run of `command`, which must end with exit code 0."""
        with tempfile.NamedTemporaryFile(mode="r", encoding="utf8") as log:
            full = [word.replace("%LOG", log.name) for word in self.prefix] + [str(word) for word in command]
            done = subprocess.run(full, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, encoding="utf8", check=False)
            found = self.pattern.findall(log.read())
        if done.returncode != 0 or not found:
            raise CounterFailed(f"{' '.join(full)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        return int(found[-1].replace(",", ""))


def perf():
    vectors = machine.vector_instructions()
    return Counter(f"perf, {vectors[-1] if vectors else 'no vectors'}",
                   ("perf", "stat", "-x,", "-o", "%LOG", "-e", "instructions:u", "--"),
                   re.compile(r"^(\d+),[^,]*,instructions:u", re.M))


def callgrind():
    version = subprocess.run(["valgrind", "--version"], stdout=subprocess.PIPE, encoding="utf8",
                             check=True).stdout.strip()
    vectors = "avx2" if "avx2" in machine.vector_instructions() else "no avx2"
    return Counter(f"callgrind of {version}, {vectors}",
                   ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=%LOG"),
                   re.compile(r"I\s+refs:\s+([\d,]+)"))


def works(counter):
    try:
        return counter.count(["/bin/true"]) > 0
    except (CounterFailed, OSError):
        return False


def find():
    """The first counter that works here, or None. Being installed is not enough: in many virtual machines
    perf has no counters, and elsewhere it wants privileges."""
    for tool, make in (("perf", perf), ("valgrind", callgrind)):
        if shutil.which(tool):
            counter = make()
            if works(counter):
                return counter
    return None
