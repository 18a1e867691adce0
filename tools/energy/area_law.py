#!/usr/bin/python3
"""Fits the law of core/machine/area_law.cpp to Yosys's counts in rtl/yosys/area.csv, and that of POST with a requantizer
for any scale to those in rtl/yosys/area_dyadic.csv.

usage: area_law.py --write | --check | residuals
--write: puts the numbers into core/machine/area_law.cpp.  --check: says whether they are there, and ends with 1 if not.
residuals: prints the law beside the count at each counted configuration.
"""
import csv
import pathlib
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = ROOT / "rtl" / "yosys" / "area.csv"
DYADIC = ROOT / "rtl" / "yosys" / "area_dyadic.csv"
SOURCE = ROOT / "core" / "machine" / "area_law.cpp"
BEGIN, END = "// Written by tools/energy/area_law.py.\n", "// End of what is written.\n"

# The terms of LawTerms in core/machine/area_law.h. Differences are 0 where they would be negative.
TERMS = ("1", "R", "C", "RC", "R(R-1)", "CC", "RW", "R-C", "C-R", "W-B", "C>R")
# By part, the terms of its gates and of its flip-flops.
PARTS = {
    "array": (("C", "RC", "CC", "RW"), ("C", "RC", "R(R-1)", "CC", "RW", "R-C")),
    "operands": (("1", "C", "R-C", "C-R"), ("1", "R", "C")),
    "accumulate": (("1", "R", "C"),) * 2,
    "post": (("1", "C"),) * 2,
    "dma": (("1", "W-B", "C>R"),) * 2,
    "control": (("1", "R", "C"),) * 2,
    "dyadic_post": (("1", "C"),) * 2,
}
KINDS = ("gates", "flip_flops")
RANGES = ("array_rows", "array_cols", "bus_bytes")


def lines_of(path):
    """The lines of the file with all three dataflows, numbers as int."""
    with open(path, encoding="utf-8") as file:
        all_rows = [{key: int(value) if value.isdigit() else value for key, value in row.items()}
                    for row in csv.DictReader(file)]
    return [row for row in all_rows if row["dataflows"] == 7]


def rows():
    """Those of the core that shifts, and of the other the part that differs, POST."""
    posts = [{**row, "part": "dyadic_post"} for row in lines_of(DYADIC) if row["part"] == "post"]
    return lines_of(COUNTS) + posts


def terms(row):
    """By name, the value of each term."""
    height, width, bus = row["array_rows"], row["array_cols"], row["bus_bytes"]
    most = max(height, width)
    return dict(zip(TERMS, (1, height, width, height * width, height * (height - 1), width ** 2, height * most,
                            max(0, height - width), max(0, width - height), max(0, most - bus), int(width > height))))


def fitted(counts, part, kind):
    """By term, the number of the law: the least sum of squares of relative differences."""
    names = PARTS[part][KINDS.index(kind)]
    lines = [row for row in counts if row["part"] == part]
    factors = numpy.array([[terms(row)[name] / row[kind] for name in names] for row in lines])
    solution, _, rank, _ = numpy.linalg.lstsq(factors, numpy.ones(len(lines)), rcond=None)
    if rank != len(names):
        sys.exit(f"area_law.py: {COUNTS.name} has too few configurations for the terms of {part}")
    return {name: round(float(value), 3) for name, value in zip(names, solution)}


def law(counts):
    return {(part, kind): fitted(counts, part, kind) for part in PARTS for kind in KINDS}


def written(counts):
    """The part of core/machine/area_law.cpp that is generated."""
    numbers = law(counts)
    lines = ["constexpr std::array<PartLaw, kLawParts> kLaw = {{"]
    for part in PARTS:
        lists = [", ".join(f"{numbers[part, kind].get(name, 0) + 0:g}" for name in TERMS) for kind in KINDS]
        lines.append(f"    {{{{{lists[0]}}},  // {part}")
        lines.append(f"     {{{lists[1]}}}}},")
    lines.append("}};")
    lines.append("constexpr Counted kCounted[] = {")
    for field in RANGES:
        values = [row[field] for row in counts]
        lines.append(f'    {{"{field}", &ArchConfig::{field}, {min(values)}, {max(values)}}},')
    lines.append("};")
    return "\n".join(lines) + "\n"


def residuals(counts):
    """By configuration: counted, by the law, and the difference in percent; of the sum and of the array."""
    numbers = law(counts)
    print("| array | bus | gates counted | law | | in the array | flip-flops counted | law | |")
    print("|---|---|---|---|---|---|---|---|---|")
    names = list(dict.fromkeys(row["config"] for row in counts))
    for name in names:
        lines = [row for row in counts if row["config"] == name and row["part"] in PARTS]
        if lines[0]["part"] == "dyadic_post":
            continue
        cells = []
        for kind in KINDS:
            by_part = {row["part"]: (row[kind], round(sum(terms(row)[t] * v for t, v in numbers[row["part"], kind].items())))
                       for row in lines}
            counted, predicted = (sum(pair[i] for pair in by_part.values()) for i in (0, 1))
            cells += [f"{counted:,}", f"{predicted:,}", f"{100 * (predicted / counted - 1):+.1f}%"]
            if kind == "gates":
                first, second = by_part["array"]
                cells.append(f"{100 * (second / first - 1):+.1f}%")
        row = lines[0]
        print(f"| {row['array_rows']} x {row['array_cols']} | {row['bus_bytes']} | " + " | ".join(cells) + " |")


def main():
    counts = rows()
    if sys.argv[1:] == ["residuals"]:
        return residuals(counts)
    if len(sys.argv) != 2 or sys.argv[1] not in ("--write", "--check"):
        sys.exit(__doc__.strip())
    text = SOURCE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    now = before + BEGIN + written(counts) + END + rest.split(END)[1]
    if sys.argv[1] == "--write":
        SOURCE.write_text(now, encoding="utf-8")
    elif now != text:
        sys.exit("area_law.py: core/machine/area_law.cpp has other numbers than area.csv gives; area_law.py --write")
    return 0


if __name__ == "__main__":
    sys.exit(main())
