#!/usr/bin/env python3
"""The benchmarks of training run in small on a CPU, every subject of them, and the page has a row for each.

usage: results_page_test.py LIBRARY; LIBRARY is libqsim_golden.so. Skips (77) without PyTorch.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = [sys.executable, "-B"]

try:
    import torch
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
os.environ["QSIM_GOLDEN_LIBRARY"] = sys.argv[1]
import accuracy_rows  # noqa: E402  pylint: disable=wrong-import-position
import results_page  # noqa: E402  pylint: disable=wrong-import-position
import rounding  # noqa: E402  pylint: disable=wrong-import-position
from layer_cases import SUBJECTS as LAYERS  # noqa: E402  pylint: disable=wrong-import-position
from network_cases import SUBJECTS as NETWORKS  # noqa: E402  pylint: disable=wrong-import-position


def measured(script, folder, environment):
    file = folder / f"{script}.json"
    subprocess.run([*PYTHON, HERE / f"{script}.py", "--quick", "--json", file], check=True, env=environment)
    return file


def check_rows(file, subjects):
    """Each subject ran in both layouts, and took time; the page's cells are of these figures."""
    rows = json.loads(file.read_text())["rows"]
    assert [(row["subject"], row["layout"]) for row in rows if "error" not in row] == [
        (subject, layout) for subject in subjects for layout in ("NCHW", "channels last")], rows
    assert all(row["step"]["median_ms"] > 0 and row["step"]["runs"] == 3 for row in rows), rows
    return rows


def accuracy_lines(folder):
    """What accuracy.py --results keeps, with numbers of no network."""
    common = {name: name for name in accuracy_rows.COMMON} | {"size": 36000, "counted": 3000, "schema": accuracy_rows.SCHEMA, "pictures": 3000,
                                                              "seconds": 7.0, "at_once": 6, "pytorch": "2.0", "date": "2026-11-24"}
    runs = [("bfloat16", None, 1, 2690), ("bfloat16", None, 2, 2681), ("int8", 8, 2, 2675), ("int8", 8, 1, 2687)]
    file = folder / "accuracy.jsonl"
    file.write_text("".join(json.dumps({**common, "variant": name, "weight_bits": bits, "seed": seed, "correct": correct}) + "\n"
                            for name, bits, seed, correct in runs))
    return file


def check_accuracy(lines):
    """A row a variant, a verdict, and what the figures are of."""
    assert "| bfloat16 | 2 | 2,690, 2,681 | 89.52% | 0.21 | - | - | 7.0 |" in lines, lines
    assert "| int8 | 2 | 2,687, 2,675 | 89.37% | 0.28 | 0.15 | 0.05 | 7.0 |" in lines, lines
    assert "- int8: 0.15 points below bfloat16, within 0.3." in lines, lines
    assert "Measured by `bench/train/accuracy.py` on one device, PyTorch 2.0, 2026-11-24." in lines, lines


def check_short(command, page, whole):
    """Without --cases the page is shorter, and what was written below by hand stays."""
    below = f"\n{results_page.BY_HAND}\n\nA sentence.\n"
    page.write_text(page.read_text() + below)
    for _ in range(2):
        subprocess.run(command, check=True)
        text = page.read_text()
        assert text.endswith(f"\n{below}") and text.count("A sentence.") == 1, text
        assert "The least of each:" in text and len(text.splitlines()) < whole, text


def check_rounding():
    """The levels of rounding.py are the library's."""
    from qsim._training import calls
    draw = random.Random(19)
    values = [rounding.float32(draw.gauss(0, 3)) for _ in range(2000)]
    for bits in (8, 4):
        most = 2 ** (bits - 1) - 1
        for code, name in ((calls.HALF_EVEN, "half_even"), (calls.TOWARD_ZERO, "toward_zero")):
            x, state, scale = torch.tensor(values), torch.zeros(3), torch.zeros(1)
            levels, q = calls.Levels(-most, most, code, calls.MAX), torch.empty(2000, dtype=torch.int8)
            calls.observe(x, calls.LAST, 0.0, levels, state, scale, None)
            calls.quantize_levels(x, levels, scale, None, q, None, None)
            assert rounding.scale_of(values, most) == scale.item(), (bits, name, scale)
            assert rounding.levels(values, scale.item(), bits, name) == q.tolist(), (bits, name)


def main():
    check_rounding()
    environment = dict(os.environ, PYTHONPATH=str(HERE.parents[1] / "python"),
                       CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = [measured(script, folder, environment) for script in ("layer", "network")]
        rows = check_rows(files[0], LAYERS) + check_rows(files[1], NETWORKS)
        page = folder / "page.md"
        command = [*PYTHON, HERE / "results_page.py", page, *files, accuracy_lines(folder)]
        subprocess.run([*command, "--cases"], check=True)
        lines = page.read_text().splitlines()
        check_short(command, page, len(lines))
        wrong = folder / "wrong.json"
        wrong.write_text('{"schema": "other"}')
        bad = subprocess.run([*PYTHON, HERE / "results_page.py", page, wrong], capture_output=True, text=True, check=False)
    check_accuracy(lines)
    begins = tuple(f"| {row['subject']} | {row['layout']} |" for row in rows)
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith(begins)]
    assert len(cells) == len(rows), lines
    for row, found in zip(rows, cells):
        assert found[:3] == [row["subject"], row["layout"], row["how"]], (row, found)
    steps = [found[6] if len(found) == 11 else found[3] for found in cells]
    factors = [1e3 if len(found) == 11 else 1 for found in cells]
    for row, step, factor in zip(rows, steps, factors):
        shown = float(step.split(" ")[0].replace(",", ""))
        assert abs(shown - factor * row["step"]["median_ms"]) <= 0.051, (row, step)
    assert bad.returncode == 1 and "has the schema 'other'; allowed: " in bad.stderr, bad
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
