"""The steps of gpu-test of the kernels beside int8 networks: each family has a program golden_NAME_cuda_check that
compares random cases with the CPU bit for bit, and times its kernels.
"""
import dataclasses
import re
import sys
import threading

import session as sessions
from session import FAILED, OK


@dataclasses.dataclass(frozen=True)
class Family:
    name: str           # of the program
    title: str          # of the steps
    cases: int
    quick_cases: int
    covering: tuple     # words for the cases from which a sanitizer's are chosen
    planted_cases: int  # as many as meet every kernel
    kernels: tuple      # that must find the planted fault on compute capability 9.0
    elsewhere: tuple    # the same on other GPUs
    targets: tuple | None = None  # how many of how many an H200 meets at least; None: the program has none

    def program(self):
        return f"golden_{self.name}_cuda_check"

    def covering_words(self):
        return (self.program(), "random", *self.covering)


PYTHON_CASES = 300  # of each operator of qsim.torch
CONVERSIONS = ("flat_groups", "flat_rows", "flat_tensor", "groups", "long_groups", "flat_back", "back",
               "flat_int4_to_fp8", "int4_to_fp8")
# Concatenations and flattening only move numbers; a uniform, dynamic or log2 rule computes none that the fault is in.
REAL_KERNELS = ("tile_products", "direct_products", "integer_products", "max_pool", "average_pool", "add", "activation",
                "float_rule")
FAMILIES = (
    Family("binary", "binary convolution", 2400, 1200, ("--count", 1500), 2500,
           ("portable", "any_bases", "one_base", "one_by_one", "two_bases", "three_bases", "rows_any", "rows_wide",
            "rows_one_by_one", "rows_two", "rows_three", "signs_any", "signs_two", "signs_three"),
           ("portable",), (0, 5)),
    Family("int8_linear", "int8 linear layers", 1800, 800, ("--count", 600), 400, ("int8_rows", "int8_matrix", "int8_plain"),
           ("int8_rows", "int8_plain")),
    Family("linear", "linear layers", 1800, 800, ("--count", 600), 400, ("rows", "many_rows", "batch", "hopper", "plain"),
           ("rows", "many_rows", "batch", "plain"), (5, 9)),
    Family("real", "float networks", 1800, 800, ("--count", 600, "--small"), 400, REAL_KERNELS, REAL_KERNELS),
    Family("convert", "conversions", 1800, 800, ("--count", 600), 2500, CONVERSIONS, CONVERSIONS),
)

# Title, and the words of its random cases.
TRAINING = (("forward pass of training layers", ("golden_train_forward_cuda_check", "random", "--cases", 1000)),
            ("gradients of training layers", ("golden_train_gradient_cuda_check", "random", "--cases", 1000)))
# Random cases from which a sanitizer gets a few.
COVERING = (*(family.covering_words() for family in FAMILIES), *(words for _, words in TRAINING))


@dataclasses.dataclass(frozen=True)
class Cover:
    cases: str | None  # with commas between them
    kernels: str       # "30 of 45": launched, and in the program
    launched: frozenset  # their names
    others: frozenset    # of those that no case launches
    capability: str | None
    done: sessions.Done


# The kernels that no program's cases launch, and why; names as --cover prints them. tests/golden/device has the counting.
WITHOUT_CASE = (
    (r"fill_\w+", "only benchmarks make weights and activations on the GPU"),
    (r"mixed_copy", "the copy that benchmarks compare with"),
    (r"max_pool<.*, long>", "from 2^31 outputs on: tens of GB; the source is that of the instance that counts in 32 bits"),
)


def covering_cases(session, words):
    """A few of a program's cases that launch all kernels that all of them launch; found once for the four tools."""
    with session.covers_lock:
        lock = session.cover_locks.setdefault(words, threading.Lock())
    with lock:
        if words not in session.covers:
            # Kernels are loaded first, so that a case's time is its own.
            done = session.run([session.program(words[0]), *words[1:], "--cover"], 300, {"CUDA_MODULE_LOADING": "EAGER"})
            cases = re.search(r"^covering cases:((?: \S+)+)$", done.output, re.MULTILINE)
            kernels = re.search(r"^kernels launched: (.*)$", done.output, re.MULTILINE)
            found = done.exit_code == 0 and cases and kernels
            launched, others = (frozenset(re.findall(rf"^{title}: (.*)$", done.output, re.MULTILINE))
                                for title in ("launched", "not launched"))
            device = device_of(done.output)
            session.covers[words] = Cover(",".join(cases.group(1).split()) if found else None,
                                          kernels.group(1) if found else "", launched, others,
                                          device and device[1], done)
        return session.covers[words]


