#!/usr/bin/env python3
"""Writes the pictures of docs/guide/choosing_a_dataflow.md from what qsim prints: the energy by component of VGG-16 on
three arrays, and cycles and energy on nine, in each dataflow.

usage: dataflows.py QSIM
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from svg import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, Chart, linear, logarithmic

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"
ARRAYS = (("8 x 32", 8, 32), ("16 x 16", 16, 16), ("32 x 8", 32, 8))
DATAFLOWS = ("ws", "os", "is")
# From the left: what a dataflow changes most comes first.
PARTS = ((("accumulator", "adds"), "accumulator", ORANGE), (("weights",), "weight scratchpad", SKY),
         (("activations",), "activation scratchpad", GREEN), (("macs",), "MACs", BLUE),
         (("outputs", "parameters"), "outputs, parameters", RED),
         (("dram_read",), "DRAM reads", PURPLE), (("dram_write",), "DRAM writes", GREY))
ABOUT = ("Energy of VGG-16 by component on 8 x 32, 16 x 16 and 32 x 8 PEs in the three dataflows: output_stationary needs "
         "the least, because the accumulator takes almost none")
SIZES = (8, 16, 32)
COLOURS = {"ws": BLUE, "os": ORANGE, "is": GREEN}
MARKERS = {64: "v", 128: "^", 256: "o", 512: "s", 1024: "D"}
ABOUT_ARRAYS = ("Cycles and energy of VGG-16 on nine arrays of 8, 16 and 32 rows and columns in each dataflow: more PEs take "
                "fewer cycles and less energy, and output_stationary takes the least energy on each array")


def config_text(rows, cols):
    lines = (ROOT / "configs/pe16x16.yaml").read_text(encoding="utf8").splitlines()
    sizes = {"array_rows": rows, "array_cols": cols}
    return "\n".join(f"{line.split(':')[0]}: {sizes[line.split(':')[0]]}" if line.split(":")[0] in sizes else line
                     for line in lines) + "\n"


def total_of(qsim, config, dataflow):
    command = [qsim, "run", "--no-data", "--engine", "recurrence", "--quiet", "--model", "vgg16", "--config", config,
               "--dataflow", dataflow, "--objective", "energy", "--energy", "horowitz-45nm", "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, encoding="utf8", check=True).stdout)["total"]


def measure(qsim):
    """(array, dataflow, total) from top to bottom."""
    bars = []
    with tempfile.TemporaryDirectory() as folder:
        for name, rows, cols in ARRAYS:
            config = pathlib.Path(folder) / f"pe{rows}x{cols}.yaml"
            config.write_text(config_text(rows, cols), encoding="utf8")
            bars += [(name, dataflow, total_of(qsim, config, dataflow)) for dataflow in DATAFLOWS]
    return bars


def draw_energy(bars):
    chart = Chart((760, 304), (84, 44, 740, 260), linear(0, 100), linear(9.7, -0.5))
    chart.axes([(n, str(n)) for n in range(0, 101, 20)], [], "energy of VGG-16 [mJ], by the table horowitz-45nm")
    for index, (array, dataflow, total) in enumerate(bars):
        row = index + index // len(DATAFLOWS) * 0.6
        chart.note(0, row, f"{array}  {dataflow}", (-8, 0), anchor="end")
        left = 0.0
        for keys, _, colour in PARTS:
            right = left + sum(total["energy_parts"][key] for key in keys) / 1e9
            chart.bar(left, right, row, colour)
            left = right
        chart.note(left, row, f"{total['cycles'] / 1e6:.1f} M cycles", (6, 0))
    for index, (_, words, colour) in enumerate(PARTS):
        at = (100 + index % 4 * 165, 12 + index // 4 * 18)
        chart.mark(at, "s", colour, radius=6)
        chart.text((at[0] + 12, at[1]), words)
    return chart.as_svg(ABOUT)


def profile(qsim):
    """The points of `qsim profile` on nine arrays."""
    sizes = ",".join(map(str, SIZES))
    command = [qsim, "profile", "--quiet", "--model", "vgg16", "--config", "pe16x16", "--set", f"array_rows={sizes}",
               "--set", f"array_cols={sizes}", "--objective", "energy", "--energy", "horowitz-45nm", "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, encoding="utf8", check=True).stdout)["points"]


def draw_arrays(points):
    chart = Chart((760, 430), (56, 40, 740, 380), logarithmic(19, 330), linear(0, 94))
    chart.axes([(n, str(n)) for n in (20, 40, 80, 160, 320)], [(n, str(n)) for n in range(0, 91, 10)],
               "cycles of VGG-16 [millions]", "energy [mJ], by horowitz-45nm")
    for point in points:
        at = chart.place(point["total"]["cycles"] / 1e6, point["total"]["energy"] / 1e9)
        is_auto = point["dataflow"] == "auto"
        chart.mark(at, MARKERS[point["pes"]], RED if is_auto else COLOURS[point["dataflow"]], filled=not is_auto,
                   radius=7 if is_auto else 3.5)
    legend = [("o", colour, dataflow, True) for dataflow, colour in COLOURS.items()] + [("o", RED, "auto", False)]
    legend += [(shape, GREY, f"{pes} PEs", True) for pes, shape in MARKERS.items()]
    for index, (shape, colour, words, filled) in enumerate(legend):
        at = (70 + index * 72, 18)
        chart.mark(at, shape, colour, filled=filled, radius=5)
        chart.text((at[0] + 10, at[1]), words)
    return chart.as_svg(ABOUT_ARRAYS)


def main():
    qsim = pathlib.Path(sys.argv[1]).resolve()
    for name, text in (("dataflow_energy", draw_energy(measure(qsim))), ("dataflow_arrays", draw_arrays(profile(qsim)))):
        (PICTURES / f"{name}.svg").write_text(text, encoding="utf8")
        print(f"wrote {PICTURES / name}.svg")


if __name__ == "__main__":
    main()
