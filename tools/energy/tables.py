#!/usr/bin/env python3
"""Prints what docs/reference/energy.md says from the numbers of configs/energy/.

usage: tables.py formats | sram
formats: int8 against fp32.  sram: the rule of core/machine/energy.cpp against its points.
"""
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "configs" / "energy" / "horowitz-45nm.yaml"


def entries(section):
    """The entries of a list of the table: a map of key to text each."""
    text = TABLE.read_text().split(f"\n{section}:\n")[1]
    found = []
    for line in text.splitlines():
        match = re.match(r"^(  - |    )(\w+): (.*)$", line)
        if match is None:
            break
        if match[1] == "  - ":
            found.append({})
        found[-1][match[2]] = match[3]
    return found


def formats():
    """One multiply-accumulate, and the DRAM bits of one weight."""
    energy = {entry["name"]: float(entry["energy"]) for entry in entries("operations")}
    dram = re.search(r"\ndram:\n  energy: (\S+)\n  bits: (\S+)\n", TABLE.read_text())
    per_bit = float(dram[1]) / float(dram[2])
    rows = (("multiply, pJ", energy["int8 multiply"], energy["fp32 multiply"]),
            ("add, pJ (int32; fp32)", energy["int32 add"], energy["fp32 add"]),
            ("multiply-accumulate, pJ", energy["int8 multiply"] + energy["int32 add"],
             energy["fp32 multiply"] + energy["fp32 add"]),
            ("one operand from DRAM, pJ", 8 * per_bit, 32 * per_bit))
    print("| | int8 | fp32 | fp32 / int8 |\n|---|---|---|---|")
    for name, small, large in rows:
        print(f"| {name} | {small:.1f} | {large:.1f} | {large / small:.1f} |")


def sram():
    """log(energy) over log(size), least squares."""
    points = [(float(p["kib"]), float(p["energy"]), float(p["bits"])) for p in entries("sram")]
    xs = [math.log(kib) for kib, _, _ in points]
    ys = [math.log(energy / bits) for _, energy, bits in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    exponent = (sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) /
                sum((x - mean_x) ** 2 for x in xs))
    scale = math.exp(mean_y - exponent * mean_x)
    print(f"energy of a bit = {scale:.4f} pJ * KiB ^ {exponent:.4f}\n")
    print("| KiB | published, pJ of 64 bits | rule | difference |\n|---|---|---|---|")
    for kib, energy, bits in points:
        rule = scale * kib ** exponent * bits
        print(f"| {kib:.0f} | {energy:.0f} | {rule:.2f} | {100 * (rule / energy - 1):+.1f}% |")


def main():
    tables = {"formats": formats, "sram": sram}
    if len(sys.argv) != 2 or sys.argv[1] not in tables:
        sys.exit(__doc__.strip())
    tables[sys.argv[1]]()


if __name__ == "__main__":
    main()
