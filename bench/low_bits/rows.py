#!/usr/bin/env python3
"""Few bits in the weights: what each rounding, correction and search keeps of the accuracy, as a table in Markdown.

usage: rows.py --qsim QSIM --model FLOAT.onnx --train DIR --test BATCH.bin --float-right N
               [--pictures N] [--only WORD]... [--keep DIR]

DIR of --train has a folder of pictures a class; all ranges, roundings, corrections and searches see N of them (512) alone.
BATCH.bin judges: labelled pictures that no row has seen. --only takes the rows whose names contain one of the
words. With --keep a finished row is not run again: its figures are a file in that folder.
"""
import argparse
import dataclasses
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

FINE = ["--weight-clipping", "mse"]
CORRECTED = [*FINE, "--bias-correction"]
TENSOR = ["--granularity", "tensor"]
GPTQ = ["--weight-rounding", "gptq"]
LEARNED = ["--weight-rounding", "learned"]


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    options: tuple


def four_bit_rows():
    four = ["--weight-bits", "4"]
    return [
        Row("4 bits, nearest, range of all weights", (*four,)),
        Row("4 bits, nearest", (*four, *FINE)),
        Row("4 bits, nearest, bias correction", (*four, *CORRECTED)),
        Row("4 bits, GPTQ", (*four, *FINE, *GPTQ)),
        Row("4 bits, GPTQ, bias correction", (*four, *CORRECTED, *GPTQ)),
        Row("4 bits, learned", (*four, *FINE, *LEARNED)),
        Row("4 bits, learned, bias correction", (*four, *CORRECTED, *LEARNED)),
        Row("4 bits, a scale a tensor", (*four, *FINE, *TENSOR)),
        Row("4 bits, a scale a tensor, equalization", (*four, *FINE, *TENSOR, "--equalize")),
        Row("4 bits, a scale a tensor, equalization, bias correction", (*four, *CORRECTED, *TENSOR, "--equalize")),
    ]


def three_bit_rows():
    three = ["--weight-bits", "3"]
    return [
        Row("3 bits, nearest", (*three, *FINE)),
        Row("3 bits, GPTQ, bias correction", (*three, *CORRECTED, *GPTQ)),
        Row("3 bits, learned, bias correction", (*three, *CORRECTED, *LEARNED)),
    ]


def mixed_row(sensitivity, drop, words, options):
    return Row(f"mixed by {sensitivity}, drop {drop}, {words}",
               (*options, "--mixed-precision", sensitivity, "--drop", str(drop)))


def all_rows():
    return [
        Row("8 bits, nearest", ()),
        *four_bit_rows(),
        *three_bit_rows(),
        mixed_row("mse", 0.5, "nearest", FINE),
        mixed_row("trace", 0.5, "nearest", FINE),
        mixed_row("mse", 0.5, "GPTQ, bias correction", [*CORRECTED, *GPTQ]),
    ]


def run(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf8", check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in words)}\n{done.stderr.strip()}")
    return done.stdout


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def score(qsim, model, test, *words):
    engine = json.loads(run(qsim, "eval", "--model", model, "--data", test, "--json", "-", "--quiet", *words))["engines"][0]
    return {"right": engine["top1_correct"], "pictures": engine["pictures"]}


def bits_per_weight(document):
    """Of all layers together."""
    weights = [layer["weights"] for layer in document["layers"] if "weights" in layer]
    return sum(one["bits"] * one["elements"] for one in weights) / sum(one["elements"] for one in weights)


def figures(arguments, row, folder):
    """One row: quantized by processor seconds, judged by golden."""
    out = folder / "out.onnx"
    begin = processor_seconds()
    said = run(arguments.qsim, "quantize", arguments.model, "--calibrate", arguments.train, "--pictures",
               arguments.pictures, "-o", out, "--json", "-", "--quiet", *row.options)
    seconds = processor_seconds() - begin
    document = json.loads(said)
    result = {"name": row.name, "bits": bits_per_weight(document), "seconds": seconds,
              **score(arguments.qsim, out, arguments.test)}
    if "mixed_precision" in document:
        found = document["mixed_precision"]
        result["layers"] = [layer["bits"] for layer in found["layers"]]
        result["trials"] = len(found["trials"])
    return result


def kept(arguments, row, folder):
    """The figures of a row, of an earlier run where there are any."""
    if arguments.keep is None:
        return figures(arguments, row, folder)
    file = arguments.keep / (re.sub(r"[^a-z0-9]+", "-", row.name.lower()) + ".json")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(figures(arguments, row, folder)), encoding="utf8")
    return json.loads(file.read_text(encoding="utf8"))


def line(result, float_right):
    pictures = result["pictures"]
    points = 100 * (result["right"] - float_right) / pictures
    bits = f"{result['bits']:.2f}"
    if "layers" in result:
        bits += " (" + " ".join(str(each) for each in result["layers"]) + f"; {result['trials']} trials)"
    return (f"| {result['name']} | {bits} | {result['right']:,} | {100 * result['right'] / pictures:.2f}% | "
            f"{points:+.2f} | {result['seconds']:.0f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qsim", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--train", type=pathlib.Path, required=True)
    parser.add_argument("--test", type=pathlib.Path, required=True)
    parser.add_argument("--float-right", type=int, required=True, help="of the pictures of --test, by the float network")
    parser.add_argument("--pictures", type=int, default=512)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    print("| weights | bits a weight | right | top-1 | against float, points | processor seconds |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for row in all_rows():
            if arguments.only and not any(word in row.name for word in arguments.only):
                continue
            print(line(kept(arguments, row, pathlib.Path(folder)), arguments.float_right), flush=True)


if __name__ == "__main__":
    main()