def every_kernel(programs):
    """Every kernel that is linked into a program is launched by a case of one of them, or WITHOUT_CASE says why not:
    a sanitizer gets cases that launch all that any case launches.
    """
    def run(session):
        covers = [covering_cases(session, words) for words in programs]
        failed = next((cover for cover in covers if cover.cases is None), None)
        if failed is not None:
            return FAILED, f"no cases that cover the kernels; {failed.done.ending()}"
        launched = frozenset().union(*(cover.launched for cover in covers))
        others = frozenset().union(*(cover.others for cover in covers)) - launched
        excused = {name for name in others if any(re.fullmatch(pattern, name) for pattern, _ in WITHOUT_CASE)}
        missed = sorted(others - excused)
        if covers[0].capability is None:
            return FAILED, f"names no device; {covers[0].done.ending()}"
        if covers[0].capability != "9.0":  # other GPUs do not have all kernels
            return OK, f"{len(launched)} kernels launched, {len(others)} not on compute capability {covers[0].capability}"
        if missed:
            return FAILED, f"kernels that no case launches: {', '.join(missed)}"
        return OK, f"{len(launched)} kernels launched; of {len(excused)} the table says why not"
    return run


def random_cases(family):
    def run(session):
        count = family.quick_cases if session.quick else family.cases
        done = session.run([session.program(family.program()), "random", "--count", count], 240)
        compared = re.match(r"(\d+) .* compared.* 0 mismatching runs", done.last_line())
        if done.exit_code != 0 or not compared:
            return FAILED, done.ending()
        return OK, f"{count:,} cases, seeds 1 to {count}, {int(compared.group(1)):,} compared, 0 mismatches"
    return run


def training(words):
    """The random cases that also choose those of the sanitizers: most of their time is the processor's."""
    def run(session):
        cover = covering_cases(session, words)
        if cover.cases is None:
            return FAILED, cover.done.ending()
        result = re.split(r"^(?:not )?launched: ", cover.done.output, maxsplit=1, flags=re.MULTILINE)[0]
        return OK, result.strip().splitlines()[-1]
    return run


def device_of(output):
    """(name, compute capability) of the GPU that a program names; None if it names none."""
    found = re.search(r"^device: (.*), compute capability (\S+)$", output, re.MULTILINE)
    return found.groups() if found else None


def counts_of(title, output):
    """The counts by kernel of the line that begins with the title; none without that line."""
    found = re.search(rf"^{title}:(.*)$", output, re.MULTILINE)
    return {kernel: int(count) for kernel, count in re.findall(r"(\w+) (\d+)", found.group(1))} if found else {}


def planted(family):
    """The program whose kernels have a fault: right when it runs each kernel and finds mismatches of each."""
    def run(session):
        done = session.run([session.program(family.program() + "_planted"), "random", "--count",
                            family.planted_cases], 240)
        device = device_of(done.output)
        if device is None:
            return FAILED, f"names no device; {done.ending()}"
        wrong = counts_of("mismatching runs by family", done.output)
        if done.exit_code != sessions.MISMATCH or not wrong:
            return FAILED, f"not caught; {done.ending()}"
        met = counts_of("runs by family", done.output)
        found = " ".join(f"{kernel} {count}" for kernel, count in wrong.items())
        expected = family.kernels if device[1] == "9.0" else family.elsewhere
        for trouble, counts in (("not run", met), ("not caught in", wrong)):
            missed = [kernel for kernel in expected if not counts.get(kernel)]
            if missed:
                return FAILED, f"{trouble}: {', '.join(missed)}; {found}"
        return OK, f"caught: {found}"
    return run


def times(family):
    """The program's own table, which is in the log; its last line sums it up. Fewer targets than an H200 meets
    fail there, and on no other GPU.
    """
    def run(session):
        done = session.run([session.program(family.program()), "bench"], 120)
        if done.exit_code != 0:
            return FAILED, done.ending()
        if family.targets is None:
            return OK, done.last_line()
        least, of = family.targets
        device = device_of(done.output)
        found = re.search(r"^(\d+) of (\d+) targets .*$", done.output, re.MULTILINE)
        if device is None or found is None or int(found.group(2)) != of:
            return FAILED, f"names no device or not {of} targets; {done.ending()}"
        is_less = "H200" in device[0] and int(found.group(1)) < least
        return (FAILED if is_less else OK), found.group(0) + (f"; at least {least} are expected" if is_less else "")
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
                        PYTHON_CASES // 3 if session.quick else PYTHON_CASES], 240)
    if "No module named 'torch'" in done.output:
        return session.skip("torch")
    return (OK, done.last_line()) if done.exit_code == 0 else (FAILED, done.ending())
