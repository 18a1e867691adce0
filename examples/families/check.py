"""Runs int8 networks by qsim and by ONNX Runtime, and prints one line for each: who runs what, cycles, and whether the
bytes are equal.

    check.py --qsim build/release/qsim build/families/*.int8.onnx

NAME.x.npy beside NAME.int8.onnx is the input. Columns: the array's parts, nodes and MACs, the host's nodes and
operations (in millions), the megabytes that cross between the two, the array's cycles; for both readings (qsim run --as
integer, --as onnxruntime) the output values that are equal to ONNX Runtime's, a step from them, or differ more;
processor seconds of qsim inspect and of both runs. A step is the scale of the DequantizeLinear that writes the output,
else 1e-5 of the output's largest value. Exit code 1 where a network fails, or where a value of the second reading is
more than a step away.

Runs in the environment of tools/ort/install.sh. ONNX Runtime runs as a user's own session does: without VNNI its bytes
may be wrong (docs/reference/onnx.md).
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/ort"))
import exact_session  # noqa: E402

READINGS = ("integer", "onnxruntime")
COLUMNS = ("network", "parts", "array nodes", "array MMACs", "host nodes", "host Mops", "crossing MB", "cycles",
           "as integer: equal/step/differ", "as onnxruntime", "s: inspect", "run", "run")


class Failed(Exception):
    """A command that failed; the text is its last line."""


def timed(words, limit):
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"{words[1]}: stopped after {limit} s") from None
    if done.returncode:
        text = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Failed(f"{words[1]}: exit code {done.returncode}: {text}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def steps_of(model):
    """For each output the scale of the DequantizeLinear that writes it, or nothing."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    steps = []
    for output in model.graph.output:
        node = makers.get(output.name)
        scale = constants.get(node.input[1]) if node is not None and node.op_type == "DequantizeLinear" else None
        steps.append(None if scale is None else float(numpy_helper.to_array(scale).reshape(-1)[0]))
    return steps


def compared(found, expected, step):
    """(equal, a step away, further away); an output of another shape or type differs everywhere."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return np.array([0, 0, max(found.size, expected.size)])
    equal = found == expected
    if expected.dtype.kind != "f":
        return np.array([equal.sum(), 0, (~equal).sum()])
    allowed = 1.5 * step if step else 1e-5 * float(np.abs(expected).max(initial=0))
    near = ~equal & (np.abs(found.astype(np.float64) - expected) <= allowed)
    return np.array([equal.sum(), near.sum(), (~equal & ~near).sum()])


def outputs_of_qsim(folder, count):
    return [np.load(folder / ("output.npy" if i == 0 else f"output_{i}.npy")) for i in range(count)]


def row_of(file, args, folder):
    """The cells of a network, and whether something is wrong with it."""
    x_file = file.with_name(file.name.replace(".int8.onnx", ".x.npy"))
    model = onnx.load(file)
    session = exact_session.open_plain_session(model)
    expected = session.run(None, {session.get_inputs()[0].name: np.load(x_file)})
    if min(np.unique(each).size for each in expected) < 3:
        raise Failed("an output has fewer than three different values, so equal bytes would prove nothing")
    common = ["--config", args.config]
    seconds = [timed([args.qsim, "inspect", *common, file], args.limit)]
    counts, run = [], {}
    for reading in READINGS:
        out, text = folder / reading, folder / f"{reading}.json"
        seconds.append(timed([args.qsim, "run", *common, "--model", file, "--input", x_file, "--out", out,
                              "--as", reading, "--json", text], args.limit))
        run[reading] = json.loads(text.read_text(encoding="utf8"))
        if args.keep:
            (args.keep / f"{file.name}.{reading}.json").write_text(text.read_text(encoding="utf8"), encoding="utf8")
        triples = [compared(*each) for each in zip(outputs_of_qsim(out, len(expected)), expected, steps_of(model))]
        counts.append(sum(triples))
    first = run["integer"]
    host = first.get("host", {"parts": 1, "nodes": [], "crossing_bytes": 0})
    cells = [file.name.removesuffix(".int8.onnx"), host["parts"], len(first["layers"]),
             f"{first['total']['macs'] / 1e6:.1f}",
             len(host["nodes"]), f"{sum(node['operations'] for node in host['nodes']) / 1e6:.1f}",
             f"{host['crossing_bytes'] / 1e6:.2f}", f"{first['total']['cycles'] or 0:,}",
             *("/".join(str(each) for each in three) for three in counts), *(f"{each:.1f}" for each in seconds)]
    return cells, bool(counts[1][2]) and cells[0] not in args.sums


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path, help="NAME.int8.onnx with NAME.x.npy beside it")
    parser.add_argument("--qsim", required=True, help="the executable")
    parser.add_argument("--config", default="pe16x16_dyadic", help="the accelerator (default: pe16x16_dyadic)")
    parser.add_argument("--limit", type=int, default=600, help="seconds that one command may take (default: 600)")
    parser.add_argument("--sums", action="append", default=[], metavar="NAME",
                        help="a network whose second reading may differ: float32 sums, which ONNX Runtime adds in an "
                             "order of its own, are beside ties of its QuantizeLinear")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the JSON of the runs")
    args = parser.parse_args(words)
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    wrong = False
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
    for file in args.files:
        if not file.name.endswith(".int8.onnx") or not file.is_file():
            parser.error(f"{file}: expected a file NAME.int8.onnx")
    for file in args.files:
        with tempfile.TemporaryDirectory() as folder:
            try:
                cells, differs = row_of(file, args, pathlib.Path(folder))
            except Failed as error:
                cells, differs = [file.name.removesuffix(".int8.onnx"), str(error)], True
        wrong |= differs
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
