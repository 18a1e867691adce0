#!/usr/bin/env python3
"""Two runs of a command differ in nothing but times: bytes of stdout, stderr and every file are the same
from another folder, with another time zone, language, umask, home, order of variables and stack.

usage: same_twice_test.py QSIM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import times

NETWORK = """name: small
seed: 11
input: {shape: [1, 6, 5, 3], dtype: uint8}
layers:
  - {op: conv2d, name: first, out_channels: 8, kernel: 3, pad: 1, relu: true}
  - {op: max_pool, name: pool, kernel: 2}
  - {op: flatten, name: flat}
  - {op: fully_connected, name: last, out_features: 7}
"""
# A network in float32, and ten pictures for it.
FLOAT = pathlib.Path(__file__).resolve().parents[3] / "models/vgg8-cifar10/vgg8-float.onnx"
BATCH = b"".join(bytes([label]) + bytes((label * 37 + i * i) % 251 for i in range(3072)) for label in range(10))
COMMANDS = (
    ["run", "--json", "-"],
    ["run", "--model", "n.yaml", "--out", "out", "--dump-layers", "trace", "--json", "run.json"],
    ["run", "--model", "n.yaml", "--engine", "interpreter", "--quiet"],
    ["run", "--model", "vgg8", "--no-data", "--config", "tpu128x128"],
    ["run", "--model", "n.yaml", "--no-data", "--engine", "recurrence"],
    ["verify", "--model", "n.yaml", "--batch", "2", "--json", "-"],
    ["verify", "--seeds", "12", "--seed", "5", "--all-configs", "--json", "-"],
    ["explain", "--model", "n.yaml", "--layer", "last", "--json", "-"],
    ["compile", "--model", "n.yaml", "--out", "n.qprog", "--json", "c.json"],
    ["inspect", "n.qprog", "--commands", "--json", "-"],
    ["export-vectors", "--model", "n.yaml", "--out", "vectors", "--config", "pe4x4"],
    ["golden", "run", "--model", "n.yaml", "--out", "golden", "--json", "-"],
    ["golden", "info", "--json", "-"],
    ["eval", "--data", "b.bin", "--engines", "golden", "--json", "-"],
    ["quantize", str(FLOAT), "--calibrate", "b.bin", "-o", "q.onnx", "--json", "q.json", "--report", "q.html"],
    ["run", "--model", "nope"],
    ["run", "--config", "bad.yaml"],
)


def run_all(qsim, folder, environment, umask):
    """{what: bytes} of everything that the commands printed and wrote."""
    folder.mkdir()
    (folder / "n.yaml").write_text(NETWORK)
    (folder / "b.bin").write_bytes(BATCH)
    (folder / "bad.yaml").write_text("array_rows: 12\n")
    seen = {}
    for number, command in enumerate(COMMANDS):
        done = subprocess.run([qsim, *command], cwd=folder, env=environment, umask=umask,
                              capture_output=True, check=False, stdin=subprocess.DEVNULL)
        name = f"{number}: qsim {' '.join(command)}"
        seen[f"{name}: exit code"] = done.returncode
        seen[f"{name}: stdout"] = times.without_times(done.stdout.decode())
        seen[f"{name}: stderr"] = times.without_progress(times.without_times(done.stderr.decode()))
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix in (".json", ".csv", ".yaml", ".svh", ".qprog"):
                content = times.without_times(content.decode())
            seen[str(path.relative_to(folder))] = content
    return seen


def first_difference(one, other):
    """Where two texts part."""
    if isinstance(one, str) and isinstance(other, str):
        for a, b in zip(one.splitlines(), other.splitlines()):
            if a != b:
                return f"\n  {a[:200]}\n  {b[:200]}"
    return f": {str(one)[:60]} and {str(other)[:60]}"


def check_key_order(folder, faults):
    """The keys of every report come in the order of the documentation: as they are written, schema first."""
    for path in sorted(folder.rglob("*.json")):
        keys = list(json.loads(path.read_text()))
        if keys[0] != "schema":
            faults.append(f"{path.relative_to(folder)}: begins with {keys[0]}, not with its schema")


def main():
    qsim = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        plain = {"PATH": os.environ["PATH"], "HOME": name, "QSIM_GOLDEN": "cpu", "LANG": "C"}
        for kept in ("LD_PRELOAD", "QSIM_RECORD"):
            if kept in os.environ:
                plain[kept] = os.environ[kept]
        other = dict(reversed(plain.items()), LANG="tr_TR.UTF-8", LC_ALL="C.UTF-8", HOME="/nonexistent",
                     TZ="Pacific/Kiritimati", PADDING="x" * 5000, MALLOC_PERTURB_="165")
        first = run_all(qsim, scratch / "a", plain, 0o022)
        second = run_all(qsim, scratch / "another folder", other, 0o077)
        faults = [f"{what}{first_difference(first.get(what), second.get(what))}"
                  for what in sorted(first.keys() | second.keys()) if first.get(what) != second.get(what)]
        check_key_order(scratch / "a", faults)
    print("\n".join(faults))
    codes = [value for what, value in first.items() if what.endswith("exit code")]
    if codes.count(0) != len(COMMANDS) - 2 or len(first) < 60:
        faults.append("too little ran")
        print(f"exit codes {codes}, {len(first)} outputs")
    print(f"{len(COMMANDS)} commands twice, {len(first)} outputs compared, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
