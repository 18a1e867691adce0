#!/usr/bin/env python3
"""Line and toggle coverage of rtl/src from merged counts of Verilator: per module and in all, what is
not covered, and the exclusions, which must be needed.

A line point (a block or a branch) is covered when it ran in some instance of some configuration. A
toggle point (one bit of one signal of one instance) is covered when the bit rose and fell: cores start
at zero, so a bit that is stuck at one counts one change a core, and one more than there are cores is
asked for. Exit codes: 0; 6 below the targets; 3 for an exclusion that is wrong.
"""

import argparse
import fnmatch
import re
import sys
from pathlib import Path

RTL = Path(__file__).resolve().parent.parent
FIELD = re.compile("\x01([^\x02]+)\x02([^\x01]*)")


class Point:
    def __init__(self, text, count):
        fields = dict(FIELD.findall(text))
        self.file = Path(fields["f"]).name
        self.in_sources = Path(fields["f"]).parent.name == "src"
        self.line, self.column = int(fields["l"]), int(fields["n"])
        self.kind = "toggle" if "toggle" in fields["page"] else "line"
        self.comment, self.instance = fields.get("o", ""), fields["h"].removeprefix("TOP.")
        self.count = count
        self.excluded = None

    @property
    def name(self):
        """The signal without its bit, and the bit (0 for a signal of one bit)."""
        match = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", self.comment)
        return match.group(1), int(match.group(2) or 0)


def read_points(path):
    points = []
    for line in path.read_text(errors="replace").splitlines():
        match = re.fullmatch(r"C '(.*)' (\d+)", line)
        if match:
            points.append(Point(match.group(1), int(match.group(2))))
    return [p for p in points if p.in_sources]


class Exclusion:
    """`line | FILE | SOURCE TEXT | REASON` or `toggle | INSTANCE | SIGNAL[HIGH:LOW] | REASON`;
    INSTANCE and SIGNAL may have * in them, and without bits it is the whole signal."""

    def __init__(self, text, number):
        parts = [part.strip() for part in text.split(" | ")]
        if len(parts) != 4 or parts[0] not in ("line", "toggle") or not parts[3]:
            print(f"exclusions.txt:{number}: not 'KIND | WHERE | WHAT | REASON': {text}", file=sys.stderr)
            raise SystemExit(3)
        self.kind, self.where, self.what, self.reason = parts
        self.number, self.matches = number, 0
        match = re.fullmatch(r"(.*?)(?:\[(\d+)(?::(\d+))?\])?", self.what)
        self.signal, high, low = match.groups()
        self.bits = None if high is None else range(int(low or high), int(high) + 1)

    def matches_point(self, point, lines):
        if point.kind != self.kind:
            return False
        if self.kind == "line":
            return point.file == self.where and lines[point.file][point.line - 1].strip() == self.what
        signal, bit = point.name
        return (fnmatch.fnmatchcase(point.instance, self.where)
                and fnmatch.fnmatchcase(signal, self.signal) and (self.bits is None or bit in self.bits))


def line_points(points):
    """One point for all instances and configurations."""
    merged = {}
    for p in points:
        if p.kind != "line":
            continue
        key = (p.file, p.line, p.column, p.comment)
        if key in merged:
            merged[key].count += p.count
        else:
            merged[key] = p
    return list(merged.values())


def exclude(points, covered, exclusions, lines):
    """Marks what is excluded; returns what is wrong with the exclusions."""
    faults = []
    for exclusion in exclusions:
        for point in points:
            if not exclusion.matches_point(point, lines):
                continue
            exclusion.matches += 1
            if covered(point):
                faults.append(f"exclusions.txt:{exclusion.number}: {point.instance} {point.file}:"
                              f"{point.line} {point.comment} is covered ({point.count}) and excluded")
            point.excluded = exclusion
    return faults


