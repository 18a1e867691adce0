"""The host gives ONNX Runtime's outputs: of random nodes (operator_cases.py), and of small random graphs of them. Runs in
the environment of tools/ort/install.sh.

usage: host_test.py HOST_CHECK [CASES [SEED [FOLDER]]]

CASES of each operator and ten times as many graphs; FOLDER keeps a model of each operator.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import operator_cases as cases  # noqa: E402
from draw import Draw  # noqa: E402
from random_graph import random_graph  # noqa: E402


def kind_of(array):
    return numpy_helper.from_array(array).data_type


def model_of(nodes, inputs, constants, outputs, opset=17):
    """`inputs` and `constants` by name; `outputs` are names."""
    graph = helper.make_graph(
        nodes, "random", [helper.make_tensor_value_info(name, kind_of(x), x.shape) for name, x in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(x, name) for name, x in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid(cases.MICROSOFT, 1)])


def node_model(case, draw):
    arrays, attributes = case.make(draw)
    names = ["" if x is None else f"x{i}" for i, x in enumerate(arrays)]
    given = {name: np.asarray(x) for name, x in zip(names, arrays) if name}
    constants = {names[i]: given.pop(names[i]) for i in case.constants if i < len(names) and names[i]}
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, domain=case.domain, **attributes)
    return model_of([node], given, constants, outputs, case.opset), given


def run_onnxruntime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def run_host(host_check, model, inputs, count):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        onnx.save(model, folder / "model.onnx")
        for i, x in enumerate(inputs.values()):
            (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
        done = subprocess.run([host_check, folder / "model.onnx", folder, folder], text=True, stderr=subprocess.PIPE)
        if done.returncode != 0:
            return done.stderr.strip() or f"exit code {done.returncode}"
        files = [(folder / f"output_{i}.pb").read_bytes() for i in range(count)]
        return [numpy_helper.to_array(onnx.TensorProto.FromString(file)) for file in files]


def difference(found, expected, tolerance):
    """"" where they are equal, or as near as they must be."""
    if isinstance(found, str):
        return found
    for i, (ours, theirs) in enumerate(zip(found, expected)):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return f"output {i} is {ours.dtype} {ours.shape}; expected {theirs.dtype} {theirs.shape}"
        if theirs.size == 0 or np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f"):
            continue
        apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
        if theirs.dtype.kind != "f" or not apart.max() <= tolerance * np.abs(theirs).max():
            return f"output {i}: {(ours != theirs).sum()} of {theirs.size} differ, by at most {apart.max():.3g}"
    return ""


def check(host_check, model, inputs, tolerance, label):
    expected = run_onnxruntime(model, inputs)
    found = difference(run_host(host_check, model, inputs, len(expected)), expected, tolerance)
    if not found:
        return False
    nodes = "; ".join(helper.printable_node(node) for node in model.graph.node)
    print(f"{label}: {found}\n  {nodes} of {[(x.dtype.name, x.shape) for x in inputs.values()]}")
    return True


def main(host_check, count=8, seed=31, keep=None):
    onnxruntime.set_default_logger_severity(4)
    wrong = 0
    for number, case in enumerate(cases.CASES):
        for i in range(int(count)):
            draw = Draw([int(seed), number, i])
            model, inputs = node_model(case, draw)
            if keep and i == 0:
                (pathlib.Path(keep) / f"node-{number:03}").write_bytes(model.SerializeToString())
            wrong += check(host_check, model, inputs, case.tolerance, f"{case.op} {i}")
    for i in range(10 * int(count)):
        nodes, inputs, constants, outputs = random_graph(Draw([int(seed), i]))
        wrong += check(host_check, model_of(nodes, inputs, constants, outputs), inputs, 1e-4, f"graph {i}")
    print(f"seed {seed}: {count} nodes of each of {len(cases.CASES)} rows and {10 * int(count)} graphs, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
