#!/usr/bin/env python3
"""Writes the page of training's times, memory and accuracy from what layer.py, network.py and accuracy.py kept.

usage: results_page.py [--cases] PAGE.md FILE [FILE ...]; FILE is of --json of the first two, or of --results of
accuracy.py. PAGE.md is docs/measurements/training.md, or another. What a page has from the line BY_HAND on stays.
--cases also writes a row a case, which that page leaves out.
"""
import argparse
import json
import pathlib
import sys

import accuracy_rows

LAYER, NETWORK = "qsim.bench.train.layer/1", "qsim.bench.train.network/1"
PEER, OURS = "PyTorch", "qsim"
OPTIMIZERS = ("plain SGD", "momentum")
BY_HAND = "<!-- results_page.py leaves what follows as it is -->"


def megabytes(value):
    return "-" if value is None else f"{value / 1e6:,.1f}"


def spread(summary, factor):
    """The median, and the quartiles."""
    low, middle, high = (factor * summary[key] for key in ("lower_ms", "median_ms", "upper_ms"))
    return f"{middle:,.1f} ({low:,.1f} to {high:,.1f})" if factor > 1 else f"{middle:,.2f} ({low:,.2f} to {high:,.2f})"


def where(result):
    """The sentence that says what the figures of a file were measured on."""
    machine = result["machine"]
    place = f"one {machine['device']}" if machine["gpu"] else f"{machine['device']}, a processor: a test of the program"
    cuda = f", CUDA {machine['cuda']}, cuDNN {machine['cudnn']}" if machine["gpu"] else ""
    return f"{place}, PyTorch {machine['pytorch']}{cuda}, {machine['date']}"


def table(header, rows):
    return ["", "| " + " | ".join(header) + " |", "|---" * len(header) + "|",
            *("| " + " | ".join(row) + " |" for row in rows)]


def left_out(rows):
    """Cases that did not run, by why."""
    reasons = {}
    for row in rows:
        if "error" in row:
            name = f"{row['subject']}, {row['layout']}, {row['how']}{', with the search' if row.get('search') else ''}"
            reasons.setdefault(row["error"], []).append(name)
    found = [f"- {'; '.join(names)}. Why: {reason}" for reason, names in reasons.items()]
    return ["", "Not run:", "", *found] if found else []


def ratio(row, best, name):
    return f"{best[name]['median_ms'] / row[name]['median_ms']:.2f}"


def quickest(rows, subject, name):
    """The row of a subject with the least median, or none."""
    return min((row for row in rows if row["subject"] == subject), key=lambda row: row[name]["median_ms"], default=None)


def layer_rows(rows):
    """A row a case; ratios are the best of PyTorch's float layers over the case."""
    best = {name: quickest(rows, PEER, name) for name in ("forward", "step")}
    for row in rows:
        ratios = ["-" if best[name] is None else ratio(row, best[name], name) for name in ("forward", "step")]
        yield [row["subject"], row["layout"], row["how"], "yes" if row["search"] else "no", spread(row["forward"], 1e3),
               ratios[0], spread(row["step"], 1e3), ratios[1], megabytes(row.get("peak_bytes")),
               megabytes(row.get("first_peak_bytes")),
               f"{row['kept_bytes_a_value']:.3f}" if "kept_bytes_a_value" in row else "-"]


def against_float(rows, iterations):
    """The comparison that is published for such modules: the peak beside the float layer's, without cuDNN's search."""
    found = []
    for layout in ("NCHW", "channels last"):
        peak = {row["subject"]: max(row["peak_bytes"], row["first_peak_bytes"]) for row in rows
                if row["layout"] == layout and row["how"] == "eager" and not row["search"] and row.get("peak_bytes")}
        if PEER in peak and OURS in peak:
            share = f"{100 * (1 - peak[OURS] / peak[PEER]):.1f}%"
            found.append([layout, megabytes(peak[PEER]), megabytes(peak[OURS]), share])
    if not found:
        return []
    return ["", f"The peak over {iterations} iterations and the first ones, without cuDNN's search, in MB:",
            *table(("layout", "float layer", "`QuantizedConv2d`", "below it"), found)]


