#!/usr/bin/env python3
"""Every key that a report has is documented, and every number is other than zero in some run.

usage: statistics_test.py REPOSITORY_ROOT QSIM
run's JSON and layers.csv are in docs/reference/output.md, the other commands' in cli.md.
"""
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

NETWORK = """name: small
seed: 11
input: {shape: [1, 12, 10, 3], dtype: uint8}
layers:
  - {op: conv2d, name: first, out_channels: 40, kernel: 3, pad: 1, relu: true}
  - {op: max_pool, name: pool, kernel: 2}
  - {op: conv2d, name: wide, out_channels: 70, kernel: 1}
  - {op: flatten, name: flat}
  - {op: fully_connected, name: last, out_features: 7}
"""
# Little of everything, so that every unit waits for every token at some time.
STARVED = """array_rows: 4
array_cols: 4
act_scratchpad_kib: 1
weight_scratchpad_kib: 1
accumulator_kib: 1
output_scratchpad_kib: 1
bus_bytes: 4
dram_latency_cycles: 200
outstanding_bursts: 1
"""
NARROW = "act_scratchpad_kib: 1\nbus_bytes: 4\n"
# One activation slot, so that the array waits for activations between a layer's first and last EXECUTE.
MAPPING = """qsim_mapping: 1
array_rows: 16
array_cols: 16
layers:
  - name: first
    tile_rows: 2
    tile_cols: 5
    batch_inner: true
    order: blocks_outer
    act_planes: 1
    act_kernel_rows: 1
    weight_folds: 1
    act_slots: 1
    weights_resident: true
"""
FAST = "dram_latency_cycles: 1\nbus_bytes: 256\noutput_scratchpad_kib: 1\naccumulator_kib: 2\n"
RUNS = (
    ["run", "--no-data", "--energy", "horowitz-45nm"], ["run", "--no-data", "--energy", "eyeriss-65nm"],
    ["run", "--out", "out"], ["run", "--engine", "interpreter", "--model", "n.yaml"],
    ["run", "--model", "n.yaml", "--config", "starved.yaml"],
    ["run", "--model", "n.yaml", "--config", "fast.yaml", "--energy", "horowitz-45nm"],
    ["run", "--model", "n.yaml", "--mapping", "mapping.yaml"],
    ["run", "--model", "vgg8", "--config", "narrow.yaml", "--no-data"],
    ["run", "--model", "maxpool_alone"], ["run", "--model", "alexnet", "--no-data"],
    ["run", "--config", "pe4x4", "--model", "conv_odd", "--seed", "7"],
)
OTHERS = (
    ["verify", "--model", "n.yaml"], ["verify", "--model", "trace"], ["verify", "--seeds", "3"],
    ["explain", "--model", "n.yaml", "--layer", "last"], ["explain", "--model", "n.yaml", "--config", "fast.yaml"],
    ["compile", "--model", "n.yaml", "--out", "n.qprog"], ["inspect", "n.qprog"],
    ["inspect", "n.yaml"], ["inspect", "vgg8-cifar10"], ["inspect", "pe4x4"], ["inspect", "trace"],
    ["export-vectors", "--model", "n.yaml", "--out", "v"], ["golden", "info"],
    ["golden", "run", "--input", "b.bin"], ["golden", "run", "--model", "n.yaml"],
    ["golden", "bench", "--model", "n.yaml", "--runs", "9"], ["doctor"],
    ["eval", "--data", "b.bin", "--engines", "golden,systemc", "--pictures", "9"],
    ["golden", "abc", "--model", "n.yaml"],
    ["golden", "abc", "--weights", "w.npy", "--input", "w.npy", "--sizes", "8", "--runs", "9", "--backend", "cpu",
     "--fit-activations"],
)
# Maps whose keys are names of semaphores, units, parts or fields, which have tables of their own.
NAMED = {"mapping_fields", "stalls", "array_time_pe_cycles", "units", "config"}
# What comes before such a name in a column of layers.csv.
PREFIXES = "^(stall|busy|read_bus|path|energy|bound)_"
# What only a broken engine makes other than zero.
ZERO_HERE = {"run.verify.mismatches"}  # tests/report has it


