#!/usr/bin/env python3
"""memory_test.py QSIM: too little memory, and files that declare more than they hold: one line and exit code 3,
at once, and never a process that the system ends."""
import os
import resource
import signal
import struct
import subprocess
import sys
import zlib

from common import SMALL, check, check_error, work_folder

MB = 1_000_000
# From where on qsim must answer (docs/reference/limits.md, with some room). Below, its shared libraries
# cannot be mapped (127), or the constructors of libsystemc and libprotobuf end it before its main begins.
STARTS_FROM_MB = {resource.RLIMIT_AS: 34, resource.RLIMIT_DATA: 5}
ENDS_BEFORE_MAIN = (127, -signal.SIGABRT, -signal.SIGSEGV)
LIMITS_MB = {resource.RLIMIT_AS: [*range(14, 40), *range(42, 160, 8), 200, 300],
             resource.RLIMIT_DATA: [1, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64, 100, 160]}
HUGE = """name: huge
input: {shape: [1, 1, 1, 16777216], dtype: int8}
layers:
  - {op: fully_connected, name: fc, out_features: %d}
"""


def run(qsim, folder, words, limit=None, kind=resource.RLIMIT_AS):
    def set_limit():
        if limit is not None:
            resource.setrlimit(kind, (limit, limit))

    return subprocess.run([qsim, *words, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=120, preexec_fn=set_limit,
                          env={**os.environ, "QSIM_GOLDEN": "cpu"})


def starts(qsim, folder, limit, kind):
    code = run(qsim, folder, ["--version"], limit * MB, kind).returncode
    if limit < STARTS_FROM_MB[kind] and code in ENDS_BEFORE_MAIN:
        return False
    check(code in (0, 3), f"--version with {limit} MB of limit {kind}: exit code {code}")
    return True


def little_memory(qsim):
    """From where not even the libraries can start to where all fits."""
    commands = [["run"], ["verify"], ["run", "--model", "vgg16", "--no-verify"],
                ["compile", "--model", "alexnet", "--out", "p"], ["export-vectors", "--out", "v"],
                ["run", "--dump-layers", "d"]]
    codes = set()
    for kind, limits in LIMITS_MB.items():
        with work_folder() as work:
            started = [limit for limit in limits if starts(qsim, work, limit, kind)]
        for words in commands:
            with work_folder() as work:
                codes |= {with_little(qsim, work, words, limit, kind) for limit in started}
        print(f"limit {kind}: starts from {started[0]} MB")
    check(codes == {0, 3}, f"exit codes {codes}")
    told_as_memory(qsim)
    print("little memory: every run ends well or with exit code 3")


# In kB: from below what the libraries take to where --version works, in steps of less than a thread takes.
LITTLE_KB = {resource.RLIMIT_AS: ("-v", range(17000, 36000, 100)), resource.RLIMIT_DATA: ("-d", range(3000, 6000, 100))}


def told_as_memory(qsim):
    """Too little for the thread that waits for signals: the limit is named, and no thread is blamed."""
    for kind, (name, limits) in LITTLE_KB.items():
        told = 0
        with work_folder() as work:
            for limit in limits:
                outcome = run(qsim, work, ["--version"], limit * 1000, kind)
                if outcome.returncode in (0, *ENDS_BEFORE_MAIN):
                    continue
                check_error(outcome, f"--version with ulimit {name} of {limit} kB")
                check(f"memory for a thread; ulimit {name} is {-(-limit // 1000)} MB (" in outcome.stderr or
                      f"too large here; ulimit {name} is {-(-limit // 1000)} MB (" in outcome.stderr, outcome.stderr)
                told += "memory for a thread" in outcome.stderr
        check(told > 0, f"ulimit {name}: none of these limits is too little for a thread alone")
        print(f"ulimit {name}: {told} limits leave no memory for a thread, and are named")


def with_little(qsim, folder, words, limit, kind):
    outcome = run(qsim, folder, words, limit * MB, kind)
    if outcome.returncode != 0:
        check_error(outcome, f"{' '.join(words)} with {limit} MB of limit {kind}")
    return outcome.returncode


def estimated_first(qsim):
    with work_folder() as work:
        outcome = run(qsim, work, ["run", "--model", "vgg16", "--batch", "64"], 900 * MB, resource.RLIMIT_DATA)
        check_error(outcome, "vgg16 with 900 MB")
        check("model 'vgg16': needs about " in outcome.stderr and "docs/reference/limits.md" in outcome.stderr,
              outcome.stderr)
        print(outcome.stderr.strip())
        # The weights' first copy is given back while they are packed, which neither limit sees: what would fit
        # the memory is refused by name here too, and not in the middle of the work.
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            outcome = run(qsim, work, ["run", "--model", "vgg16"], 280 * MB, kind)
            check_error(outcome, f"vgg16 with 280 MB of limit {kind}")
            check("needs about " in outcome.stderr, outcome.stderr)


# One channel, of which the array makes as many as it is wide: activations are most of the memory.
WIDE = """input: {shape: [1, 900, 900, 1], dtype: int8}
layers:
  - {op: relu}
  - {op: conv2d, out_channels: 1, kernel: 1}
"""
MANY_COMMANDS = """input: {shape: [1, 1, 1, 4], dtype: int8}
layers:
  - {op: fully_connected, out_features: 400000}
"""
LARGE_OUTPUT = """input: {shape: [1, 1000, 1000, 1], dtype: int8}
layers:
  - {op: conv2d, out_channels: 64, kernel: 1}
"""
JUDGED = [(words.split(), None) for words in (
    "run --model alexnet", "run --model alexnet --batch 8", "run --model alexnet --no-verify",
    "run --model alexnet --no-data", "run --model alexnet --dump-layers d", "verify --model alexnet",
    "explain --model alexnet", "compile --model alexnet", "compile --model alexnet --out p", "export-vectors --model alexnet --out v",
    "golden run --model alexnet --images 1")] + [
    (["run", "--config", "tpu128x128"], WIDE), (["run", "--config", "tpu128x128", "--engine", "interpreter"], WIDE),
    (["verify", "--config", "tpu128x128"], WIDE), (["run", "--config", "pe4x4"], MANY_COMMANDS),
    (["compile", "--config", "pe4x4", "--out", "p"], MANY_COMMANDS), (["run", "--out", "o"], LARGE_OUTPUT),
    (["golden", "run", "--images", "20000"], WIDE.replace("900", "64"))]


def peak_bytes(qsim, folder, words):
    """What a run without a limit takes."""
    with subprocess.Popen([qsim, *words, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL,
                          env={**os.environ, "QSIM_GOLDEN": "cpu"}) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"{' '.join(words)}: exit code {process.returncode}")
    return 1024 * used.ru_maxrss


def judged(qsim):
    """The estimate is right in both directions, for each kind of command. With less memory than a run takes it is
    refused by name, and not in the middle of the work. With three times as much, which has room for the pages
    that it frees, it runs."""
    for words, network in JUDGED:
        with work_folder() as work:
            if network is not None:
                with open(os.path.join(work, "network.yaml"), "w", encoding="utf-8") as file:
                    file.write(network)
                words = words + ["--model", "./network.yaml"]
            what = " ".join(words)
            peak = peak_bytes(qsim, work, words)
            least = least_limit(qsim, work, words, what, peak)
            print(f"{what}: takes {peak / MB:.0f} MB, runs with a limit of {least / peak:.2f} times as much")


def least_limit(qsim, folder, words, what, peak):
    """The least of some limits on the data segment with which the command runs."""
    for tenths in (3, 6, 9, 12, 16, 20, 24, 28, 32):
        outcome = run(qsim, folder, words, peak * tenths // 10, resource.RLIMIT_DATA)
        if outcome.returncode == 0:
            return peak * tenths // 10
        check_error(outcome, what)
        check("needs about " in outcome.stderr, f"{what} with {tenths / 10} times its memory: {outcome.stderr}")
    check(False, f"{what} is refused with 3 times its memory")
    return 0


def npy_of(shape):
    header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def png_of(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b""))


def jpeg_of(width, height):
    frame = struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes([1, 17, 0, 2, 17, 0, 3, 17, 0])
    scan = struct.pack(">HB", 12, 3) + bytes([1, 0, 2, 0, 3, 0, 0, 63, 0])
    return b"\xff\xd8\xff\xc0" + frame + b"\xff\xda" + scan + b"\xff\xd9"


def declared(qsim):
    """What a few bytes can claim; all of it under a limit that the claim alone would break."""
    aliases = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    files = {
        "elements.npy": (npy_of((1 << 20, 1 << 20)), ["--input", "elements.npy"], "truncated"),
        "overflow.npy": (npy_of((1 << 40, 1 << 40)), ["--input", "overflow.npy"], "does not fit 64 bits"),
        "bomb.png": (png_of(60000, 60000), ["--input", "bomb.png"], "a picture of 60000 x 60000 pixels"),
        "bomb.jpg": (jpeg_of(65000, 65000), ["--input", "bomb.jpg"], "a picture of 65000 x 65000 pixels"),
        "weights.yaml": ((HUGE % 16777216).encode(), ["--model", "weights.yaml"], "at most 2147483648 are allowed"),
        "memory.yaml": ((HUGE % 120).encode(), ["--model", "memory.yaml"], "needs about 2.1 GB"),
        "batch.yaml": ((SMALL % 1).encode(), ["--model", "batch.yaml", "--batch", "1048576"], "elements"),
        "deep.yaml": (b"a: " + b"[" * 5000 + b"1" + b"]" * 5000, ["--config", "deep.yaml"], "nested too deep; allowed: 32 levels"),
        "long.yaml": (b"a: " + b"x" * (1 << 20), ["--config", "long.yaml"], "longer than the 1048576 bytes"),
        "laughs.yaml": (aliases.encode(), ["--config", "laughs.yaml"], "aliases and anchors are not allowed"),
        "p.qprog": (b"program p\n" + b"x" * 100, ["inspect", "./p.qprog"], "p.qprog"),
    }
    with work_folder() as work:
        for name, (content, words, expected) in files.items():
            with open(os.path.join(work, name), "wb") as file:
                file.write(content)
            outcome = run(qsim, work, words, 1000 * MB, resource.RLIMIT_DATA)
            check(outcome.returncode in (3, 4), f"{name}: exit code {outcome.returncode}: {outcome.stderr}")
            check(expected in outcome.stderr and outcome.stderr.count("\n") == 1, f"{name}: {outcome.stderr}")
            print(f"{name}: {outcome.stderr.strip()[:110]}")
        sparse = os.path.join(work, "sparse.npy")
        with open(sparse, "wb") as file:
            file.truncate(1 << 33)
        check_error(run(qsim, work, ["--input", "sparse.npy"]), "8 GiB of nothing", "sparse.npy")
        sparse = os.path.join(work, "sparse.onnx")
        with open(sparse, "wb") as file:
            file.truncate(1 << 31)
        check_error(run(qsim, work, ["--model", "./sparse.onnx"]), "2 GiB of nothing", "sparse.onnx")


def main():
    what, qsim = sys.argv[1:]
    {"little_memory": little_memory, "estimated_first": estimated_first, "declared": declared,
     "judged": judged}[what](qsim)


if __name__ == "__main__":
    main()
