"""The steps of gpu-test. A step is a function of the session that returns (result, detail).

Steps of one lane run one after the other, the lanes of a phase side by side, the phases one after the
other: first what must hold, what has failed most often first in its lane, then, alone, where time is measured.
"""
import concurrent.futures
import dataclasses
import re
import shutil
import sys
from typing import Callable

import accuracy
import families
import measurements
import session as sessions
from session import FAILED, NOT_THERE, OK

CONFIG = "pe16x16"
RANDOM_PROCESSES = 4
RANDOM_SHAPES = 350  # of each process
QUICK_SHAPES = 100
IMAGES = 3000  # records of the test batch
ORT_IMAGES = 256
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
NETWORK_CASES = ("random", "--every-kernel", "--count", 400, "--most-macs", 1_000_000)
SANITIZER_LIMIT_S = 300  # racecheck follows every access to shared memory
RACECHECK_PROCESSES = 6  # of golden_cuda_check, side by side; the other tools have one
# Without it every buffer is written before a kernel runs, and nothing is left to find.
SANITIZER_ENVIRONMENT = {"initcheck": {"QSIM_CUDA_POISON": "0"}}
PATHS = "auto,hopper,portable,direct"
NETWORKS = ("resnet50", "resnet18", "mobilenet_v2", "squeezenet1_1")
PLANTED_FAMILIES = ("conv_first", "conv_mma", "conv_wgmma", "linear_stream")
SANITIZER_ERROR = 9  # compute-sanitizer's exit code for a finding; ours are others


PHASES = (("package", "racecheck, networks", *SANITIZERS, "shapes", "networks", "engines", "families", "formats"),
          ("alone",))


@dataclasses.dataclass
class Step:
    name: str
    lane: str
    action: Callable
    quick: bool = True  # also with --quick


def judged(done):
    """A program of ours on a GPU: 0 is right, and skipping itself is not."""
    if done.exit_code == 0:
        return OK, done.last_line()
    return FAILED, done.ending()


def check(session, *words, limit_s=240):
    return judged(session.run([session.program("golden_cuda_check"), *words], limit_s))


def requantize(session):
    return judged(session.run([session.program("requantize_device")], 60))


def random_shapes(session):
    """Several processes, each with seeds of its own; each must meet every family of kernels."""
    count = QUICK_SHAPES if session.quick else RANDOM_SHAPES

    def run(process):
        return check(session, "random", "--count", count, "--seed", 1 + process * count, "--paths", PATHS)

    with concurrent.futures.ThreadPoolExecutor(RANDOM_PROCESSES) as pool:
        ends = list(pool.map(run, range(RANDOM_PROCESSES)))
    for result, detail in ends:
        if result != OK:
            return result, detail
    totals = [sum(int(re.match(pattern, detail).group(1)) for _, detail in ends)
              for pattern in (r"(\d+) bytes compared", r".* (\d+) mismatching runs")]
    if totals[0] == 0:
        return FAILED, "no byte was compared"
    return OK, f"{RANDOM_PROCESSES * count:,} graphs, {totals[0]:,} bytes, {totals[1]} mismatches"


def vgg8_images(session):
    batch = session.test_batch()
    if batch is None:
        return session.skip("data")
    return check(session, "network", "--onnx", session.shipped("models/vgg8-cifar10/vgg8-int8.onnx"),
                 "--batch", 500, "--images", batch, "--count", IMAGES)


def network(name):
    def run(session):
        return check(session, "network", "--workload", session.shipped(f"models/networks/{name}.yaml"),
                     "--batch", 8)
    return run


def vgg16(batch):
    def run(session):
        return check(session, "network", "--workload", session.shipped("models/workloads/vgg16.yaml"),
                     "--batch", batch)
    return run


def sanitizer_path():
    return shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")


