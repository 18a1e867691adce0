#!/usr/bin/env python3
"""Draws docs/pictures/abc_activations.svg: v and beta fitted to normal numbers after ReLU, with 1 to 8 binary bases.

usage: abc_activations.py QSIM [FILE]
"""
import json
import pathlib
import subprocess
import sys

from abc_error import BASES, ROOT, text

OUT = ROOT / "docs/pictures/abc_activations.svg"
WIDTH, HEIGHT = 760, 320
TOP, BOTTOM = 20, 270
ERRORS = (60, 340)  # the left and right end of each chart
STEPS = (420, 740)
MOST_ERROR, MOST_X = 0.8, 3.0
SHOWN = ((2, "#1f77b4"), (3, "#d62728"), (5, "#2ca02c"))


def fits(qsim):
    done = subprocess.run([qsim, "golden", "abc", "--model", "resnet14-cifar10", "--fit-activations", "--json", "-", "--quiet"],
                          check=True, capture_output=True, cwd=ROOT)
    return json.loads(done.stdout)["activations"]


def place(ends, x, y):
    """x and y from 0 to 1."""
    return ends[0] + x * (ends[1] - ends[0]), BOTTOM - y * (BOTTOM - TOP)


def lines(ends, marks, most):
    parts = []
    for mark, words in marks:
        (x, y), (end, _) = place(ends, 0, mark / most), place(ends, 1, 0)
        parts.append(f'<line x1="{x}" y1="{y:.1f}" x2="{end}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(x - 8, y + 4, words, "end"))
    return parts


def path(points, colour):
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'


def error_chart(rows):
    parts = lines(ERRORS, [(e / 100, f"{e}%") for e in range(0, 81, 20)], MOST_ERROR)
    points = [place(ERRORS, (row["bases"] - 1) / 7, row["error"] / MOST_ERROR) for row in rows]
    parts.append(path(points, "#9467bd"))
    for (x, y), row in zip(points, rows):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#9467bd"/>')
        parts.append(text(x, y - 8, f"{row['error']:.1%}"))
    parts += [text(place(ERRORS, (m - 1) / 7, 0)[0], BOTTOM + 18, str(m)) for m in BASES]
    return parts + [text(sum(ERRORS) / 2, BOTTOM + 40, "bases of the activations (N)")]


def steps_chart(rows):
    parts = lines(STEPS, [(n, str(n)) for n in range(4)], MOST_X)
    parts += [text(place(STEPS, n / MOST_X, 0)[0], BOTTOM + 18, str(n)) for n in range(4)]
    for index, (bases, colour) in enumerate(SHOWN):
        v, beta = ([float(x) for x in rows[bases - 1][key].split()] for key in ("v", "beta"))
        points = []
        for i in range(601):
            x = MOST_X * i / 600
            y = sum(b if x + t > 0.5 else -b for t, b in zip(v, beta))
            points.append(place(STEPS, x / MOST_X, y / MOST_X))
        parts.append(path(points, colour))
        y = TOP + 14 + 20 * index
        parts.append(f'<line x1="440" y1="{y - 4}" x2="466" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(474, y, f"N = {bases}", "start"))
    return parts + [text(sum(STEPS) / 2, BOTTOM + 40, "the sum of beta_j A_j for a number")]


def main():
    qsim = pathlib.Path(sys.argv[1]).resolve()
    rows = fits(qsim)
    parts = error_chart(rows) + steps_chart(rows)
    page = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
    pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else OUT).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
