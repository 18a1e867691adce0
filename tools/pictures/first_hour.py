#!/usr/bin/env python3
"""Draws docs/pictures/first_hour_limits.svg: what limits each layer of VGG-8, from the counts of three runs.

usage: first_hour.py [--check] QSIM
--check says whether the picture is what qsim's counts give now (exit code 1 where not). Counts alone, no times, so it
is the same on every machine.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from svg import BLUE, GREEN, RED, Chart, logarithmic

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "docs/pictures/first_hour_limits.svg"
BASE = ROOT / "configs/pe16x16.yaml"
NARROW_BUS_BYTES = 4
PICTURES_AT_A_TIME = 16
LOW, HIGH = (0.42, 1.3), (180, 420)  # of the axes
ABOUT = "MACs a cycle against MACs for each byte read from DRAM, for each layer of VGG-8, with the limits of array and bus"


def with_bus(text, bus_bytes):
    """The configuration's text with another bus; the guide does the same with sed."""
    lines = text.splitlines()
    found = [i for i, line in enumerate(lines) if line.startswith("bus_bytes:")]
    if len(found) != 1:
        raise SystemExit(f"first_hour: {BASE} has {len(found)} lines with bus_bytes, not one")
    lines[found[0]] = f"bus_bytes: {bus_bytes}"
    return "\n".join(lines) + "\n"


def run(qsim, config, batch=1):
    """The configuration and the layers of one run."""
    command = [qsim, "--config", config, "--batch", str(batch), "--no-data", "--quiet", "--json", "-"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(qsim):
    with tempfile.TemporaryDirectory() as folder:
        narrow = pathlib.Path(folder) / "narrow.yaml"
        narrow.write_text(with_bus(BASE.read_text(), NARROW_BUS_BYTES))
        return run(qsim, BASE), run(qsim, narrow), run(qsim, BASE, PICTURES_AT_A_TIME)


def point(layer):
    """Where a layer lies: MACs for each byte read from DRAM, MACs a cycle."""
    return layer["macs"] / layer["dram_read_bytes"], layer["macs"] / layer["cycles"]


def draw_limits(chart, config, narrow):
    """The lines that no layer can pass, and their names."""
    peak = config["array_rows"] * config["array_cols"]
    for bus, colour, at, shift in ((config["bus_bytes"], BLUE, 1.6, (0, -9)), (narrow["bus_bytes"], RED, 5.5, (12, 13))):
        chart.segment((LOW[0], LOW[0] * bus), (peak / bus, peak), colour=colour)
        chart.note(at, at * bus, f"the bus: {bus} bytes a cycle", shift, colour=colour, turned=31)
    chart.segment((peak / config["bus_bytes"], peak), (HIGH[0], peak), colour="black")
    chart.note(HIGH[0], peak, f"every PE, every cycle: {peak}", (0, -10), anchor="end")
    # A fold of one pixel keeps the array for array_rows cycles, and uses each of its PEs once.
    one_pixel = peak // config["array_rows"]
    chart.segment((LOW[0], one_pixel), (HIGH[0], one_pixel), colour="black", dotted=True)
    chart.note(HIGH[0], one_pixel, f"folds of one pixel: {one_pixel}", (0, 10), anchor="end")


def draw(base, narrow, batch):
    chart = Chart((760, 440), (56, 12, 740, 390), logarithmic(LOW[0], HIGH[0]), logarithmic(LOW[1], HIGH[1]))
    chart.axes([(2.0 ** n, f"{2.0 ** n:g}") for n in range(-1, 8)], [(2 ** n, str(2 ** n)) for n in range(1, 9)],
               "MACs for each byte read from DRAM", "MACs a cycle")
    draw_limits(chart, base["config"], narrow["config"])
    fully_connected = [layer for layer in batch["layers"] if layer["name"].startswith("fc")]
    # Open triangles, so that what lies beneath them shows.
    wide = f"bus_bytes {base['config']['bus_bytes']}"
    groups = ((base["layers"], "o", BLUE, wide),
              (narrow["layers"], "v", RED, f"bus_bytes {NARROW_BUS_BYTES}"),
              (fully_connected, "D", GREEN, f"{wide}, {PICTURES_AT_A_TIME} pictures at a time"))
    for index, (layers, shape, colour, words) in enumerate(groups):
        for layer in layers:
            chart.mark(chart.place(*point(layer)), shape, colour, filled=shape != "v")
        at = (500, 330 + 20 * index)
        chart.mark(at, shape, colour, filled=shape != "v")
        chart.text((at[0] + 12, at[1]), words)
    name_layers(chart, base, narrow, fully_connected)
    return chart.as_svg(ABOUT)


def name_layers(chart, base, narrow, fully_connected):
    """Names beside the points; conv2 and the layers after it lie too close for a name each."""
    places = {layer["name"]: point(layer) for layer in base["layers"]}
    slowed = {layer["name"]: point(layer) for layer in narrow["layers"]}
    notes = [("conv1", places["conv1"], (-26, 2)), ("fc1", places["fc1"], (-6, -14)), ("fc2", places["fc2"], (-6, 14)),
             ("fc3", places["fc3"], (9, 0)), ("conv2 to conv5", places["conv3"], (-50, -12)),
             ("conv1", slowed["conv1"], (9, 4)), ("fc1, fc2", slowed["fc1"], (9, 8))]
    notes += [(layer["name"], point(layer), (9, 2)) for layer in fully_connected]
    for words, where, shift in notes:
        chart.note(*where, words, shift, anchor="start" if shift[0] > 0 else "middle")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qsim", type=pathlib.Path, metavar="QSIM")
    parser.add_argument("--check", action="store_true", help="compare with what is there")
    arguments = parser.parse_args()
    text = draw(*measure(arguments.qsim.resolve()))
    if not arguments.check:
        OUT.write_text(text, encoding="utf8")
        print(f"wrote {OUT}")
        return 0
    if not OUT.is_file() or OUT.read_text(encoding="utf8") != text:
        print(f"FAILED: {OUT} is not what qsim's counts give; tools/pictures/first_hour.py QSIM writes it anew")
        return 1
    print("the picture of the guide is current")
    return 0


if __name__ == "__main__":
    sys.exit(main())
