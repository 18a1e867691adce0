"""Draws the two pictures of docs/guide/first_hour.md with matplotlib; the same data give the same bytes."""

import io

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402  (after the backend is chosen)

# Okabe and Ito's colours, which people with any common colour blindness can tell apart.
BLUE, ORANGE, PURPLE, RED, SKY, GREY, GREEN = (
    "#0072B2", "#E69F00", "#CC79A7", "#D55E00", "#56B4E9", "#999999", "#009E73")

# The parts of docs/reference/stats.md, in the order of qsim's list; some of them drawn as one.
PARTS = (
    (("useful",), "useful MACs", BLUE, "white"),
    (("edge_lanes",), "idle lanes", ORANGE, "black"),
    (("fold_bubbles",), "bubbles", PURPLE, "black"),
    (("wait_weights", "wait_activations", "wait_parameters"), "waits: read bus", RED, "white"),
    (("wait_write_bus", "wait_post"), "waits: write bus, POST", SKY, "black"),
    (("wait_dram_latency", "wait_array_latency", "wait_post_latency"), "waits: latency", GREY, "black"),
)
SMALLEST_LABELLED_SHARE = 0.07
BUS_LINE_DEGREES = 31  # as steep as the bus lines come out in this size

STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 10,
    "svg.fonttype": "path",  # so that no viewer puts another font, with other widths, in its place
    "svg.hashsalt": "qsim",  # else the ids within the file are random
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def as_svg(figure, about):
    out = io.BytesIO()
    figure.savefig(out, format="svg", facecolor="white", metadata={"Date": None, "Description": about})
    pyplot.close(figure)
    # matplotlib leaves spaces at some lines' ends
    return "\n".join(line.rstrip() for line in out.getvalue().decode().splitlines()) + "\n"


def shares(counts):
    """The parts of a layer's array time, each from 0 to 1."""
    parts = counts["array_time_pe_cycles"]
    unknown = set(parts) - {key for keys, *_ in PARTS for key in keys}
    if unknown:
        raise SystemExit(f"first_hour: no colour for {', '.join(sorted(unknown))}")
    whole = sum(parts.values())
    return [sum(parts.get(key, 0) for key in keys) / whole for keys, *_ in PARTS]


def array_time(data, about):
    """Picture 1: where each layer's array time goes."""
    run = data["pe16x16"]
    rows = [(layer["name"], layer) for layer in run["layers"]] + [("network", run["total"])]
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(8.2, 3.9))
        lefts = [0.0] * len(rows)
        for index, (_, label, colour, ink) in enumerate(PARTS):
            widths = [shares(counts)[index] for _, counts in rows]
            bars = axes.barh(range(len(rows)), widths, left=lefts, color=colour, label=label, height=0.72,
                             edgecolor="white", linewidth=0.6)
            for bar, width in zip(bars, widths):
                if width >= SMALLEST_LABELLED_SHARE:
                    axes.text(bar.get_x() + width / 2, bar.get_y() + bar.get_height() / 2, f"{width:.0%}",
                              ha="center", va="center", color=ink, fontsize=9)
            lefts = [left + width for left, width in zip(lefts, widths)]
        for row, (_, counts) in enumerate(rows):
            axes.text(1.16, row, f"{counts['cycles']:,}", ha="right", va="center")
        axes.text(1.16, -0.95, "cycles", ha="right", va="center")
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
        axes.set_xlabel(f"share of the array's time ({run['array_rows']} x {run['array_cols']} PEs x cycles)")
        figure.legend(loc="upper center", ncols=len(PARTS), frameon=False, fontsize=9, handlelength=1.1,
                      columnspacing=1.3)
        figure.subplots_adjust(left=0.09, right=0.87, top=0.84, bottom=0.14)
        return as_svg(figure, about)


def point(layer):
    """Where a layer lies: MACs for each byte read from DRAM, MACs a cycle."""
    return layer["macs"] / layer["dram_read_bytes"], layer["macs"] / layer["cycles"]


