#!/usr/bin/env python3
"""What qsim promises of the shipped configs and networks, checked through the command line.

usage: acceptance_test.py CASE QSIM    (CASE: a function below; the CMakeLists lists them)
Environment: QSIM_ORT_DIR (what tools/ort/install.sh made), QSIM_DATA or ../shared/data (CIFAR-10),
QSIM_REQUIRE (data, onnxruntime: what must not be skipped). Exit code 77: skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/vgg8-cifar10/vgg8-int8.onnx"
QSIM = "qsim"  # set by main


def skip(what):
    """Ends the test: skipped, or failed where QSIM_REQUIRE lists `what`."""
    print(f"skipped: no {what}")
    sys.exit(1 if what in os.environ.get("QSIM_REQUIRE", "").split(",") else 77)


def test_batch():
    """The CIFAR-10 binary test batch."""
    data = pathlib.Path(os.environ.get("QSIM_DATA", ROOT.parent / "shared/data"))
    batch = data / "cifar10/test_batch.bin"
    return batch if batch.exists() else skip("data")


def qsim_json(*arguments):
    """Runs qsim, expects exit code 0, and returns its JSON."""
    command = [QSIM, *map(str, arguments), "--json", "-", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, f"{command}: exit {done.returncode}: {done.stderr.decode()}"
    return json.loads(done.stdout)


def expect_verified(report, least_values):
    """0 mismatches on each engine, over at least so many values."""
    print({e["engine"]: (e["values"], e["mismatches"]) for e in report["engines"]})
    assert report["mismatches"] == 0
    assert {e["engine"] for e in report["engines"]} == {
        "interpreter, in order", "interpreter, random order", "systemc"}
    assert all(e["values"] >= least_values for e in report["engines"])


def a_hundred_images_verify():
    report = qsim_json("verify", "--config", "pe16x16", "--input", test_batch(), "--images", 100)
    expect_verified(report, 100 * 70_000)


def large_networks_verify():
    for network, values in (("vgg16", 8_900_000), ("alexnet", 200_000)):
        expect_verified(qsim_json("verify", "--config", "pe16x16", "--model", network), values)


def networks_of_any_scale_verify():
    """Residual, depthwise and concatenating networks whose scales are no powers of two."""
    residual = ("--model", "resnet14-cifar10", "--input", test_batch(), "--images", 10)
    expect_verified(qsim_json("verify", "--config", "pe16x16_dyadic", *residual), 10 * 400_000)
    for network, values in (("resnet18", 2_600_000), ("mobilenet_v2", 6_800_000),
                            ("squeezenet1_1", 2_100_000)):
        expect_verified(qsim_json("verify", "--config", "pe16x16_dyadic", "--model", network), values)


def the_residual_network_classifies_as_its_card_says():
    """models/README.md: 2,670 of 3,000 pictures."""
    run = qsim_json("golden", "run", "--model", "resnet14-cifar10", "--input", test_batch())
    print({key: run[key] for key in ("pictures", "top1_correct") if key in run})
    assert (run["pictures"], run["top1_correct"]) == (3000, 2670)


def shipped_networks_are_made_again():
    """The commands of models/README.md give the shipped bytes."""
    archive = test_batch().with_name("train.zip")
    if not archive.exists():
        skip("data")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as pictures:
        pictures.extractall(folder)
        for network, options in (("vgg8", ["--scale-kind", "power_of_two"]), ("resnet14", [])):
            models = ROOT / f"models/{network}-cifar10"
            made = pathlib.Path(folder) / f"{network}-int8.onnx"
            report = qsim_json("quantize", models / f"{network}-float.onnx", "--calibrate", f"{folder}/train",
                               *options, "-o", made)
            float_files = [file for file in models.glob(f"{network}-float.*") if file.suffix != ".yaml"]
            assert report["float_bytes"] == sum(file.stat().st_size for file in float_files)
            for file in (made, made.with_suffix(".yaml")):
                assert file.read_bytes() == (models / file.name).read_bytes(), file.name


def the_networks_trained_with_4_bits_classify_as_their_cards_say():
    """models/README.md; of the 3,000 pictures ONNX Runtime counts the same."""
    for network, correct in (("vgg8", 2669), ("resnet14", 2663)):
        model = ROOT / f"models/{network}-cifar10/{network}-w4.onnx"
        run = qsim_json("golden", "run", "--model", model, "--input", test_batch())
        print(network, {key: run[key] for key in ("pictures", "top1_correct") if key in run})
        assert (run["pictures"], run["top1_correct"]) == (3000, correct)


def every_config_verifies_vgg8():
    for config in ("pe4x4", "pe8x8", "pe16x16", "pe16x32", "pe32x32", "tpu128x128"):
        expect_verified(qsim_json("verify", "--config", config), 70_000)


def two_thousand_random_layers_verify():
    layers = 2000
    report = qsim_json("verify", "--seeds", layers, "--all-configs")
    expect_verified(report, 1_000_000)
    shares = {(row["feature"], row["value"]): row["layers"] for row in report["histogram"]}
    empty = [bucket for bucket, count in shares.items() if count == 0]
    assert not empty, f"empty buckets: {empty}"
    for axis in ("pixels", "input channels", "output channels"):
        assert 3 * shares["several tiles in", axis] >= layers, axis


def utilization_is_as_promised():
    vgg8 = qsim_json("run", "--config", "pe16x16", "--no-data")
    layers = {layer["name"]: layer["utilization"] for layer in vgg8["layers"]}
    print(layers, vgg8["total"]["utilization"])
    assert layers["conv1"] >= 0.70
    assert all(layers[f"conv{i}"] >= 0.97 for i in range(2, 6))
    assert vgg8["total"]["utilization"] >= 0.87
    vgg16 = qsim_json("run", "--config", "pe16x16", "--model", "vgg16", "--no-data")
    convs = [layer for layer in vgg16["layers"] if layer["name"].startswith("conv")]
    assert len(convs) == 13
    together = sum(c["macs"] for c in convs) / (256 * sum(c["cycles"] for c in convs))
    print(together)
    assert 0.98 <= together <= 1


def every_array_cycle_has_a_cause():
    for model in ("vgg8", "alexnet"):
        run = qsim_json("run", "--config", "pe16x16", "--model", model, "--no-data")
        for layer in run["layers"] + [run["total"]]:
            parts = layer["array_time_pe_cycles"]
            assert sum(parts.values()) == 256 * layer["cycles"], layer["name"]
            assert parts["useful"] == layer["macs"]
            assert sum(layer["critical_path_cycles"].values()) == layer["cycles"], layer["name"]
            assert sum(layer["read_bus_cycles"].values()) == layer["busy_cycles"]["load"], layer["name"]
        assert sum(layer["cycles"] for layer in run["layers"]) == run["total"]["cycles"]


def peak_bytes(*arguments):
    """The largest resident set of a qsim that must succeed, golden and all."""
    with open(os.devnull, "wb") as nothing:
        with subprocess.Popen([QSIM, *arguments, "--quiet"], stdout=nothing) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"{arguments}: exit {child.returncode}"
    return 1024 * usage.ru_maxrss


def model_bytes(model):
    """Weights as int8 and biases as int32."""
    graph = qsim_json("inspect", model)
    weighted = [layer for layer in graph["layers"] if layer["weights"] > 0]
    return graph["weights"] + 4 * sum(int(layer["ofmap"].split("x")[-1]) for layer in weighted)


def vgg16_448(folder):
    """The shipped vgg16 for pictures of 448 x 448, where activations and commands weigh most."""
    shipped = (ROOT / "models/workloads/vgg16.yaml").read_text()
    path = pathlib.Path(folder) / "vgg16_448.yaml"
    path.write_text(shipped.replace("[1, 224, 224, 3]", "[1, 448, 448, 3]"))
    assert path.read_text() != shipped
    return path


def memory_stays_within_the_model_and_100_megabytes():
    """Weights are in memory once: of the graph, then of the program; activations while they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        for model in ("vgg8", "vgg16", vgg16_448(folder)):
            limit = model_bytes(model) + 100_000_000
            for config in ("pe4x4", "pe16x16", "tpu128x128"):
                peak = peak_bytes("run", "--config", config, "--model", model)
                print(f"{model} on {config}: peak {peak / 1e6:.1f} MB, allowed {limit / 1e6:.1f} MB")
                assert peak <= limit, (model, config)