def print_table(title, points, covered):
    """Prints the share of each module; returns the share of all."""
    rows = {}
    for point in points:
        row = rows.setdefault(point.file.removesuffix(".sv"), [0, 0, 0])
        row[0] += 1
        row[1] += covered(point) and point.excluded is None
        row[2] += point.excluded is not None
    total = [sum(row[i] for row in rows.values()) for i in range(3)]
    print(f"{title:30}{'points':>8}{'covered':>9}{'excluded':>10}{'of the rest':>13}{'of all':>9}")
    for name, (count, hit, out) in [*sorted(rows.items()), ("all", total)]:
        rest = 100.0 * hit / (count - out) if count > out else 100.0
        print(f"{name:30}{count:8}{hit:9}{out:10}{rest:12.2f}%{100.0 * hit / count:8.2f}%")
    print()
    return 100.0 * total[1] / (total[0] - total[2]) if total[0] > total[2] else 100.0


def bit_ranges(bits):
    bits, texts = sorted(bits), []
    while bits:
        low = high = bits.pop(0)
        while bits and bits[0] == high + 1:
            high = bits.pop(0)
        texts.append(f"{high}:{low}" if high > low else str(low))
    return ",".join(texts)


def print_missing(points, covered, lines, limit):
    signals = {}
    for point in points:
        if covered(point) or point.excluded:
            continue
        if point.kind == "line":
            print(f"  {point.file}:{point.line} {point.comment}: {lines[point.file][point.line - 1].strip()}")
        else:
            signal, bit = point.name
            signals.setdefault((point.instance, signal), set()).add(bit)
    for (instance, signal), bits in sorted(signals.items())[:limit]:
        print(f"  {instance} {signal}[{bit_ranges(bits)}]")
    if len(signals) > limit:
        print(f"  and {len(signals) - limit} signals more")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--toggles", type=Path, required=True, help="merged counts, for both")
    parser.add_argument("--cores", type=int, required=True, help="that --toggles is the sum of")
    parser.add_argument("--lines", type=Path, nargs="*", default=[], help="more counts, for lines")
    parser.add_argument("--exclusions", type=Path, default=RTL / "coverage/exclusions.txt")
    parser.add_argument("--require-lines", type=float, default=100)
    parser.add_argument("--require-toggles", type=float, default=95)
    parser.add_argument("--limit", type=int, default=60, help="of signals in the list")
    arguments = parser.parse_args()
    exclusions = [Exclusion(text, number) for number, text in
                  enumerate(arguments.exclusions.read_text().splitlines(), 1)
                  if text.strip() and not text.startswith("#")]
    lines = {p.name: p.read_text().splitlines() for p in (RTL / "src").glob("*.sv")}
    toggles = [p for p in read_points(arguments.toggles) if p.kind == "toggle"]
    blocks = line_points([p for path in [arguments.toggles, *arguments.lines]
                          for p in read_points(path)])
    faults, shares = [], []
    for title, points, least in (("lines and branches", blocks, 1),
                                 ("toggled bits", toggles, arguments.cores + 1)):
        covered = lambda p, least=least: p.count >= least
        faults += exclude(points, covered, exclusions, lines)
        shares.append(print_table(title, points, covered))
        print(f"not covered, {title}:")
        print_missing(points, covered, lines, arguments.limit)
        print()
    faults += [f"exclusions.txt:{e.number}: matches nothing: {e.what}" for e in exclusions
               if e.matches == 0]
    for fault in faults[:40]:
        print(fault, file=sys.stderr)
    print(f"lines and branches {shares[0]:.2f}% (target {arguments.require_lines:g}%), toggled bits "
          f"{shares[1]:.2f}% (target {arguments.require_toggles:g}%), of what is not excluded")
    if faults:
        return 3
    met = shares[0] >= arguments.require_lines and shares[1] >= arguments.require_toggles
    return 0 if met else 6


if __name__ == "__main__":
    sys.exit(main())
