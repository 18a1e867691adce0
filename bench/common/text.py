"""Figures for people: units that fit, tables."""
import math

import compare

TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
COUNT_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaled(value, steps):
    for factor, unit in steps:
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    factor, unit = steps[-1]
    return f"{value / factor:.4g} {unit}"


def value_text(value, kind, unit):
    if kind == "time":
        return scaled(value, TIME_STEPS)
    if kind == "memory":
        return f"{value / 1e6:.4g} MB"
    if kind == "ratio":
        return f"{value:.3f}"
    if kind == "instructions":
        return scaled(value, COUNT_STEPS) if value >= 1e3 else f"{value:.0f}"
    return f"{value:,.0f} {unit}"


def duration(seconds):
    return f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"


def figure_text(figure):
    return value_text(figure.value, figure.kind, figure.unit) if figure else "-"


def spread_text(figure):
    """Half of the way between the quartiles, in percent of the median; empty where all runs agree."""
    if figure.value == 0 or figure.spread[0] == figure.spread[1]:
        return ""
    return f"{50 * (figure.spread[1] - figure.spread[0]) / figure.value:.1f}%"


def table(titles, rows, right=()):
    """`right`: the columns aligned to the right."""
    widths = [max(len(row[i]) for row in [titles, *rows]) for i in range(len(titles))]
    lines = []
    for row in [titles, ["-" * width for width in widths], *rows]:
        cells = [cell.rjust(width) if i in right else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def figures_table(figures):
    rows = [(figure.name, figure_text(figure), str(figure.runs), spread_text(figure)) for figure in figures]
    return table(("figure", "median", "runs", "+-"), rows, right=(1, 2, 3))


def paths_table(figures):
    """Each vector path beside its limit, of figures that are called limits/NETWORK/PATH/...; empty without them."""
    by_name = {figure.name: figure for figure in figures}
    rows = []
    for name, limit in by_name.items():
        words = name.split("/")
        if len(words) != 5 or words[0] != "limits" or words[3] != "multiply":
            continue
        network, path, instructions = words[1], words[2], words[4].replace("_", " ")
        of = {what: by_name.get(f"limits/{network}/{path}/{what}") for what in
              ("golden", "golden_over_multiply", "simulate", "simulate_over_multiply", "simulate_over_golden")}
        rows.append((network, path, instructions, figure_text(limit), *map(figure_text, of.values())))
    titles = ("network", "path", "limit", "", "golden", "x limit", "simulate", "x limit", "x golden")
    return table(titles, rows, right=range(3, 9)) if rows else ""


def ratio_text(row):
    return "" if math.isnan(row.ratio) else f"{row.ratio:.3f}"


def comparison_table(rows):
    lines = [(row.name, figure_text(row.base), figure_text(row.new), ratio_text(row), row.verdict)
             for row in rows]
    return table(("figure", "base", "new", "new/base", ""), lines, right=(1, 2, 3))


def comparison_summary(rows):
    def count(verdict):
        return sum(row.verdict == verdict for row in rows)
    parts = [f"{count(compare.WORSE)} worse by more than 10%", f"{count(compare.BETTER)} better by more than 10%",
             f"{count(compare.FINE)} within", f"{count(compare.SHOWN)} only shown",
             f"{count(compare.MISSING)} missing", f"{count(compare.NEW)} new"]
    return ", ".join(parts)