def run_onnxruntime(ort, jobs, folder):
    """One process for all jobs: (model, input.npy, output folder)."""
    runs = [dict(zip(("model", "input", "outdir"), map(str, job))) for job in jobs]
    (folder / "list.json").write_text(json.dumps(runs))
    subprocess.run([ort / "bin/python", "-B", ROOT / "tools/ort/run_onnx.py", "--batch",
                    folder / "list.json"], check=True)


def picture_inputs(folder):
    """The shipped picture, CIFAR-10 pictures and noise: what to give qsim, and floats for ORT."""
    qsim_json("run", "--dump-layers", folder / "trace")
    picture = np.load(folder / "trace/input.npy")  # uint8 NHWC, (q - 128) / 128
    inputs = [("shipped", [], (picture.astype(np.float32) - 128) / 128)]
    batch = np.fromfile(test_batch(), np.uint8).reshape(-1, 3073)[:, 1:].reshape(-1, 3, 32, 32)
    for index in range(0, 100, 2):
        pixels = batch[index : index + 1].transpose(0, 2, 3, 1).astype(np.float32)
        inputs.append((f"cifar {index}", ["--input", test_batch(), "--index", index],
                       (pixels - 128) / 128))
    random = np.random.default_rng(5)
    for index in range(10):
        noise = random.normal(0, 0.6, (1, 32, 32, 3)).astype(np.float32)
        np.save(folder / f"noise{index}.npy", np.ascontiguousarray(noise.transpose(0, 3, 1, 2)))
        inputs.append((f"noise {index}", ["--input", folder / f"noise{index}.npy"], noise))
    return inputs


def onnxruntime_agrees_on_the_shipped_model():
    ort = pathlib.Path(os.environ["QSIM_ORT_DIR"])
    if not (ort / "installed.sha256").exists():
        skip("onnxruntime")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        inputs = picture_inputs(folder)
        jobs = []
        for number, (_, _, values) in enumerate(inputs):
            np.save(folder / f"{number}.npy", np.ascontiguousarray(values.transpose(0, 3, 1, 2)))
            jobs.append((MODEL, folder / f"{number}.npy", folder / f"ort{number}"))
        run_onnxruntime(ort, jobs, folder)
        seen = set()
        for number, (what, arguments, _) in enumerate(inputs):
            out = folder / f"qsim{number}"
            qsim_json("run", "--model", MODEL, "--out", out, *(
                arguments or ["--input", "chelsea-32x32"]))
            logits = np.load(out / "output.npy")
            (expected,) = (folder / f"ort{number}").glob("*.npy")
            assert logits.tobytes() == np.load(expected).tobytes(), what
            seen.update(logits.ravel().tolist())
    print(f"{len(inputs)} inputs agree byte for byte, {len(seen)} different logits")
    assert len(seen) >= 32


def main():
    global QSIM
    case, QSIM = sys.argv[1:]
    os.environ.setdefault("QSIM_ORT_DIR", str(pathlib.Path(QSIM).parent / "ort"))
    globals()[case]()


if __name__ == "__main__":
    main()
