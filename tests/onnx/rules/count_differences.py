"""Compares tools/ort/operator_rules.py and table_rules.py with ONNX Runtime on random cases, and prints how many
values differ, and by how many steps.

usage: count_differences.py [--cases N] [--seed N] [--no-fma] [--rounded-once] [OPERATOR...]
--no-fma: the processor has no FMA3 (Nehalem). --rounded-once: with the rules of rounded_once.py instead.
Exit code 1: a value differs, or most cases of an operator have one value only.
"""
import argparse
import collections
import functools
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/ort"))
import cases  # noqa: E402
import exact_session  # noqa: E402
import operator_rules  # noqa: E402
import rounded_once  # noqa: E402
import table_cases  # noqa: E402

# What draws a case, by the name that the table prints.
OPERATORS = {
    "QLinearConv": cases.qlinear_conv, "QLinearMatMul": cases.qlinear_matmul, "QGemm": cases.qgemm,
    "MatMulInteger": cases.matmul_integer, "QLinearAdd": cases.qlinear_add, "QLinearMul": cases.qlinear_mul,
    "QLinearAveragePool": table_cases.qlinear_average_pool,
    "QLinearGlobalAveragePool": table_cases.qlinear_global_average_pool, "MaxPool": table_cases.max_pool,
    "QLinearConcat": table_cases.qlinear_concat, "QLinearLeakyRelu": table_cases.qlinear_leaky_relu,
    "QLinearSigmoid": table_cases.qlinear_sigmoid, "QLinearSoftmax": table_cases.qlinear_softmax,
    "Relu in QDQ form": table_cases.qdq_relu, "Clip in QDQ form": table_cases.qdq_clip,
    "LeakyRelu in QDQ form": table_cases.qdq_leaky_relu, "PRelu in QDQ form": table_cases.qdq_prelu,
    "HardSigmoid in QDQ form": table_cases.qdq_hard_sigmoid,
    "HardSwish in QDQ form": table_cases.qdq_hard_swish, "Sigmoid in QDQ form": table_cases.qdq_sigmoid,
    "ReduceMean of float32": table_cases.reduce_mean}
DEPEND_ON_FMA = ("QLinearAdd", "QLinearSigmoid", "Sigmoid in QDQ form")


class Counts:
    """values, those that differ by how many steps, and how many cases have two values or more."""

    def __init__(self):
        self.values, self.lively, self.steps = 0, 0, collections.Counter()

    def add(self, expected, found):
        if expected.shape != found.shape or expected.dtype != found.dtype:
            raise SystemExit(f"expected {expected.dtype}{expected.shape}, found {found.dtype}{found.shape}")
        difference = found.astype(np.float64) - expected.astype(np.float64)
        self.values += difference.size
        self.lively += np.unique(found).size > 1
        self.steps.update(difference[difference != 0].tolist())

    def differing(self):
        return sum(self.steps.values())

    def text(self):
        if not self.steps:
            return "equal"
        return ", ".join(f"{count} by {step:+g}" for step, count in self.steps.most_common(6))


def count(draw, number, seed):
    counts, random = Counts(), cases.Random(seed)
    for _ in range(number):
        case = draw(random)
        session = exact_session.open_rewritten_session(case.model(), "all")
        counts.add(case.expected, session.run(["y"], case.inputs)[0])
    return counts


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--no-fma", action="store_true")
    parser.add_argument("--rounded-once", action="store_true")
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    args = parser.parse_args(words)
    for name in set(args.operators) - set(OPERATORS):
        parser.error(f"no operator '{name}'; there are: {', '.join(OPERATORS)}")
    if args.rounded_once:
        for rule in rounded_once.RULES:
            setattr(operator_rules, rule.__name__, rule)
    args.operators = args.operators or (rounded_once.OPERATORS if args.rounded_once else tuple(OPERATORS))
    return args


def main(words):
    args = arguments_of(words)
    exact_session.prove("all")
    print(f"ONNX Runtime {exact_session.onnxruntime.__version__}, {args.cases} cases an operator, seed {args.seed}")
    failed = False
    for name, draw in OPERATORS.items():
        if name not in args.operators:
            continue
        if args.no_fma and name in DEPEND_ON_FMA:
            draw = functools.partial(draw, fma=False)
        counts = count(draw, args.cases, args.seed)
        dull = 2 * counts.lively < args.cases
        failed = failed or dull or counts.differing() > 0
        print(f"{name:25} {counts.values:9} values  {counts.differing():6} differ  {counts.text()}"
              f"{'  (most cases have one value only)' if dull else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