def least(rows, name, shown):
    """The least figure of rows as text, and whose it is; name(row) may be None."""
    found = [(name(row), row) for row in rows if name(row) is not None]
    if not found:
        return "-"
    value, row = min(found, key=lambda one: one[0])
    return f"{shown(value)} ({row['layout']}, {row['how']}{', search' if row.get('search') else ''})"


def bests(rows, names):
    """A row a subject: its least figure of each name, which is (header, of a row, as text)."""
    subjects = list(dict.fromkeys(row["subject"] for row in rows))
    cells = []
    for subject in subjects:
        own = [row for row in rows if row["subject"] == subject]
        cells.append([subject, *(least(own, of, shown) for _, of, shown in names)])
    return ["", "The least of each:", *table(("who", *(header for header, _, _ in names)), cells)]


def ms_of(name):
    return lambda row: row[name]["median_ms"]


LAYER_TEXT = """float32 in and out. Medians of {rounds} rounds in which all cases take turns; 'step' is forward and backward. Memory is the
most that PyTorch's tensors take at once, x, y and all gradients included, in MB of 10^6 bytes, in the steady state. 'PyTorch' is
the float layer (TF32). 'Twin' is `TorchConv2d`: the same levels as fake quantization in PyTorch's operations. 'PyTorch, fake
quantization' has PyTorch's fused operators. 'Graph' is a CUDA graph, 'search' that of cuDNN for its kernels."""
LAYER_CASES = """
Microseconds with quartiles. Ratios: how many times as fast as the fastest float layer. 'At first': the first steps, with what
cuDNN's search takes. 'Kept' is what forward keeps for backward, without parameters, in bytes a value of x."""


def layer_section(result, cases):
    batch, channels, size = result["shape"]
    rows = [row for row in result["rows"] if "step" in row and "error" not in row]
    lines = ["", f"## A convolution, {channels} to {channels} channels, 3x3, {size} x {size}, batch {batch}", "",
             LAYER_TEXT.format(rounds=result["rounds"]), "", f"Measured by `bench/train/layer.py` on {where(result)}."]
    lines += bests(rows, [(f"{name}, us", ms_of(name), lambda ms: f"{1e3 * ms:,.1f}") for name in ("forward", "step")]
                   + [("MB", lambda row: row.get("peak_bytes"), megabytes)])
    lines += against_float(rows, result["iterations"])
    if cases:
        lines += [LAYER_CASES]
        lines += table(("who", "layout", "launched", "cuDNN's search", "forward us", "ratio", "step us", "ratio", "MB",
                        "MB at first", "kept"), layer_rows(rows))
        lines += left_out(result["rows"])
    return lines


NETWORK_TEXT = """Forward, loss, backward and SGD; medians of {rounds} rounds in which all cases take turns. AMP is autocast to bfloat16;
weights are float32 for all. Memory in MB of 10^6 bytes, with plain SGD and with momentum, weights, gradients and optimizer
included. cuDNN {searches} its kernels. 'qsim' is `QuantizedSequential`, 'compiled' `torch.compile`."""


def network_row(row):
    memory = [f"{megabytes(row.get(f'{name}: peak_bytes'))} ({megabytes(row.get(f'{name}: first_peak_bytes'))})"
              if f"{name}: peak_bytes" in row else "-" for name in OPTIMIZERS]
    return [row["subject"], row["layout"], row["how"], spread(row["step"], 1), *memory]


