"""Random QDQ graphs with int8 weights, of int8 and of uint8 data, and ONNX Runtime's outputs.

usage: random_qdq.py FOLDER COUNT [SEED]
Writes FOLDER/qdq_N.KIND.onnx, .input.npy and .output.npy. Graph N follows from SEED and N alone. KIND is

  exact    ONNX Runtime runs every layer as its QLinear operator, and .output.npy is its output
  floats   ONNX Runtime runs a layer of int8 data as float (docs/reference/onnx.md#qdq-graphs). .output.npy is
           what the rules give with every layer as its QLinear operator, which is what qsim computes
  pools    the graph has an average pool, which qsim rounds once; .output.npy is ONNX Runtime's

Exit code 1 where the rules of quantized_graph.py do not say which operators ONNX Runtime runs as float, or where its
output is not what they give: that may differ only where they name a node whose order of additions is not known.
"""
import collections
import pathlib
import sys

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools/ort"))
import exact_session  # noqa: E402
import optimized  # noqa: E402
import quantized_graph  # noqa: E402
from random_dag import Builder, ancestors  # noqa: E402

# What qsim computes in integers wherever it is.
LAYERS = {"Conv", "Gemm", "MatMul", "Add", "AveragePool", "GlobalAveragePool"}


class QdqBuilder(Builder):
    """A Builder of QDQ graphs. Weights have 7 bits: with 8, processors without VNNI saturate sums of uint8 times
    int8. Readers of a tensor share its DequantizeLinear, or each has its own."""

    def __init__(self, seed):
        super().__init__(seed)
        self.dtype = np.int8 if self.chance(0.6) else np.uint8
        self.qdq, self.constants, self.given = True, [], {}
        self.shares = self.chance(0.5)
        self.input = self.tensor(self.input.shape, self.input.scale, "x")
        self.tensors = [self.input]

    def weights(self, shape, fan_in):
        array = self.random.integers(-64, 64, shape).astype(np.int8)
        count = shape[0] if self.chance(0.5) else 1
        scales = np.array([self.scale(0.02 / np.sqrt(fan_in)) for _ in range(count)], np.float32)
        return array, scales, np.zeros(count, np.int8)

    def dequantized(self, t):
        if not self.shares:
            return super().dequantized(t)
        if t.name not in self.given:
            self.given[t.name] = super().dequantized(t)
        return self.given[t.name]


class Evaluation(quantized_graph.Run):
    """A run by the rules that remembers which layers ran as float."""

    def __init__(self, model, data, fuses_all):
        super().__init__(model, {"x": data})
        self.as_float_kinds = set()
        self.fma = True
        readers = collections.Counter(name for node in model.graph.node for name in node.input)
        # DequantizeLinear nodes of one tensor count as one that its readers share. What is not between a
        # QuantizeLinear and a DequantizeLinear keeps its type as well: the graph's ends, and both sides of a Flatten.
        ends = {"x", model.graph.output[0].name} | {name for node in model.graph.node if node.op_type == "Flatten"
                                                    for name in (node.input[0], node.output[0])}
        self.shared = set() if fuses_all else self.shared | ends | {
            name for node in model.graph.node if node.op_type == "DequantizeLinear"
            and (readers[node.input[0]] > 1 or node.input[0] in ends) for name in (node.input[0], node.output[0])}

    def run_float(self, node, inputs):
        self.as_float_kinds.add(node.op_type)
        return super().run_float(node, inputs)

    def output(self, model):
        for node in model.graph.node:
            self.values[node.output[0]] = self.step(node)
        return self.values[model.graph.output[0].name]


def random_model(seed):
    """(model, its operators, input) of the first graph of `seed` that has a layer."""
    for attempt in range(100):
        builder = QdqBuilder([seed, 77, attempt])
        for _ in range(builder.integer(2, 12)):
            builder.step()
        if len(builder.tensors) < 2:
            continue
        model = builder.model()
        operators = ancestors(model)
        if not operators & {"Conv", "Gemm", "MatMul"}:
            continue
        info = np.iinfo(builder.dtype)
        data = builder.random.integers(info.min, info.max + 1, (2, *builder.input.shape)).astype(builder.dtype)
        return model, operators, data
    raise RuntimeError(f"no graph for seed {seed}")


class Tally:
    """Graphs and numbers of one kind, and how far ONNX Runtime's outputs are from the files'."""

    def __init__(self):
        self.graphs = self.values = self.differ = self.most = 0

    def add(self, output, written):
        difference = np.abs(output.astype(np.int64) - written.astype(np.int64))
        self.graphs += 1
        self.values += difference.size
        self.differ += int(np.count_nonzero(difference))
        self.most = max(self.most, int(difference.max(initial=0)))


def fault_of(evaluation, by_rules, output, file):
    wrong = int(np.count_nonzero(by_rules.astype(np.int64) != output.astype(np.int64)))
    if wrong and not evaluation.inexact:
        return f"{wrong} of {output.size} numbers are not what the rules give"
    kinds = {"Conv", "Gemm", "MatMul", "Add"}
    found = {node.op_type.replace("FusedConv", "Conv") for node in optimized.optimized(file, "all").node} & kinds
    expected = evaluation.as_float_kinds & kinds
    return "" if found == expected else f"runs {sorted(found)} as float; by the rules {sorted(expected)}"


def judge(model, operators, data, output, file):
    """(kind, the numbers of .output.npy, a fault or "")"""
    evaluation = Evaluation(model, data, False)
    fault = fault_of(evaluation, evaluation.output(model), output, file)
    if any("AveragePool" in kind for kind in operators):
        return "pools", output, fault
    if evaluation.as_float_kinds & LAYERS:
        return "floats", Evaluation(model, data, True).output(model), fault
    return "exact", output, fault


def main(words):
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    folder, count, seed = pathlib.Path(words[0]), int(words[1]), int(words[2]) if len(words) == 3 else 0
    folder.mkdir(parents=True, exist_ok=True)
    tallies, faults = collections.defaultdict(Tally), 0
    for number in range(count):
        model, operators, data = random_model(seed * 1_000_000 + number)
        output = exact_session.open_plain_session(model).run(None, {"x": data})[0]
        unjudged = folder / f"qdq_{number:05}.onnx"
        onnx.save(model, unjudged)
        kind, written, fault = judge(model, operators, data, output, unjudged)
        tallies[kind].add(output, written)
        file = unjudged.rename(folder / f"qdq_{number:05}.{kind}.onnx")
        if fault:
            faults += 1
            print(f"WRONG: {file.name}: {fault}")
        np.save(file.with_suffix(".input.npy"), data)
        np.save(file.with_suffix(".output.npy"), written)
    print(f"seed {seed}")
    for kind, tally in sorted(tallies.items()):
        print(f"{kind}: {tally.graphs} graphs; of ONNX Runtime's {tally.values} numbers {tally.differ} differ from the "
              f"files' by at most {tally.most}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
