"""Holds new figures against a base: which are worse by more than a tenth, and which may be judged at all.

Judged: memory and counts always; instructions where the same tool counted them in programs of the same
build (compiler, build type); times, and ratios of times, only of the same build on the same kind of machine
(processor, cores, vector instructions). The others are shown. A figure of the base that a bench no longer gives is a finding.
"""
import math
from dataclasses import dataclass

import machine
from results import RAN

LIMIT = 0.10
# Ratios of doubles: 1.1 itself is not over 10%.
ROUNDING = 1e-9

WORSE, BETTER, FINE, SHOWN, MISSING, NEW = "WORSE", "better", "", "shown only", "MISSING", "new"
FLAGGED = (WORSE, MISSING)


@dataclass(frozen=True)
class Row:
    name: str
    base: object  # Figure, or None
    new: object
    ratio: float  # new / base; NaN where one is not there
    verdict: str


def ratio_of(base, new):
    if base.value == 0:
        return 1.0 if new.value == 0 else math.inf
    return new.value / base.value


def is_judged(base, new, base_machine, new_machine):
    """`new` may be None: a figure that is missing."""
    if base.kind in ("memory", "count"):
        return True
    if not machine.same_build(base_machine, new_machine):
        return False
    if base.kind == "instructions":
        return new is None or base.tool == new.tool
    return machine.same_kind(base_machine, new_machine)


def verdict_of(ratio):
    if ratio > 1 + LIMIT + ROUNDING:
        return WORSE
    return BETTER if ratio < 1 - LIMIT - ROUNDING else FINE


def compare_figure(base, new, base_machine, new_machine):
    if (base.kind, base.unit) != (new.kind, new.unit):
        return Row(base.name, base, new, math.nan, MISSING)
    ratio = ratio_of(base, new)
    judged = is_judged(base, new, base_machine, new_machine)
    return Row(base.name, base, new, ratio, verdict_of(ratio) if judged else SHOWN)


def bench_of(name):
    return name.split("/", maxsplit=1)[0]


def compare(base, new):
    """Rows in the order of the new figures; what is missing comes last. `base` and `new` are results.
    Figures of benches that did not run, or had not finished when interrupted, are not missing."""
    rows = []
    for name, figure in new["figures"].items():
        if name not in base["figures"]:
            rows.append(Row(name, None, figure, math.nan, NEW))
        else:
            rows.append(compare_figure(base["figures"][name], figure, base["machine"], new["machine"]))
    for name, figure in base["figures"].items():
        if name not in new["figures"] and new["benches"].get(bench_of(name)) == RAN:
            judged = is_judged(figure, None, base["machine"], new["machine"])
            rows.append(Row(name, figure, None, math.nan, MISSING if judged else SHOWN))
    return rows


def nothing_judged(rows):
    """Whether the comparison says nothing at all: no figure is in both, or none may be judged."""
    return all(row.verdict in (SHOWN, NEW) for row in rows)


def notes(base, new):
    """What a reader has to know before believing the rows."""
    lines = []
    for what, results in (("base", base), ("new", new)):
        if results["dirty"]:
            lines.append(f"the {what} was measured with uncommitted changes to {results['commit'][:12]}")
        if not results["complete"]:
            lines.append(f"the {what} is of a run that did not finish")
    if not machine.same_kind(base["machine"], new["machine"]):
        lines.append(f"other kind of machine: base {machine.kind_text(base['machine'])}; "
                     f"new {machine.kind_text(new['machine'])}: times and ratios are only shown")
    if not machine.same_build(base["machine"], new["machine"]):
        lines.append(f"other build: base {machine.build_text(base['machine'])}; new "
                     f"{machine.build_text(new['machine'])}: times, ratios and instruction counts are only shown")
    elif any(row.verdict == SHOWN and row.base.kind == "instructions" for row in compare(base, new)):
        lines.append("other instruction counter: instruction counts are only shown")
    for bench, state in new["benches"].items():
        if state != RAN:
            lines.append(f"{bench}: {state}")
    return lines
