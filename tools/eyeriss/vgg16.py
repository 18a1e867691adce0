#!/usr/bin/env python3
"""Eyeriss's published DRAM traffic of VGG-16's convolutions beside qsim's, for docs/measurements/performance.md.

usage: vgg16.py QSIM
"""
import json
import pathlib
import subprocess
import sys

BATCH = 3
DATAFLOWS = ("ws", "os", "is")
CONFIGS = ("small", "large")

# Y.-H. Chen, T. Krishna, J. Emer, V. Sze, "Eyeriss: an energy-efficient reconfigurable accelerator for
# deep convolutional neural networks", IEEE Journal of Solid-State Circuits 52(1), 2017, table VI: share of
# PEs that are active, share of zeros in the ifmaps, MB of DRAM accesses, for a batch of 3. The page says
# how the table was read, and what was corrected.
PUBLISHED = {
    "conv1_1": (93, 1.6, 15.4), "conv1_2": (93, 47.7, 54.0),
    "conv2_1": (93, 24.8, 33.4), "conv2_2": (93, 38.7, 48.5),
    "conv3_1": (93, 39.7, 20.2), "conv3_2": (93, 58.1, 32.2), "conv3_3": (93, 58.7, 30.8),
    "conv4_1": (100, 64.3, 17.8), "conv4_2": (100, 74.7, 28.6), "conv4_3": (100, 85.4, 22.8),
    "conv5_1": (100, 79.4, 6.3), "conv5_2": (100, 87.4, 5.7), "conv5_3": (100, 88.5, 5.6),
}
PUBLISHED_TOTAL_MB = 321.1
PUBLISHED_GMACS = 46.04

# Input channels, output channels, size of the ifmap, whether a max-pool follows.
SHAPES = [(3, 64, 224, 0), (64, 64, 224, 1), (64, 128, 112, 0), (128, 128, 112, 1), (128, 256, 56, 0),
          (256, 256, 56, 0), (256, 256, 56, 1), (256, 512, 28, 0), (512, 512, 28, 0), (512, 512, 28, 1),
          (512, 512, 14, 0), (512, 512, 14, 0), (512, 512, 14, 1)]
MACS = [BATCH * 9 * c_in * c_out * size * size for c_in, c_out, size, _ in SHAPES]
PES = 8 * 16  # of both configurations


def compulsory(shape, is_pooled_on_chip):
    """Elements of the ifmap, the weights and the ofmap, each once, for the batch."""
    c_in, c_out, size, is_pooled = shape
    out = size // 2 if is_pooled and is_pooled_on_chip else size
    return BATCH * (c_in * size * size + c_out * out * out) + 9 * c_in * c_out


def run(qsim, config, dataflow):
    """The convolutions of vgg16: (DRAM bytes, cycles)."""
    path = pathlib.Path(__file__).parent / f"{config}.yaml"
    text = subprocess.run(
        [qsim, "run", "--config", path, "--model", "vgg16", "--batch", str(BATCH), "--dataflow", dataflow,
         "--engine", "recurrence", "--no-data", "--quiet", "--json", "-"],
        check=True, capture_output=True, text=True).stdout
    layers = [layer for layer in json.loads(text)["layers"] if layer["op"].startswith("conv2d")]
    assert len(layers) == len(SHAPES), [layer["name"] for layer in layers]
    assert [layer["macs"] for layer in layers] == MACS
    return [(layer["dram_read_bytes"] + layer["dram_write_bytes"], layer["cycles"]) for layer in layers]


def mb(number):
    return f"{number / 1e6:.1f}"


def table(title, rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print(title)
    for row in rows:
        print("  " + "  ".join(cell.rjust(width) if i else cell.ljust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))))
    print()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = {(config, d): run(sys.argv[1], config, d) for config in CONFIGS for d in DATAFLOWS}

    rows = [["layer", "zeros %", "published", "at least", "at least"]
            + [f"{config} {d}" for config in CONFIGS for d in DATAFLOWS],
            ["", "", "16 bit", "16 bit", "8 bit"] + ["8 bit"] * len(results)]
    for i, (name, (_, zeros, dram)) in enumerate(PUBLISHED.items()):
        rows.append([name, f"{zeros}", f"{dram}", mb(2 * compulsory(SHAPES[i], False)),
                     mb(compulsory(SHAPES[i], True))] + [mb(r[i][0]) for r in results.values()])
    totals = [sum(layer[0] for layer in r) for r in results.values()]
    rows.append(["all", "", f"{PUBLISHED_TOTAL_MB}", mb(2 * sum(compulsory(s, False) for s in SHAPES)),
                 mb(sum(compulsory(s, True) for s in SHAPES))] + [mb(total) for total in totals])
    table(f"MB of DRAM traffic, batch {BATCH}", rows)

    rows = [["", "published"] + [f"{config} {d}" for config in CONFIGS for d in DATAFLOWS]]
    rows.append(["elements", f"{PUBLISHED_TOTAL_MB / 2 / PUBLISHED_GMACS / 1e3:.4f}"]
                + [f"{total / sum(MACS):.4f}" for total in totals])
    table("DRAM accesses of an element for each MAC", rows)

    rows = [["layer", "published"] + [f"{config} {d}" for config in CONFIGS for d in DATAFLOWS],
            ["", "active"] + ["useful"] * len(results)]
    for i, (name, (active, _, _)) in enumerate(PUBLISHED.items()):
        rows.append([name, f"{active}"] + [f"{100 * MACS[i] / PES / r[i][1]:.1f}" for r in results.values()])
    rows.append(["all", "94"] + [f"{100 * sum(MACS) / PES / sum(layer[1] for layer in r):.1f}"
                                 for r in results.values()])
    table("PEs, % (two definitions: see the page)", rows)


main()