def walk(value, path):
    """(path, leaf) of everything in a report; lists are []."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from walk(item, path + "[]")
        if not value:
            yield path + "[]", None
    else:
        yield path, value


def keys_of(value):
    """The keys that need documentation."""
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in NAMED:
                yield from keys_of(item)


def words_of(page):
    """What is in backticks on a page, cut into names."""
    return {word for quoted in re.findall(r"`([^`\n]+)`", page.read_text())
            for word in re.findall(r"[A-Za-z_][\w+]*", quoted)}


class Reports:
    """Runs qsim and gathers what its reports hold."""

    def __init__(self, qsim, folder):
        self.qsim = qsim
        self.folder = folder
        self.keys = collections.defaultdict(set)
        self.leaves = collections.defaultdict(set)

    def add(self, arguments, codes=(0,)):
        """One command; its JSON."""
        done = subprocess.run([self.qsim, *arguments, "--json", "-", "--quiet"], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        assert done.returncode in codes, f"{arguments}: exit code {done.returncode}: {done.stderr}"
        report = json.loads(done.stdout)
        name = "run" if arguments[0] == "run" else "other"
        self.keys[name] |= set(keys_of(report))
        for path, leaf in walk(report, name):
            self.leaves[path].add(leaf)
        return report


def prepare(folder):
    """The files that the commands read."""
    (folder / "n.yaml").write_text(NETWORK)
    numpy.save(folder / "w.npy", numpy.linspace(-1, 2, 144, dtype=numpy.float32).reshape(4, 4, 3, 3) ** 3)
    (folder / "starved.yaml").write_text(STARVED)
    (folder / "fast.yaml").write_text(FAST)
    (folder / "narrow.yaml").write_text(NARROW)
    (folder / "mapping.yaml").write_text(MAPPING)
    (folder / "b.bin").write_bytes(b"".join(
        bytes([3]) + bytes((index * k + k // 5) % 256 for k in range(3072)) for index in range(12)))


def spoil_trace(folder):
    """Another byte in the last layer's ofmap."""
    path = folder / "trace" / sorted(p.name for p in (folder / "trace").glob("*last.ofmap.npy"))[0]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def check_numbers(leaves, faults):
    """Every number is other than zero somewhere, every text other than empty."""
    for path, values in sorted(leaves.items()):
        if not path.startswith("run.") or path.endswith("[]") or path in ZERO_HERE:
            continue
        if re.search(r"\.(stalls|provenance)\.|\.config\.", path):
            continue
        is_map = values == {None} and any(other.startswith(path + ".") for other in leaves)
        if not is_map and not any(value not in (0, "", None) for value in values):
            faults.append(f"{path} is {sorted(map(str, values))} in every run")
    waits = {re.sub(r".*\.", "", path) for path, values in leaves.items()
             if ".stalls." in path and any(values)}
    known = {re.sub(r".*\.", "", path) for path in leaves if ".stalls." in path}
    faults.extend(f"nothing ever waits for {name}" for name in sorted(known - waits))
    return len(known)


def check_csv(folder, words, faults):
    """Columns of layers.csv."""
    with open(folder / "out/layers.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for column in rows[0]:
        name = re.sub(PREFIXES, "", column)
        if name not in words:
            faults.append(f"docs/reference/output.md lacks the column {column} of layers.csv")
        if not any(row[column] not in ("", "0") for row in rows) and not column.startswith("stall_"):
            faults.append(f"layers.csv: {column} is 0 in every row")
    return len(rows[0])


def main():
    root, qsim = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        reports = Reports(qsim, folder)
        for arguments in RUNS:
            reports.add(arguments)
        subprocess.run([qsim, "run", "--model", "n.yaml", "--dump-layers", "trace", "--quiet"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        spoil_trace(folder)
        for arguments in OTHERS:
            report = reports.add(arguments, (5,) if arguments == ["verify", "--model", "trace"] else (0, 3))
            if arguments == ["verify", "--model", "trace"] and not report["mismatches"]:
                faults.append("a byte of the trace that was changed is no mismatch")
        stats = words_of(root / "docs/reference/output.md")
        cli = stats.union(*(words_of(root / f"docs/reference/{page}.md") for page in ("cli", "eval", "config")))
        columns = check_csv(folder, stats, faults)
    for key in sorted(reports.keys["run"] - stats):
        faults.append(f"docs/reference/output.md lacks the key {key} of qsim run")
    # A column of verify's layers is named after its engine, as `engines[].engine` is.
    engines = {"interpreter, in order", "interpreter, random order", "golden against the trace"}
    for key in sorted(reports.keys["other"] - cli - engines):
        faults.append(f"docs/reference/cli.md lacks the key {key}")
    semaphores = check_numbers(reports.leaves, faults)
    print("\n".join(faults))
    print(f"{sum(map(len, reports.keys.values()))} keys, {columns} columns, {semaphores} semaphores, "
          f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
