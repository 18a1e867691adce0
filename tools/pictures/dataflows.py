#!/usr/bin/env python3
"""Writes the pictures of docs/guide/choosing_a_dataflow.md from what qsim prints: the energy by component of VGG-16 on
three arrays, and cycles and energy on nine, in each dataflow. Needs python3-matplotlib.

usage: dataflows.py QSIM [--png FOLDER]     --png draws them as PNG in FOLDER instead, to look at
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from first_hour_draw import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, STYLE, as_svg, pyplot

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


def profile(qsim):
    """The points of `qsim profile` on nine arrays."""
    sizes = ",".join(map(str, SIZES))
    command = [qsim, "profile", "--quiet", "--model", "vgg16", "--config", "pe16x16", "--set", f"array_rows={sizes}",
               "--set", f"array_cols={sizes}", "--objective", "energy", "--energy", "horowitz-45nm", "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, encoding="utf8", check=True).stdout)["points"]


def draw_arrays(points):
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(8.2, 4.8))
        for point in points:
            total, marker = point["total"], MARKERS[point["pes"]]
            place = (total["cycles"] / 1e6, total["energy"] / 1e9)
            if point["dataflow"] == "auto":
                axes.scatter(*place, color="none", marker=marker, s=110, edgecolors=RED, linewidths=1.2)
            else:
                axes.scatter(*place, color=COLOURS[point["dataflow"]], marker=marker, s=34)
        axes.set_xscale("log")
        ticks = (20, 40, 80, 160, 320)
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlim(19, 330)
        axes.set_ylim(0, 94)
        axes.set_xlabel("cycles of VGG-16 [millions]")
        axes.set_ylabel("energy [mJ], by horowitz-45nm")
        for name, colour in COLOURS.items():
            axes.scatter([], [], color=colour, marker="o", s=34, label=name)
        axes.scatter([], [], color="none", marker="o", s=110, edgecolors=RED, label="auto")
        for pes, marker in MARKERS.items():
            axes.scatter([], [], color=GREY, marker=marker, s=34, label=f"{pes} PEs")
        axes.legend(ncols=9, loc="lower center", bbox_to_anchor=(0.48, 1.0), frameon=False, fontsize=9,
                    columnspacing=1.0, handletextpad=0.2)
        figure.tight_layout()
        return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qsim", metavar="QSIM", type=pathlib.Path)
    parser.add_argument("--png", metavar="FOLDER", type=pathlib.Path)
    arguments = parser.parse_args()
    qsim = arguments.qsim.resolve()
    pictures = {"dataflow_energy": (draw_energy(measure(qsim)), ABOUT),
                "dataflow_arrays": (draw_arrays(profile(qsim)), ABOUT_ARRAYS)}
    for name, (figure, about) in pictures.items():
        if arguments.png:
            figure.savefig(arguments.png / f"{name}.png", dpi=110, facecolor="white")
        else:
            (PICTURES / f"{name}.svg").write_text(as_svg(figure, about), encoding="utf8")


if __name__ == "__main__":
    main()
