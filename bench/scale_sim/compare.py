#!/usr/bin/env python3
"""Compares qsim's cycles with the formulae of SCALE-Sim, term by term and layer by layer, on one topology.

usage: compare.py QSIM [--topology FILE.csv] [--config FILE.cfg] [--layers]
       compare.py --against COMPUTE_REPORT.csv --topology FILE.csv --config FILE.cfg

The first form runs `qsim run --no-data --engine recurrence` for each dataflow and prints the terms of the totals, with
--layers the cycles of each layer. The second compares the formulae with what SCALE-Sim itself reported for the dataflow
of FILE.cfg. Exit codes: 0; 1 a layer's multiply-accumulates or reported cycles differ; 2 usage.
"""
import argparse
import configparser
import csv
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATAFLOWS = ("ws", "os", "is")
NAMES = {"ws": "weight_stationary", "os": "output_stationary", "is": "input_stationary"}


def ceil_div(a, b):
    return -(-a // b)


@dataclass(frozen=True)
class Gemm:
    """A layer as the product of an M x K by a K x N matrix: ofmap positions, filters, filter size."""
    name: str
    m: int
    n: int
    k: int

    def macs(self):
        return self.m * self.n * self.k


@dataclass(frozen=True)
class Terms:
    """SCALE-Sim's cycles of a layer: each fold fills the array, streams, and empties before the next."""
    folds: int
    stream: int
    fill: int
    skew: int

    def total(self):
        return self.stream + self.fill + self.skew


def scale_sim(gemm, dataflow, rows, cols):
    """scalesim/compute/systolic_compute_{ws,os,is}.py, version 3: the rows of the demand matrix of a fold. (In the
    papers output_stationary has the 2 R of the others; the code has R.)"""
    height, width, time = {"ws": (gemm.k, gemm.n, gemm.m), "os": (gemm.m, gemm.n, gemm.k),
                           "is": (gemm.k, gemm.m, gemm.n)}[dataflow]
    folds = ceil_div(height, rows) * ceil_div(width, cols)
    fill = 0 if dataflow == "os" else rows
    return Terms(folds, folds * time, folds * fill, folds * (rows + cols - 2))


def gemm_of(row):
    name, sizes = row[0], [int(word) for word in row[1:8]]
    ifmap_h, ifmap_w, filter_h, filter_w, channels, filters, stride = sizes
    positions = (ceil_div(ifmap_h - filter_h, stride) + 1) * (ceil_div(ifmap_w - filter_w, stride) + 1)
    return Gemm(name, positions, filters, filter_h * filter_w * channels)


def read_topology(path):
    with open(path, encoding="utf8") as file:
        rows = [[word.strip() for word in row] for row in csv.reader(file)]
    return [gemm_of(row) for row in rows[1:] if len(row) > 7]


def read_config(path):
    config = configparser.ConfigParser()
    config.read(path)
    presets = config["architecture_presets"]
    return int(presets["ArrayHeight"]), int(presets["ArrayWidth"]), presets["Dataflow"]


def qsim_run(arguments, dataflow):
    command = [arguments.qsim, "run", "--no-data", "--engine", "recurrence", "--quiet", "--config", arguments.config,
               "--model", arguments.topology, "--dataflow", dataflow, "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, encoding="utf8", check=True).stdout)


def useful(layer):
    return layer["stream_cycles"] - layer["fold_bubble_cycles"]


def table(titles, rows):
    cells = [titles] + [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    cells.insert(1, ["-" * width for width in widths])
    for row in cells:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def terms_table(terms, runs):
    """The totals of all layers: how many cycles each side spends on what."""
    def scale(field):
        return [sum(getattr(term, field) for term in terms[d]) for d in DATAFLOWS]

    def ours(count):
        return [count(runs[d]["total"]) for d in DATAFLOWS]

    table(["cycles", *(NAMES[d] for d in DATAFLOWS)], [
        ["SCALE-Sim, streaming", *scale("stream")],
        ["  filling the array", *scale("fill")],
        ["  skew and drain", *scale("skew")],
        ["  together", *(sum(term.total() for term in terms[d]) for d in DATAFLOWS)],
        ["qsim, streaming", *ours(useful)],
        ["  fold bubbles", *ours(lambda total: total["fold_bubble_cycles"])],
        ["  stalls", *ours(lambda total: sum(total["stalls"].values()))],
        ["  start and drain of layers", *ours(lambda total: total["start_cycles"] + total["drain_cycles"])],
        ["  together", *ours(lambda total: total["cycles"])]])


def layers_table(gemms, terms, runs, rows, cols):
    """Folds are those of weight_stationary: rows times columns of weights."""
    lines = []
    for i, gemm in enumerate(gemms):
        layer = {d: runs[d]["layers"][i] for d in DATAFLOWS}
        line = [gemm.name, terms["ws"][i].folds, useful(layer["ws"]) // gemm.m]
        for d in DATAFLOWS:
            line += [terms[d][i].total(), layer[d]["cycles"]]
        lines.append(line)
    sums = [sum(line[i] for line in lines) for i in range(1, len(lines[0]))]
    lines.append(["total", *sums])
    titles = ["layer", "folds S", "folds q"] + [f"{d} {who}" for d in DATAFLOWS for who in ("S", "q")]
    print(f"S: SCALE-Sim, q: qsim, {rows} x {cols} PEs")
    table(titles, lines)


def compare(arguments):
    rows, cols, _ = read_config(arguments.config)
    gemms = read_topology(arguments.topology)
    runs = {d: qsim_run(arguments, d) for d in DATAFLOWS}
    for d in DATAFLOWS:
        for gemm, layer in zip(gemms, runs[d]["layers"], strict=True):
            if gemm.macs() != layer["macs"]:
                print(f"{gemm.name}: {gemm.macs():,} MACs, qsim {layer['macs']:,}")
                return 1
    terms = {d: [scale_sim(gemm, d, rows, cols) for gemm in gemms] for d in DATAFLOWS}
    if arguments.layers:
        layers_table(gemms, terms, runs, rows, cols)
    else:
        terms_table(terms, runs)
    return 0


def against(arguments):
    """SCALE-Sim reports the last cycle's number, counted from 0, and stalls with it."""
    rows, cols, dataflow = read_config(arguments.config)
    with open(arguments.against, encoding="utf8") as file:
        reports = list(csv.DictReader(file, skipinitialspace=True))
    wrong = 0
    for gemm, report in zip(read_topology(arguments.topology), reports, strict=True):
        formula = scale_sim(gemm, dataflow, rows, cols).total()
        reported = int(float(report["Total Cycles"])) - int(float(report["Stall Cycles"])) + 1
        wrong += formula != reported
        print(f"{gemm.name}: formula {formula:,}, SCALE-Sim {reported:,} and {report['Stall Cycles']} of stalls")
    print(f"{wrong} of {len(reports)} layers differ")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qsim", nargs="?", metavar="QSIM")
    parser.add_argument("--topology", default=ROOT / "models/topologies/vgg16.csv")
    parser.add_argument("--config", default=ROOT / "configs/scale_sim/pe16x16.cfg")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--against")
    arguments = parser.parse_args()
    if arguments.against:
        return against(arguments)
    if not arguments.qsim:
        parser.error("QSIM is needed")
    return compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