def network_section(result, cases):
    rows = [row for row in result["rows"] if "step" in row and "error" not in row]
    text = NETWORK_TEXT.format(rounds=result["rounds"], searches="searches" if result["search"] else "does not search")
    lines = ["", f"## A training step of VGG-16, {result['size']} x {result['size']}, batch {result['batch']}", "", text, "",
             f"Measured by `bench/train/network.py` on {where(result)}."]
    lines += bests(rows, [("ms", ms_of("step"), lambda ms: f"{ms:,.2f}")] + [
        (f"MB, {name}", lambda row, name=name: row.get(f"{name}: peak_bytes"), megabytes) for name in OPTIMIZERS])
    if cases:
        lines += table(("who", "layout", "launched", "ms", "MB, plain SGD (at first)", "MB, momentum (at first)"),
                       [network_row(row) for row in rows])
        lines += left_out(result["rows"])
    return lines


ACCURACY_TEXT = """`{network}` from random weights, trained in float and on integers with the same recipe, rates and pictures: `{recipe}` of
`models/train/augment.py`, {epochs} epochs of {size:,} pictures in batches of {batch_size}, a peak rate of {rate}, dropout {dropout}, averaged
weights ({average}). The seed draws weights and pictures; the test pictures choose nothing. 'Right' is of {counted:,} test pictures.
'Below float' is the mean distance from the float run of the same seed, and the standard error is of that mean. 'bfloat16' is float
with autocast. Seconds are of a run beside at most {others} others on the same GPU."""


def accuracy_section(lines):
    """One for each group of runs with a recipe, pictures and a device in common."""
    found = []
    for runs in accuracy_rows.together(lines):
        of, dates = runs[0], sorted({run["date"] for run in runs})
        found += ["", f"## Top-1 of `{of['network']}`, {of['epochs']} epochs", "",
                  ACCURACY_TEXT.format(**of, others=max(run["at_once"] for run in runs) - 1), "",
                  f"Measured by `bench/train/accuracy.py` on one {of['device']}, PyTorch {of['pytorch']}, {' to '.join(sorted({dates[0], dates[-1]}))}.", "",
                  *accuracy_rows.table(runs), "", *(f"- {said}." for said in accuracy_rows.verdicts(runs))]
    return found


def section_of(text, cases):
    """Its lines of the page. ValueError where the file is of another program."""
    sections = {LAYER: layer_section, NETWORK: network_section}
    try:
        result = json.loads(text)
    except json.JSONDecodeError:  # lines of accuracy.py
        runs = accuracy_rows.read_lines(text)
        if not runs:
            raise ValueError("it is empty") from None
        return accuracy_section(runs)
    if not isinstance(result, dict):
        raise ValueError("it is no JSON object")
    if result.get("schema") == accuracy_rows.SCHEMA:  # one line
        return accuracy_section([result])
    section = sections.get(result.get("schema"))
    if section is None:
        allowed = ", ".join([*sections, accuracy_rows.SCHEMA])
        raise ValueError(f"it has the schema {result.get('schema')!r}; allowed: {allowed}")
    return section(result, cases)


def by_hand(page):
    """The lines of a page that are not the program's."""
    text = page.read_text() if page.exists() else ""
    return ["", *text[text.index(BY_HAND):].splitlines()] if BY_HAND in text else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    parser.add_argument("--cases", action="store_true", help="also a row a case")
    arguments = parser.parse_args()
    lines = ["# Times, memory and accuracy of training", "",
             "What training with [qsim's layers](../reference/training.md) takes beside PyTorch's float layers and its fake quantization, and",
             "what networks get right that are trained so. `bench/train/results_page.py` writes the first sections from what",
             "`bench/train/layer.py --json FILE`, `bench/train/network.py --json FILE` and `bench/train/accuracy.py --results FILE` kept;",
             "with `--cases` they have every layout and launch with quartiles."]
    for file in arguments.files:
        try:
            lines += section_of(file.read_text(), arguments.cases)
        except (ValueError, OSError) as error:
            sys.exit(f"results_page.py: {file}: {error}")
    arguments.page.write_text("\n".join(lines + by_hand(arguments.page)) + "\n")


if __name__ == "__main__":
    main()
