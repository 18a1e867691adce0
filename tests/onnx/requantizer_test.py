"""core/numerics/requantizer.h with rounding float32 gives the bytes of ONNX Runtime's QLinearConv, with scales that
are no powers of two. Runs in the environment of tools/ort/install.sh.

usage: requantizer_test.py REQUANTIZE_FILE [LAYERS [SEED]]

Prints how many outputs were compared, how many differ, and how many `half_even`, which rounds the exact
product once, has otherwise.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

ORT = pathlib.Path(__file__).resolve().parents[2] / "tools/ort"
sys.path.insert(0, str(ORT))

import exact_session  # noqa: E402

RECORD = np.dtype([("acc", "<i4"), ("bias", "<i4"), ("scale", "<f4"), ("zero_point", "<i4"), ("lo", "<i4"),
                   ("hi", "<i4")])


def random_scale(random):
    return np.float32(np.exp(random.uniform(np.log(1e-4), np.log(1))))


def random_layer(random):
    """Of one QLinearConv: its tensors by name, and its pads."""
    data = random.choice([np.uint8, np.int8])
    weight = np.int8 if data is np.int8 else random.choice([np.int8, np.uint8])
    channels, outputs = random.integers(1, 40), random.integers(1, 24)
    size, kernel = random.integers(5, 14), random.choice([1, 3, 5])
    per_channel = random.random() < 0.6
    layer = {
        "x": random.integers(np.iinfo(data).min, np.iinfo(data).max + 1, (1, channels, size, size)).astype(data),
        "x_scale": random_scale(random),
        "x_zero": data(random.integers(np.iinfo(data).min, np.iinfo(data).max + 1)),
        "w": random.integers(np.iinfo(weight).min, np.iinfo(weight).max + 1,
                             (outputs, channels, kernel, kernel)).astype(weight),
        "w_scale": np.array([random_scale(random) for _ in range(outputs if per_channel else 1)], np.float32),
        "w_zero": np.zeros(outputs if per_channel else 1, weight) + weight(0 if weight is np.int8 else 128),
    }
    most = 2**(random.integers(1, 22) if random.random() < 0.7 else 29)  # beyond 2^24 float32 rounds a sum
    layer["bias"] = random.integers(-most, most, outputs).astype(np.int32)
    if not per_channel:
        layer["w_scale"], layer["w_zero"] = layer["w_scale"][0], layer["w_zero"][0]
    layer["y_zero"] = data(random.integers(np.iinfo(data).min, np.iinfo(data).max + 1))
    return layer, int(random.integers(0, kernel // 2 + 1))


def sums(layer, pad):
    """The int32 sums of the convolution without bias: [output channel][pixel]."""
    x = np.pad(layer["x"].astype(np.int64) - int(layer["x_zero"]), [(0, 0), (0, 0), (pad, pad), (pad, pad)])[0]
    w = layer["w"].astype(np.int64) - int(np.max(layer["w_zero"]))
    kernel = w.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(1, 2))
    total = np.einsum("chwij,ocij->ohw", windows, w)
    assert np.abs(total).max() < 2**31
    return total.reshape(len(w), -1)


def scales(layer, outputs):
    """As ONNX Runtime computes them: in float32, the product first."""
    scale = (layer["x_scale"] * layer["w_scale"]) / layer["y_scale"]
    assert scale.dtype == np.float32
    return np.broadcast_to(scale, outputs)


def choose_output_scale(random, layer, acc):
    """So that most outputs are within their type, some at its ends, and a channel's commonest sum is as near
    as float32 allows to a tie, where roundings differ."""
    channel = random.integers(len(acc))
    scale = layer["x_scale"] * np.broadcast_to(layer["w_scale"], len(acc))[channel]
    totals = acc + layer["bias"][:, None]
    spread = float(np.percentile(np.abs(totals), 90)) * float(np.max(layer["w_scale"]) * layer["x_scale"])
    values, counts = np.unique(np.abs(totals[channel]), return_counts=True)
    commonest = max(values[np.argmax(counts)], 1)
    level = np.floor(commonest * float(scale) / spread * random.uniform(60, 140)) + 0.5
    layer["y_scale"] = np.float32(commonest * float(scale) / level)


def model_of(layer, pad):
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"]
    kind = onnx.TensorProto.UINT8 if layer["x"].dtype == np.uint8 else onnx.TensorProto.INT8
    node = helper.make_node("QLinearConv", names, ["y"], name="layer", pads=[pad] * 4)
    graph = helper.make_graph(
        [node], "one layer", [helper.make_tensor_value_info("x", kind, layer["x"].shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(np.asarray(layer[name]), name) for name in names[1:]])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def records_of(layer, acc):
    records = np.zeros(acc.shape, RECORD)
    records["acc"] = acc
    records["bias"] = layer["bias"][:, None]
    records["scale"] = scales(layer, len(acc))[:, None]
    records["zero_point"] = layer["y_zero"]
    records["lo"], records["hi"] = np.iinfo(layer["x"].dtype).min, np.iinfo(layer["x"].dtype).max
    return records.ravel()


def requantized(program, rounding, records):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        records.tofile(folder / "in")
        subprocess.run([program, rounding, folder / "in", folder / "out"], check=True)
        return np.fromfile(folder / "out", "<i4")


def main(program, layers=120, seed=14):
    random = np.random.default_rng(int(seed))
    records, found = [], []
    for _ in range(int(layers)):
        layer, pad = random_layer(random)
        acc = sums(layer, pad)
        choose_output_scale(random, layer, acc)
        model = model_of(layer, pad)
        session = exact_session.open_session(model)
        found.append(session.run(None, {"x": layer["x"]})[0].astype(np.int64).ravel())
        records.append(records_of(layer, acc))
    records, found = np.concatenate(records), np.concatenate(found)
    ours = requantized(program, "float32", records)
    once = requantized(program, "half_even", records)
    within = (found > records["lo"]) & (found < records["hi"])
    beyond = np.abs(records["acc"].astype(np.int64) + records["bias"]) > 2**24
    power_of_two = np.frexp(records["scale"])[0] == 0.5
    print(f"{layers} layers, seed {seed}: {len(found)} outputs, {within.sum()} within their type, "
          f"{beyond.sum()} of sums beyond 2^24, {power_of_two.sum()} with a power of two as scale; "
          f"float32: {(ours != found).sum()} differ from ONNX Runtime; half_even: {(once != found).sum()}, "
          f"by at most {np.abs(once - found).max()}")
    for i in np.flatnonzero(ours != found)[:5]:
        print(f"{records[i]}: ONNX Runtime {found[i]}, requantizer {ours[i]}")
    # Otherwise the layers tell nothing of the roundings.
    assert within.mean() > 0.5 and beyond.mean() > 0.1 and power_of_two.mean() < 0.05 and (once != found).any()
    return 0 if (ours == found).all() else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
