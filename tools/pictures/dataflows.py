#!/usr/bin/env python3
"""Writes the picture of docs/guide/choosing_a_dataflow.md from what qsim prints: the energy and the cycles of VGG-16 on
three arrays in each dataflow. Needs python3-matplotlib.

usage: dataflows.py QSIM [--png FILE]     --png draws it as PNG instead, to look at
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from first_hour_draw import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, STYLE, as_svg, pyplot

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/pictures/dataflow_energy.svg"
ARRAYS = (("8 x 32", 8, 32), ("16 x 16", 16, 16), ("32 x 8", 32, 8))
DATAFLOWS = ("ws", "os", "is")
# From the left: what a dataflow changes most comes first.
PARTS = ((("accumulator", "adds"), "accumulator", ORANGE), (("weights",), "weight scratchpad", SKY),
         (("activations",), "activation scratchpad", GREEN), (("macs",), "MACs", BLUE),
         (("outputs", "parameters"), "outputs, parameters", RED),
         (("dram_read",), "DRAM reads", PURPLE), (("dram_write",), "DRAM writes", GREY))
ABOUT = ("Energy of VGG-16 by component on 8 x 32, 16 x 16 and 32 x 8 PEs in the three dataflows: output_stationary needs "
         "the least, because the accumulator takes almost none")


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


def draw(bars):
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(8.2, 4.4))
        places = [i + i // len(DATAFLOWS) * 0.6 for i in range(len(bars))]
        lefts = [0.0] * len(bars)
        for keys, label, colour in PARTS:
            widths = [sum(total["energy_parts"][key] for key in keys) / 1e9 for _, _, total in bars]
            axes.barh(places, widths, left=lefts, color=colour, label=label, height=0.82)
            lefts = [left + width for left, width in zip(lefts, widths)]
        for place, left, (_, _, total) in zip(places, lefts, bars):
            axes.text(left + 0.6, place, f"{total['cycles'] / 1e6:.1f} M cycles", va="center")
        axes.set_yticks(places, [f"{array}  {dataflow}" for array, dataflow, _ in bars])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, max(lefts) * 1.17)
        axes.set_xlabel("energy of VGG-16 [mJ], by the table horowitz-45nm")
        axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.42, 1.0), frameon=False, fontsize=9)
        figure.tight_layout()
        return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qsim", metavar="QSIM", type=pathlib.Path)
    parser.add_argument("--png")
    arguments = parser.parse_args()
    figure = draw(measure(arguments.qsim.resolve()))
    if arguments.png:
        figure.savefig(arguments.png, dpi=110, facecolor="white")
        return
    PICTURE.write_text(as_svg(figure, ABOUT), encoding="utf8")


if __name__ == "__main__":
    main()