def sanitizer(tool, words=("golden_cuda_check", *NETWORK_CASES)):
    """compute-sanitizer's `tool` on a few of the cases of a program of ours, which launch every kernel that all of them
    launch.
    """
    def run(session):
        program = sanitizer_path()
        if program is None:
            result, why = session.skip("compute-sanitizer")
            return (result if result == FAILED else NOT_THERE), why
        cover = families.covering_cases(session, words)
        if cover.cases is None:
            return FAILED, f"no cases that cover the kernels; {cover.ending}"
        cases = cover.cases.split(",")
        processes = min(len(cases), RACECHECK_PROCESSES if (tool, words[0]) == ("racecheck", "golden_cuda_check") else 1)

        def part(process):
            return session.run([program, "--tool", tool, "--error-exitcode", SANITIZER_ERROR,
                                session.program(words[0]), *words[1:], "--chosen", ",".join(cases[process::processes])],
                               SANITIZER_LIMIT_S, SANITIZER_ENVIRONMENT.get(tool))

        with concurrent.futures.ThreadPoolExecutor(processes) as pool:
            ends = list(pool.map(part, range(processes)))
        done = next((end for end in ends if end.exit_code != 0), ends[0])
        if "Device not supported" in done.output:
            result, _ = session.skip("compute-sanitizer")
            return (result if result == FAILED else NOT_THERE), "compute-sanitizer: device not supported"
        summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", done.output)
        if not summary or not all("SUMMARY: " in end.output for end in ends):
            return FAILED, "no summary; " + done.ending()
        launched = {number for end in ends
                    for line in re.findall(r"^launched kernels by number:(.*)", end.output, re.MULTILINE)
                    for number in line.split()}
        if done.exit_code == 0 and str(len(launched)) != cover.kernels.split(" ")[0]:
            return FAILED, f"launched {len(launched)} kernels, without the sanitizer {cover.kernels}"
        return (OK if done.exit_code == 0 else FAILED), f"{summary[-1]}; {cover.kernels} kernels"
    return run


def place_rtl_model(session):
    """Gives the bundle's model the name that the rtl engine looks for here; None, or what is wrong."""
    config = session.shipped(f"configs/{CONFIG}.yaml")
    done = session.run([session.program("rtl_model_name"), config], 30)
    if done.exit_code != 0:
        return done.ending()
    to = session.bundle / f"lib/qsim/rtl/{done.output.split()[0]}.so"
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(session.bundle / f"rtl_models/{CONFIG}.so", to)
    return None


def verify(engines, *words):
    """qsim verify against CUDA; each of the engines must have been compared."""
    def run(session):
        trouble = place_rtl_model(session) if "rtl" in engines else None
        if trouble is not None:
            return FAILED, trouble
        path = session.results / f"verify_{'_'.join([*engines, *words])}.json".replace("-", "")
        done = session.run([session.program("qsim"), "verify", "--config", CONFIG, "--golden", "cuda",
                            "--engines", ",".join(engines), *words, "--quiet", "--json", path], 240)
        if done.exit_code != 0:
            return FAILED, done.ending()
        return judge_report(measurements.read_json(path), engines)
    return run


def judge_report(report, engines, golden="cuda"):
    counts = {row["engine"]: (row["values"], row["mismatches"]) for row in report["engines"]}
    text = ", ".join(f"{name}: {values:,} values, {wrong} mismatches"
                     for name, (values, wrong) in counts.items())
    right = (report["golden"] == golden and set(counts) == set(engines) and
             all(values > 0 and wrong == 0 for values, wrong in counts.values()))
    return (OK if right else FAILED), f"golden {report['golden']}; {text}"


def onnxruntime(session):
    words = [sys.executable, "-B", session.bundle / "scripts/ort_agreement.py", "--qsim",
             session.program("qsim"), "--model", session.shipped("models/vgg8-cifar10/vgg8-int8.onnx"),
             "--work", session.results / "ort", "--images", ORT_IMAGES]
    batch = session.test_batch()
    if batch is None and not session.lenient:
        return session.skip("data")
    done = session.run([*words, *([] if batch is None else ["--batch", batch])], 120)
    if re.search(r"No module named '(numpy|onnx|onnxruntime)'", done.output):
        return session.skip("onnxruntime")
    return judged(done)


def planted_fault(session):
    """golden_cuda_check whose kernels round one too high: right when it finds mismatches."""
    done = session.run([session.program("golden_cuda_check_planted"), "random", "--count", 600, "--most-macs",
                        20_000_000, "--paths", PATHS], 120)
    found = re.search(r"^mismatching runs by family:(.*)$", done.output, re.MULTILINE)
    if done.exit_code != sessions.MISMATCH or found is None:
        return FAILED, f"not caught; {done.ending()}"
    wrong = {family: int(count) for family, count in re.findall(r"(\w+) (\d+)", found.group(1))}
    missed = [family for family in PLANTED_FAMILIES
              if not wrong.get(family) and (family != "conv_wgmma" or "  conv_wgmma " in done.output)]
    if missed:
        return FAILED, f"not caught in {', '.join(missed)}; {found.group(1).strip()}"
    return OK, f"caught: {found.group(1).strip()}"


def unit_tests(program, *words):
    """A program of unit tests that need a device: nothing may be skipped."""
    def run(session):
        done = session.run([session.program(program), *words], 60)
        if done.exit_code == 0 and "[  PASSED  ]" in done.output and "[  SKIPPED ]" not in done.output:
            return OK, re.search(r"\[  PASSED  \] (.*)", done.output).group(1)
        return FAILED, done.ending()
    return run