def draw_limits(axes, run, narrow):
    """The three lines that no layer can pass, and their names. The array's peak comes first."""
    peak = run["array_rows"] * run["array_cols"]
    left, right = axes.get_xlim()
    for counts, colour, shift in ((run, BLUE, 5), (narrow, RED, -14)):
        bus = counts["bus_bytes"]
        knee = peak / bus
        axes.plot([left, knee], [left * bus, peak], color=colour, linewidth=1.4, zorder=1)
        axes.annotate(f"the bus: {bus} bytes a cycle", (2.6, 2.6 * bus), xytext=(0, shift), textcoords="offset points",
                      rotation=BUS_LINE_DEGREES, rotation_mode="anchor", color=colour, fontsize=9)
    axes.plot([peak / run["bus_bytes"], right], [peak, peak], color="black", linewidth=1.4, zorder=1)
    axes.text(right, peak * 1.12, f"every PE, every cycle: {peak}", ha="right", va="bottom", fontsize=9)
    # A fold of one pixel keeps the array for array_rows cycles, and uses each of its PEs once.
    one_pixel = peak / run["array_rows"]
    axes.plot([left, right], [one_pixel, one_pixel], color="black", linewidth=1, linestyle=":", zorder=1)
    axes.text(right, one_pixel * 0.9, f"folds of one pixel: {one_pixel:.0f}", ha="right", va="top", fontsize=9)


def limits(data, about):
    """Picture 2: a roofline; what limits each layer, and what a narrow bus or a batch changes."""
    run, narrow, batch = data["pe16x16"], data["narrow"], data["batch"]
    fully_connected = [layer for layer in batch["layers"] if layer["name"].startswith("fc")]
    # Open triangles, so that what lies beneath them shows.
    groups = (
        (run["layers"], "o", BLUE, BLUE, f"bus_bytes {run['bus_bytes']}"),
        (narrow["layers"], "v", RED, "none", f"bus_bytes {narrow['bus_bytes']}"),
        (fully_connected, "D", GREEN, GREEN, f"bus_bytes {batch['bus_bytes']}, {batch['batch']} pictures at a time"),
    )
    with pyplot.rc_context(STYLE):
        figure, axes = pyplot.subplots(figsize=(8.2, 4.6))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlim(0.42, 180)
        axes.set_ylim(1.8, 420)
        draw_limits(axes, run, narrow)
        for layers, marker, colour, inside, label in groups:
            points = [point(layer) for layer in layers]
            axes.scatter(*zip(*points), marker=marker, s=46, facecolors=inside, edgecolors=colour, linewidths=1.3,
                         label=label, zorder=3)
        name_layers(axes, run, narrow, fully_connected)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("MACs for each byte read from DRAM")
        axes.set_ylabel("MACs a cycle")
        axes.legend(loc="lower right", frameon=False, fontsize=9)
        figure.subplots_adjust(left=0.09, right=0.98, top=0.97, bottom=0.12)
        return as_svg(figure, about)


def name_layers(axes, run, narrow, fully_connected):
    """Names beside the points; conv2 and the layers after it lie too close for a name each."""
    places = {layer["name"]: point(layer) for layer in run["layers"]}
    notes = [(name, places[name], shift) for name, shift in
             (("conv1", (-8, -14)), ("fc1", (-6, 8)), ("fc2", (-2, -14)), ("fc3", (9, -4)))]
    notes.append(("conv2 to conv5", places["conv3"], (4, -18)))
    slowed = {layer["name"]: point(layer) for layer in narrow["layers"]}
    notes += [("conv1", slowed["conv1"], (9, -4)), ("fc1, fc2", slowed["fc1"], (9, -8))]
    notes += [(layer["name"], point(layer), (9, -4)) for layer in fully_connected]
    for name, where, shift in notes:
        axes.annotate(name, where, xytext=shift, textcoords="offset points", fontsize=9,
                      ha="left" if shift[0] > 0 else "center")


PICTURES = {"first_hour_array_time.svg": array_time, "first_hour_limits.svg": limits}
