"""The pictures of docs/reference/cost_growth.md, from the points alone: the same points give the same bytes
(with the same matplotlib). Colours are Okabe and Ito's; every series has a marker of its own as well."""
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  pylint: disable=wrong-import-position

import networks  # noqa: E402  pylint: disable=wrong-import-position
import points as growth  # noqa: E402  pylint: disable=wrong-import-position

STYLE = {"font.size": 12, "axes.grid": True, "axes.grid.which": "major", "grid.alpha": 0.4,
         "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.8,
         "lines.markersize": 8, "figure.figsize": (8, 5), "figure.constrained_layout.use": True,
         "svg.hashsalt": "qsim", "svg.fonttype": "path"}
BLUE, ORANGE, GREEN, PURPLE, SKY, RED, GREY = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
                                               "#D55E00", "#666666")
ARRAY_LOOKS = dict(zip(networks.ARRAYS, ((RED, "s"), (ORANGE, "D"), (BLUE, "o"), (GREEN, "^"), (PURPLE, "v"),
                                         (SKY, "P"))))


def straight_line(axes, xs, through, label):
    """Grows as its axis does, through the point `through`."""
    axes.plot(xs, [through[1] * x / through[0] for x in xs], color=GREY, linestyle="--", linewidth=1.2, label=label)


def find(points, network, array):
    return next(point for point in points if (point.network, point.array) == (network, array))


def plot_series(axes, points, what, look, label):
    """VGG-16 by picture as a line; VGG-8, which is another network, as a hollow marker beside it."""
    colour, marker, line = look
    vgg16 = sorted((p for p in points if p.network != "vgg8"), key=lambda p: p["macs"])
    axes.plot([p["macs"] / 1e9 for p in vgg16], [p[what] for p in vgg16], color=colour, marker=marker,
              linestyle=line, label=label)
    vgg8 = [p for p in points if p.network == "vgg8"]
    axes.plot([p["macs"] / 1e9 for p in vgg8], [p[what] for p in vgg8], color=colour, marker=marker,
              linestyle="none", markerfacecolor="white", markeredgewidth=1.8)


def plot_time_against_macs(axes, points):
    main = growth.on_main_array(points)
    plot_series(axes, main, "process_with_data", (GREEN, "^", ":"), "pe16x16, whole process")
    for array in ("pe4x4", "pe16x16", "tpu128x128"):
        series = [p for p in points if p.array == array]
        plot_series(axes, series, "simulate_with_data", (*ARRAY_LOOKS[array], "-"), f"{array}, simulation")
    anchor = find(points, "vgg16-224", networks.MAIN_ARRAY)
    straight_line(axes, sorted(p["macs"] / 1e9 for p in main),
                  (anchor["macs"] / 1e9, anchor["simulate_with_data"]), "in proportion to the MACs")
    axes.plot([], [], color=GREY, marker="o", markerfacecolor="white", linestyle="none", label="hollow: VGG-8")
    axes.set(xscale="log", yscale="log", xlabel="multiply-accumulates of the network [GMAC]",
             ylabel="wall time [s]", title="Time against work, with data")


def plot_time_only_against_commands(axes, points):
    for array, (colour, marker) in ARRAY_LOOKS.items():
        series = sorted((p for p in points if p.array == array), key=lambda p: p["commands"])
        axes.plot([p["commands"] for p in series], [p["simulate_time_only"] * 1e3 for p in series],
                  color=colour, marker=marker, linestyle="none", label=array)
    anchor = find(points, "vgg16-224", networks.MAIN_ARRAY)
    straight_line(axes, sorted(p["commands"] for p in points),
                  (anchor["commands"], anchor["simulate_time_only"] * 1e3), "in proportion to the commands")
    axes.set(xscale="log", yscale="log", xlabel="commands of the program",
             ylabel="wall time of the simulation [ms]", title="Time only (--no-data) against commands")


def plot_memory_against_model(axes, points):
    series = sorted(growth.on_main_array(points), key=lambda p: p["model"])
    xs = [p["model"] / 1e6 for p in series]
    for what, label, colour, marker in (("peak_memory_verified", "golden included", GREEN, "^"),
                                        ("peak_memory_with_data", "--no-verify", BLUE, "o"),
                                        ("peak_memory_time_only", "--no-data", ORANGE, "D")):
        axes.plot(xs, [p[what] / 1e6 for p in series], color=colour, marker=marker, label=f"peak memory, {label}")
    allowed = growth.ALLOWED_OVER_MODEL / 1e6
    axes.plot([0, xs[-1]], [allowed, xs[-1] + allowed], color=RED, linestyle="--", label="model + 100 MB")
    axes.plot([0, xs[-1]], [0, xs[-1]], color=GREY, linestyle=":", label="model")
    axes.set(xlabel="model: int8 weights and int32 biases [MB]", ylabel="peak memory of the process [MB]",
             title="Memory against the model, pe16x16")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)


def plot_cost_by_array(axes, points):
    looks = (("vgg16-224", "simulate_with_data", "VGG-16, with data", BLUE, "o", "-"),
             ("vgg16-224", "simulate_time_only", "VGG-16, time only", BLUE, "s", "--"),
             ("vgg8", "simulate_with_data", "VGG-8, with data", RED, "^", "-"),
             ("vgg8", "simulate_time_only", "VGG-8, time only", RED, "v", "--"))
    for network, what, label, colour, marker, line in looks:
        series = growth.by_array(points, network)
        axes.plot([p.pes for p in series], [p[what] * 1e3 for p in series], color=colour, marker=marker,
                  linestyle=line, label=label)
    axes.set(xscale="log", yscale="log", xlabel="array (processing elements on a log scale)",
             ylabel="wall time of the simulation [ms]", title="Time against the array's size")
    series = growth.by_array(points, "vgg8")
    axes.set_xticks([p.pes for p in series], [p.array for p in series])
    axes.set_ylim(top=12 * axes.get_ylim()[1])
    axes.minorticks_off()


PLOTS = {"cost_macs": plot_time_against_macs, "cost_commands": plot_time_only_against_commands,
         "cost_memory": plot_memory_against_model, "cost_array": plot_cost_by_array}


COLUMNS = {"cost_array": 2}  # of the legend


def draw(points, folder, suffix="svg"):
    """The files written."""
    files = []
    for name, plot in PLOTS.items():
        with plt.rc_context(STYLE):
            figure, axes = plt.subplots()
            plot(axes, points)
            axes.legend(frameon=False, fontsize=11, ncols=COLUMNS.get(name, 1))
            files.append(pathlib.Path(folder) / f"{name}.{suffix}")
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(files[-1], dpi=100, metadata=metadata)
            plt.close(figure)
    return files
