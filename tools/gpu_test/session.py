"""One run of gpu-test: where things are, how programs are run and logged, how much time is left."""
import dataclasses
import os
import pathlib
import shlex
import signal
import subprocess
import threading
import time

# A step's result.
OK, FAILED, SKIPPED, NOT_THERE = "ok", "FAILED", "skipped", "not there"

MISMATCH = 5  # exit code of our programs, core/base/error.h
# What a machine may lack, as QSIM_REQUIRE names it.
REQUIREMENTS = ("data", "compute-sanitizer", "onnxruntime", "torch")
REQUIREMENTS_ELSEWHERE = ("charts", "nvcc", "perfetto", "qemu", "verilator")  # of ./dev test, as .ci/run names them


class Interrupted(Exception):
    """The run was ended by a signal: no further program is begun."""


@dataclasses.dataclass
class Done:
    """How a program ended; `exit_code` is None when its time was up."""
    exit_code: int | None
    output: str

    def last_line(self):
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else "no output"

    def ending(self):
        code = "its time was up" if self.exit_code is None else f"exit {self.exit_code}"
        return f"{code}: {self.last_line()}"


def required_names():
    """The names in QSIM_REQUIRE; ValueError for one that nothing bears."""
    names = [name for name in os.environ.get("QSIM_REQUIRE", "").split(",") if name]
    unknown = sorted(set(names) - set(REQUIREMENTS) - set(REQUIREMENTS_ELSEWHERE))
    if unknown:
        raise ValueError(f"QSIM_REQUIRE has {', '.join(unknown)}; allowed: {', '.join(REQUIREMENTS)}")
    return names


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)  # of a program begun as a group of its own
    except ProcessLookupError:
        pass


class Session:
    def __init__(self, bundle, results, minutes, quick, lenient=False):
        self.bundle = bundle
        self.results = results
        self.quick = quick
        self.deadline = time.monotonic() + 60 * minutes
        self.lenient = lenient
        self.required = required_names()
        self.data = [bundle / "data"]
        if os.environ.get("QSIM_DATA"):
            self.data.insert(0, pathlib.Path(os.environ["QSIM_DATA"]).resolve())
        self.peer_mode = 0   # index of the first of measurements.MODES that is still tried
        self.stopped = False
        self._groups = set()  # process groups of the programs that run
        self.peers = []      # rows of peers.py
        self.own_layers = {}  # layer -> seconds, of our own benchmark at batch 32
        self.covers = {}  # a program's words -> families.Cover
        self.cover_locks = {}  # while one is found
        self.covers_lock = threading.Lock()
        self._lock = threading.Lock()
        results.mkdir(parents=True, exist_ok=True)
        self.log_path = results / "gpu_test.log"
        self._log = self.log_path.open("w", encoding="utf-8")

    def program(self, name):
        return str(self.bundle / "bin" / name)

    def shipped(self, path):
        return self.bundle / "share/qsim" / path

    def test_batch(self):
        """The labelled CIFAR-10 pictures: $QSIM_DATA, then data/ of the bundle; None without."""
        files = [place / "cifar10/test_batch.bin" for place in self.data]
        return next((file for file in files if file.is_file()), None)

    def skip(self, what):
        """The result where `what` is missing: a failure but for --lenient without QSIM_REQUIRE."""
        return (SKIPPED if self.lenient and what not in self.required else FAILED), f"no {what}"

    def stop(self):
        """Ends every program that runs; none is begun after."""
        self.stopped = True
        for group in list(self._groups):
            end_group(group)

    def log(self, text):
        with self._lock:
            self._log.write(text.rstrip("\n") + "\n\n")
            self._log.flush()

    def left_s(self):
        return self.deadline - time.monotonic()

    def run(self, words, limit_s, environment=None):
        """Runs a program for at most limit_s and the session's time; stdout and stderr together."""
        words = [str(word) for word in words]
        own = {**os.environ, "QSIM_CACHE": str(self.results / "cache"), **(environment or {})}
        for name in ("QSIM_RTL_CXX", "QSIM_GOLDEN"):  # what the steps choose themselves
            own.pop(name, None)
        begin = time.monotonic()
        if self.stopped:
            raise Interrupted
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env=own, start_new_session=True,
                              cwd=self.results) as process:
            self._groups.add(process.pid)
            if self.stopped:
                end_group(process.pid)
            try:
                output, _ = process.communicate(timeout=max(1, min(limit_s, self.left_s())))
                done = Done(process.returncode, output)
            except subprocess.TimeoutExpired:
                end_group(process.pid)
                done = Done(None, process.communicate()[0])
            finally:
                self._groups.discard(process.pid)
        seconds = time.monotonic() - begin
        self.log(f"$ {shlex.join(words)}\n{done.output}[exit {done.exit_code}, {seconds:.1f} s]")
        return done