def command_line(session):
    """Which golden qsim takes, and that both give the same file."""
    folder = session.results / "command_line"
    shutil.rmtree(folder, ignore_errors=True)  # of a run before
    folder.mkdir()

    def qsim(*words, environment=None):
        return session.run([session.program("qsim"), *words], 120, environment)

    def report(name, *words):
        done = qsim(*words, "--quiet", "--json", folder / name)
        if done.exit_code != 0:
            raise RuntimeError(f"qsim {' '.join(map(str, words))}: {done.ending()}")
        return measurements.read_json(folder / name)

    golden = report("run.json", "--model", "conv_odd")["verify"]["golden"]
    if golden != "cuda":
        return FAILED, f"qsim run took golden {golden} beside a GPU"
    both = report("verify.json", "verify", "--seeds", 50, "--config", "pe4x4", "--golden", "cpu,cuda")
    names = [row["engine"] for row in both["engines"]]
    result, detail = judge_report(both, names, "cpu,cuda")
    if result != OK or "golden cuda against cpu" not in names:
        return FAILED, detail
    for backend in ("cuda", "cpu"):
        took = report(f"{backend}.json", "golden", "run", "--model", "vgg8", "--images", 37, "--batch", 16,
                      "--out", folder / backend, "--backend", backend)["backend"]
        if took != backend:
            return FAILED, f"golden run --backend {backend} took {took}"
    files = [(folder / backend / "output.npy").read_bytes() for backend in ("cuda", "cpu")]
    if files[0] != files[1] or not files[0]:
        return FAILED, "golden run: output.npy of cuda and cpu differ"
    hidden = qsim("golden", "run", "--backend", "cuda", environment={"CUDA_VISIBLE_DEVICES": "99"})
    if hidden.exit_code != 3:
        return FAILED, f"a device that is not there: {hidden.ending()}"
    return OK, f"qsim run: cuda; cpu,cuda agree; {len(files[0]):,} bytes of output.npy equal; refused without"


STEPS = (
    Step("Python package", "package", families.python_package),
    *(Step(f"compute-sanitizer {tool}, {title}", tool, sanitizer(tool, words), quick=tool == "memcheck")
      for title, words in families.SANITIZED for tool in SANITIZERS),
    *(Step(f"compute-sanitizer {tool}", "racecheck, networks" if tool == "racecheck" else tool, sanitizer(tool),
           quick=tool == "memcheck") for tool in SANITIZERS),
    Step("every kernel has a case", "formats",
         families.every_kernel((*(words for _, words in families.SANITIZED), ("golden_cuda_check", *NETWORK_CASES)))),
    Step("requantize on the device", "shapes", requantize),
    Step("random shapes", "shapes", random_shapes),
    Step("VGG-8, 3,000 pictures", "networks", vgg8_images),
    Step("VGG-16, batch 1", "networks", vgg16(1)),
    Step("VGG-16, batch 32", "networks", vgg16(32)),
    Step("VGG-16, batch 256", "networks", vgg16(256), quick=False),
    *(Step(f"{name}, batch 8", "networks", network(name)) for name in NETWORKS),
    Step("RTL and SystemC, VGG-8", "engines", verify(("systemc", "rtl"))),
    Step("SystemC, VGG-16", "engines", verify(("systemc",), "--model", "vgg16")),
    Step("ONNX Runtime", "engines", onnxruntime),
    Step("planted off-by-one", "shapes", planted_fault),
    Step("refusals", "shapes", unit_tests("golden_cuda_executor_refusal_test",
                                          "--gtest_filter=-*WithoutAUsableDevice*")),
    Step("float networks, refusals", "families", unit_tests("golden_real_cuda_refusals_test",
                                                            "--gtest_filter=-*WithoutAUsableDevice*")),
    Step("linear layers, zero points", "families", unit_tests("golden_linear_cuda_zero_points_test")),
    Step("command line", "engines", command_line),
    Step("eval, cuda against cpu", "engines", accuracy.agreement),
    *(Step(f"{family.title}, random", "families", families.random_cases(family)) for family in families.FAMILIES),
    *(Step(f"{family.title}, planted fault", "families", families.planted(family))
      for family in families.FAMILIES),
    Step("binary convolution, trained network", "families", families.trained_binary_network),
    *(Step(title, "formats", families.comparison(words)) for title, words in families.COMPARISONS),
    *(Step(f"{family.title}, times", "alone", families.times(family), quick=False) for family in families.FAMILIES),
    *(Step(f"{title}, times", "alone", families.comparison((program, "bench")), quick=False)
      for title, program in families.TRAINING),
    Step("eval, 10,000 pictures", "alone", accuracy.speed, quick=False),
    *(Step(name, "alone", action, quick=False) for name, action in measurements.STEPS),
)
