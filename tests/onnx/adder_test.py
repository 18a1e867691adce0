"""core/numerics/adder.h with rounding float32 gives the bytes of ONNX Runtime's QLinearAdd on a processor with FMA, and those
of the rule in tools/ort/operator_rules.py. Runs in the environment of tools/ort/install.sh.

usage: adder_test.py ADD_FILE [LAYERS [SEED]]

Prints how many outputs were compared, how many differ, and how many `half_even`, which rounds the exact sum once,
has otherwise.
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
import operator_rules  # noqa: E402

RECORD = np.dtype([("a", "<i4"), ("b", "<i4"), ("a_scale", "<f4"), ("b_scale", "<f4"), ("y_scale", "<f4"),
                   ("a_zero", "<i4"), ("b_zero", "<i4"), ("y_zero", "<i4"), ("lo", "<i4")])
HAS_FMA = " fma " in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf8")
VALUES = 4096


def quantization(random, dtype, scale):
    limits = np.iinfo(dtype)
    return operator_rules.Quantization(np.float32(scale), int(random.integers(limits.min, limits.max + 1)), dtype)


def random_layer(random):
    """Two operands of all bytes, and three quantizations. In half the layers the ratios are near small fractions,
    where many sums are nearly ties."""
    dtype = random.choice([np.uint8, np.int8])
    limits = np.iinfo(dtype)
    a, b = (random.integers(limits.min, limits.max + 1, VALUES).astype(dtype) for _ in range(2))
    y_scale = np.exp(random.uniform(np.log(1e-3), 0))
    if random.random() < 0.5:
        ratios = random.choice([0.125, 0.25, 0.375, 0.5, 0.75], 2)
    else:
        ratios = np.exp(random.uniform(np.log(0.05), np.log(2), 2))
    return a, b, [quantization(random, dtype, scale) for scale in (*(ratios * y_scale), y_scale)]


def onnx_runtime(a, aq, b, bq, yq):
    kind = onnx.TensorProto.UINT8 if yq.dtype is np.uint8 else onnx.TensorProto.INT8
    constants = {}
    for name, q in (("a", aq), ("b", bq), ("y", yq)):
        constants[f"{name}_scale"], constants[f"{name}_zero"] = q.scale, np.asarray(q.zero_point, q.dtype)
    names = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"]
    node = helper.make_node("QLinearAdd", names, ["y"], name="add", domain="com.microsoft")
    inputs = [helper.make_tensor_value_info(name, kind, [VALUES]) for name in "ab"]
    graph = helper.make_graph([node], "one addition", inputs, [helper.make_tensor_value_info("y", kind, [VALUES])],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)])
    return exact_session.open_session(model).run(None, {"a": a, "b": b})[0]


def records_of(a, b, quantizations):
    records = np.zeros(VALUES, RECORD)
    records["a"], records["b"] = a, b
    for name, q in zip("aby", quantizations):
        records[f"{name}_scale"], records[f"{name}_zero"] = q.scale, q.zero_point
    records["lo"] = np.iinfo(quantizations[2].dtype).min
    return records


def added(program, rounding, records):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        records.tofile(folder / "in")
        subprocess.run([program, rounding, folder / "in", folder / "out"], check=True)
        return np.fromfile(folder / "out", "<i4")


def main(program, layers=150, seed=15):
    random = np.random.default_rng(int(seed))
    records, found, rule = [], [], []
    for _ in range(int(layers)):
        a, b, (aq, bq, yq) = random_layer(random)
        found.append(onnx_runtime(a, aq, b, bq, yq).astype(np.int64))
        rule.append(operator_rules.qlinear_add(a, aq, b, bq, yq).astype(np.int64))
        records.append(records_of(a, b, (aq, bq, yq)))
    records, found, rule = (np.concatenate(parts) for parts in (records, found, rule))
    ours, once = added(program, "float32", records), added(program, "half_even", records)
    within = (found > records["lo"]) & (found < records["lo"] + 255)
    print(f"{layers} layers, seed {seed}: {len(found)} outputs, {within.sum()} within their type; float32: "
          f"{(ours != found).sum()} differ from ONNX Runtime, {(ours != rule).sum()} from its rule; half_even: "
          f"{(once != found).sum()}, by at most {np.abs(once - found).max()}")
    for i in np.flatnonzero(ours != rule)[:5]:
        print(f"{records[i]}: rule {rule[i]}, adder {ours[i]}")
    # Otherwise the layers tell nothing of the roundings.
    assert within.mean() > 0.5 and (once != found).sum() > 100
    assert (ours == rule).all()
    # Without FMA, ONNX Runtime has another rule.
    return 0 if not HAS_FMA or (ours == found).all() else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
