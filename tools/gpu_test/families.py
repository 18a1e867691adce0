"""The steps of gpu-test of the kernels beside int8 networks: each family has a program golden_NAME_cuda_check that
compares random cases with the CPU bit for bit, and times its kernels.
"""
import concurrent.futures
import dataclasses
import re
import sys

import session as sessions
from session import FAILED, OK

PROCESSES = 4


@dataclasses.dataclass(frozen=True)
class Family:
    name: str         # of the program
    title: str        # of the steps
    cases: int        # of each process
    quick_cases: int
    small_cases: int  # for a sanitizer
    kernels: tuple    # that must find the planted fault

    def program(self):
        return f"golden_{self.name}_cuda_check"


PYTHON_CASES = 2000  # of each operator of qsim.torch
FAMILIES = (
    Family("binary", "binary convolution", 2500, 400, 12,
           ("portable", "any_bases", "one_base", "one_by_one", "two_bases", "three_bases", "rows_any", "rows_wide",
            "rows_one_by_one", "rows_two", "rows_three", "signs_any", "signs_two", "signs_three")),
    Family("int8_linear", "int8 linear layers", 2500, 200, 15, ("int8_rows", "int8_matrix", "int8_plain")),
    Family("linear", "linear layers", 2500, 250, 20, ("rows", "many_rows", "batch", "hopper", "plain")),
    Family("convert", "conversions", 2500, 200, 5,
           ("flat_groups", "flat_rows", "flat_tensor", "groups", "long_groups", "flat_back", "back",
            "flat_int4_to_fp8", "int4_to_fp8")),
)

# Steps that are one run of a program, which ends with 0 where every bit is the CPU's: title and words.
COMPARISONS = (
    ("conversions, every input", ("golden_convert_cuda_check", "every_input")),
    ("conversions, large", ("golden_convert_cuda_check", "large")),
)


def random_cases(family):
    """Several processes, each with seeds of its own."""
    def run(session):
        count = family.quick_cases if session.quick else family.cases

        def one(process):
            return session.run([session.program(family.program()), "random", "--count", count, "--seed",
                                1 + process * count], 240)

        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            ends = list(pool.map(one, range(PROCESSES)))
        for done in ends:
            if done.exit_code != 0:
                return FAILED, done.ending()
        compared = [re.match(r"(\d+) .* compared.* 0 mismatching runs", done.last_line()) for done in ends]
        if not all(compared):
            return FAILED, ends[0].ending()
        return OK, (f"{PROCESSES * count:,} cases, seeds 1 to {PROCESSES * count}, "
                    f"{sum(int(match.group(1)) for match in compared):,} compared, 0 mismatches")
    return run


def planted(family):
    """The program whose kernels have a fault: right when it finds mismatches of each kernel."""
    def run(session):
        done = session.run([session.program(family.program() + "_planted"), "random", "--count", 400], 120)
        found = re.search(r"^mismatching runs by family:(.*)$", done.output, re.MULTILINE)
        if done.exit_code != sessions.MISMATCH or found is None:
            return FAILED, f"not caught; {done.ending()}"
        wrong = dict(re.findall(r"(\w+) (\d+)", found.group(1)))
        missed = [kernel for kernel in family.kernels
                  if kernel not in wrong and re.search(rf"^runs by family:.* {kernel} ", done.output, re.MULTILINE)]
        if missed:
            return FAILED, f"not caught in {', '.join(missed)}; {found.group(1).strip()}"
        return OK, f"caught: {found.group(1).strip()}"
    return run


def times(family):
    """The program's own table, which is in the log; its last line sums it up."""
    def run(session):
        done = session.run([session.program(family.program()), "bench"], 120)
        return (OK, done.last_line()) if done.exit_code == 0 else (FAILED, done.ending())
    return run


def comparison(words):
    def run(session):
        done = session.run([session.program(words[0]), *words[1:]], 120)
        return (OK, done.last_line()) if done.exit_code == 0 else (FAILED, done.ending())
    return run


def trained_binary_network(session):
    done = session.run([session.program("golden_binary_cuda_check"), "network", "--data",
                        session.shipped("models/abc-cifar10")], 60)
    return (OK, done.last_line()) if done.exit_code == 0 else (FAILED, done.ending())


def python_package(session):
    """The wheel's package and its tests, by the machine's python3, which has PyTorch."""
    done = session.run([sys.executable, "-B", session.bundle / "scripts/python_package.py", session.bundle / "python",
                        PYTHON_CASES // 10 if session.quick else PYTHON_CASES], 240)
    if "No module named 'torch'" in done.output:
        return session.skip("torch")
    return (OK, done.last_line()) if done.exit_code == 0 else (FAILED, done.ending())
