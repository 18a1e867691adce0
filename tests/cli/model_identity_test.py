"""What is kept of an interrupted command is of the model that was run: its external data and its sidecar count.

usage: model_identity_test.py QSIM MODELS
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import onnx

SEED = 5


def batch(records):
    numbers = random.Random(SEED)
    return b"".join(bytes([record % 10]) + numbers.randbytes(3072) for record in range(records))


def with_external_data(source, folder, name):
    """A copy of the model, with its weights in NAME.data and its sidecar beside it."""
    onnx.save(onnx.load(str(source)), str(folder / f"{name}.onnx"), save_as_external_data=True, location=f"{name}.data",
              size_threshold=0)
    shutil.copy(source.with_suffix(".yaml"), folder / f"{name}.yaml")


def invert(path):
    path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))


def check(condition, message):
    if not condition:
        sys.exit(f"model_identity_test.py: {message}")


def main():
    qsim, models = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*words):
            done = subprocess.run([qsim, *words, "--json", "o.json"], cwd=folder, capture_output=True, text=True,
                                  check=False)
            check(done.returncode == 0, f"{' '.join(words)}: {done.stderr}")
            return json.loads((folder / "o.json").read_text())

        def kept(*words):
            return [engine["kept_before"] for engine in
                    run("eval", "--data", "b.bin", "--backend", "cpu", "--out", "o", *words)["engines"]]

        (folder / "b.bin").write_bytes(batch(30))
        with_external_data(models / "vgg8-cifar10/vgg8-int8.onnx", folder, "int8")
        with_external_data(models / "vgg8-cifar10/vgg8-float.onnx", folder, "float")
        words = ("--model", "./int8.onnx", "--float", "./float.onnx", "--engines", "golden,float")
        check(kept(*words) == [0, 0] and kept(*words) == [30, 30], "the same model is kept")
        before = run("eval", "--data", "b.bin", "--backend", "cpu", *words)["models"]
        invert(folder / "float.data")
        check(kept(*words) == [30, 0], "the external data of --float are another network")
        # Some of the largest weights in another order: the model stays one that can be read.
        data = folder / "int8.data"
        largest = max((len(t.raw_data), t.name) for t in onnx.load(str(folder / "int8.onnx")).graph.initializer)[1]
        outside = onnx.load(str(folder / "int8.onnx"), load_external_data=False)
        where = next({e.key: e.value for e in t.external_data} for t in outside.graph.initializer if t.name == largest)
        content = bytearray(data.read_bytes())
        begin = int(where["offset"])
        content[begin:begin + 4096] = bytes(reversed(content[begin:begin + 4096]))
        data.write_bytes(content)
        check(kept(*words)[0] == 0, "other external data are another network")
        after = run("eval", "--data", "b.bin", "--backend", "cpu", *words)["models"]
        check(before[0]["hash"] != after[0]["hash"], "the hash is of the external data too")
        check(kept(*words) == [30, 30], "the changed model is kept too")
        sidecar = folder / "int8.yaml"
        sidecar.write_text(sidecar.read_text() + "# other bytes\n")
        check(kept(*words) == [0, 0], "another sidecar makes other inputs of the pictures")

        points = ("profile", "--model", "./int8.onnx", "--resume", "points")
        run(*points)
        lines = len((folder / "points").read_text().splitlines())
        run(*points)
        check(len((folder / "points").read_text().splitlines()) == lines, "points of the same model are kept")
        content[begin:begin + 4096] = bytes(reversed(content[begin:begin + 4096]))
        data.write_bytes(content)
        run(*points)
        check(len((folder / "points").read_text().splitlines()) > lines, "no point of other external data is taken")
    print("what is kept is of the model with its external data and its sidecar")


if __name__ == "__main__":
    main()
