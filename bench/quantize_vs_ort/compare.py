#!/usr/bin/env python3
"""`qsim quantize` beside ONNX Runtime's quantize_static: the rows of rows.py, as a table in Markdown on stdout.

usage: ORT_DIR/bin/python compare.py --qsim QSIM --train DIR --test BATCH.bin --keep DIR [--only WORD]...

DIR of --train has a folder of JPEG a class, BATCH.bin is CIFAR-10's test batch. ORT_DIR is what
tools/ort/install.sh made. Each row that is done is kept in --keep, and not run again: remove the folder, or the
row's file in it, to do so. --only takes the rows whose names contain one of the words.
"""
import argparse
import functools
import hashlib
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ort_side  # noqa: E402  # before numpy: it says where packages are
import numpy as np  # noqa: E402
import table  # noqa: E402
from mcnemar import judged  # noqa: E402
from rows import ALPHA, CALIBRATION_PICTURES, NETWORKS, SEED, TEST_PICTURES, all_rows  # noqa: E402
from pictures import calibration_pictures, test_pictures  # noqa: E402


class Refused(Exception):
    """A program refuses a file; its line."""


def processor_seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Qsim:
    def __init__(self, program):
        self.program = program

    def __call__(self, *words):
        done = subprocess.run([str(word) for word in (self.program, *words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf8", check=False)
        if done.returncode != 0:
            raise Refused(done.stderr.strip().splitlines()[0])

    def quantize(self, model, pictures, options, target):
        """(seconds of the process, its processor seconds, the share of its comparison of all layers)."""
        said = target.with_suffix(".json")
        begin, used = time.perf_counter(), processor_seconds_of_children()
        self("quantize", model, "--calibrate", pictures, "--pictures", len(np.load(pictures, mmap_mode="r")),
             "-o", target, "--json", said, "--quiet", *options)
        whole = time.perf_counter() - begin
        phases = json.loads(said.read_text(encoding="utf8"))["seconds"]
        return whole, processor_seconds_of_children() - used, phases["measure"] / sum(phases.values())

    def outputs(self, model, pictures, folder):
        shutil.rmtree(folder, ignore_errors=True)
        self("golden", "run", "--model", model, "--input", pictures, "--out", folder, "--backend", "cpu", "--quiet")
        return np.load(folder / "output.npy")


def differing(found, expected):
    """Of how many pictures the outputs differ in a byte."""
    same_form = found.dtype == expected.dtype and found.shape == expected.shape
    return int((found != expected).any(axis=1).sum()) if same_form else len(expected)


def attempt(work):
    """(what it gives, None) or (None, the line of the refusal)."""
    try:
        return work(), None
    except Refused as refused:
        return None, str(refused)
    except Exception as error:  # pylint: disable=broad-exception-caught  # of ONNX Runtime's many
        return None, f"ONNX Runtime: {str(error).splitlines()[0]}"


class Comparison:
    """One network's files in a folder of its own; pictures and results are shared between its rows."""

    def __init__(self, model, qsim, folder, calibration, test):
        self.model, self.qsim, self.folder, self.calibration = model, qsim, folder, calibration
        self.test, self.labels = test
        self.ways = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.prepared = folder / "prepared.onnx"
        ort_side.prepare(model, self.prepared)
        self.calibration_file, self.test_file = folder / "calibration.npy", folder / "test.npy"
        np.save(self.calibration_file, calibration)
        np.save(self.test_file, self.test)

    def right(self, outputs):
        return outputs.argmax(axis=1) == self.labels

    def crossed(self, file, expected, other):
        """Whether the other side gives the same bytes of a file: pictures that differ, or its refusal."""
        found, refusal = attempt(lambda: other(file))
        return {"refused": refusal} if refusal else {"differ": differing(found, expected)}

    def in_qsim(self, file):
        return self.qsim.outputs(file, self.test_file, self.folder / "run")

    def in_onnxruntime(self, file):
        return ort_side.outputs(file, self.test)

    def theirs(self, way):
        """Of a way that several rows have, once."""
        if way not in self.ways:
            self.ways[way] = self.run_theirs(way)
        return self.ways[way]

    def run_theirs(self, way):
        file = self.folder / "theirs.onnx"
        ranges = self.folder / f"{way.method}.ranges.json"
        is_calibrated = ranges.exists()
        seconds, refusal = attempt(lambda: ort_side.quantize(self.prepared, way, self.calibration, file, ranges))
        outputs, refusal = (None, refusal) if refusal else attempt(lambda: self.in_onnxruntime(file))
        if refusal:
            return {"way": way.name, "refused": refusal}
        return {"way": way.name, "right": self.right(outputs), "seconds": None if is_calibrated else seconds,
                "in_qsim": self.crossed(file, outputs, self.in_qsim)}

    def ours(self, options):
        file = self.folder / "ours.onnx"
        seconds, refusal = attempt(
            lambda: self.qsim.quantize(self.model, self.calibration_file, options, file))
        outputs, refusal = (None, refusal) if refusal else attempt(lambda: self.in_qsim(file))
        if refusal:
            return {"refused": refusal}
        return {"right": self.right(outputs), "seconds": seconds, "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
                "in_onnxruntime": self.crossed(file, outputs, self.in_onnxruntime)}

    def row(self, row):
        """What is kept of a row, without the pictures themselves."""
        theirs = [self.theirs(way) for way in row.ort]
        able = [side for side in theirs if "right" in side]
        best = max(able, key=lambda side: side["right"].sum()) if able else theirs[0]
        ours = self.ours(row.options)
        result = {"kind": row.kind, "network": row.network, "name": row.name, "options": list(row.options)}
        if "right" in best and "right" in ours:
            names = ("ours_only", "theirs_only", "p", "verdict")
            result |= dict(zip(names, judged(ours["right"].tolist(), best["right"].tolist(), ALPHA), strict=True))
        for side, found in (("ours", ours), ("theirs", best)):
            result[side] = found | ({"right": int(found["right"].sum())} if "right" in found else {})
        return result

    def float_right(self):
        return int(self.right(ort_side.outputs(self.prepared, self.test)).sum())


def kept(file, work):
    if not file.exists():
        part = file.with_suffix(".part")
        part.write_text(json.dumps(work(), indent=1), encoding="utf8")
        part.rename(file)
    return json.loads(file.read_text(encoding="utf8"))


def compared(qsim, keep, networks, rows, calibration, test):
    """({network: float pictures right}, results of the rows) in order; each is kept as soon as it is there."""
    comparison = functools.lru_cache(maxsize=1)(
        lambda name: Comparison(networks[name], Qsim(qsim), keep / name, calibration, test))
    floats, results = {}, []
    for number, row in enumerate(rows):
        floats[row.network] = kept(keep / f"{row.network}.float.json",
                                   lambda name=row.network: comparison(name).float_right())
        name = hashlib.sha256(json.dumps([row.network, row.name, row.options]).encode()).hexdigest()[:16]
        results.append(kept(keep / f"{name}.json", lambda row=row: comparison(row.network).row(row)))
        print(f"{number + 1} of {len(rows)}: {row.name}: {results[-1].get('verdict', 'refused')}", file=sys.stderr)
    return floats, results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--qsim", "--train", "--test", "--keep"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", metavar="WORD")
    args = parser.parse_args()
    args.keep.mkdir(parents=True, exist_ok=True)
    rows = [row for row in all_rows() if not args.only or any(word in row.name for word in args.only)]
    networks = {name: ort_side.ROOT / path for name, path in NETWORKS.items()}
    floats, results = compared(args.qsim, args.keep, networks, rows,
                               calibration_pictures(args.train, CALIBRATION_PICTURES, SEED),
                               test_pictures(args.test, TEST_PICTURES))
    print(table.text(floats, results, TEST_PICTURES))


if __name__ == "__main__":
    main()
