"""The steps of gpu-test. A step is a function of the session that returns (result, detail).

Steps of one lane run one after the other, the lanes of a phase side by side, the phases one after the
other: first what must hold, what has failed most often first in its lane, then, alone, where time is measured.
A GPU gives its time to one process at a time, and changing between them costs more than they save: four programs of
300 random layers took 10.7 s beside each other, one of 600 took 2.8 s (H200). So one lane has the programs that
keep the GPU busy, the other those that wait for the processor.
"""
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
RANDOM_SHAPES = 700
QUICK_SHAPES = 400
IMAGES = 3000  # records of the test batch
ORT_IMAGES = 256
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
NETWORK_CASES = ("golden_cuda_check", "random", "--every-kernel", "--count", 400, "--most-macs", 1_000_000)
SANITIZER_LIMIT_S = 300  # racecheck follows every access to shared memory
# Without it every buffer is written before a kernel runs, and nothing is left to find.
SANITIZER_ENVIRONMENT = {"initcheck": {"QSIM_CUDA_POISON": "0"}}
PATHS = "auto,hopper,portable,direct"
NETWORKS = ("resnet50", "resnet18", "mobilenet_v2", "squeezenet1_1")
PLANTED_FAMILIES = ("conv_first", "conv_mma", "conv_wgmma", "linear_stream")
SANITIZER_ERROR = 9  # compute-sanitizer's exit code for a finding; ours are others


PHASES = (("gpu", "processor"), ("alone",))


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
    """Must meet every family of kernels."""
    count = QUICK_SHAPES if session.quick else RANDOM_SHAPES
    result, detail = check(session, "random", "--count", count, "--paths", PATHS)
    if result != OK:
        return result, detail
    compared, wrong = (int(re.match(pattern, detail).group(1))
                       for pattern in (r"(\d+) bytes compared", r".* (\d+) mismatching runs"))
    if compared == 0:
        return FAILED, "no byte was compared"
    return OK, f"{count:,} graphs, {compared:,} bytes, {wrong} mismatches"


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


def sanitizer(tool, words):
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
            return FAILED, f"no cases that cover the kernels; {cover.done.ending()}"
        done = session.run([program, "--tool", tool, "--error-exitcode", SANITIZER_ERROR, session.program(words[0]),
                            *words[1:], "--chosen", cover.cases], SANITIZER_LIMIT_S, SANITIZER_ENVIRONMENT.get(tool))
        if "Device not supported" in done.output:
            result, _ = session.skip("compute-sanitizer")
            return (result if result == FAILED else NOT_THERE), "compute-sanitizer: device not supported"
        summary = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: .*", done.output)
        if not summary:
            return FAILED, "no summary; " + done.ending()
        launched = re.search(r"^launched kernels by number:(.*)", done.output, re.MULTILINE)
        launched = len(launched.group(1).split()) if launched else 0
        if done.exit_code == 0 and str(launched) != cover.kernels.split(" ")[0]:
            return FAILED, f"launched {launched} kernels, without the sanitizer {cover.kernels}"
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


def sanitizers(title, words, lane):
    name = f", {title}" if title else ""
    return (Step(f"compute-sanitizer {tool}{name}", lane, sanitizer(tool, words), quick=tool == "memcheck")
            for tool in SANITIZERS)


STEPS = (
    Step("requantize on the device", "gpu", requantize),
    Step("random shapes", "gpu", random_shapes),
    *sanitizers("", NETWORK_CASES, "gpu"),
    *(step for family in families.FAMILIES
      for step in (Step(f"{family.title}, random", "gpu", families.random_cases(family)),
                   *sanitizers(family.title, family.covering_words(), "gpu"))),
    Step("planted off-by-one", "gpu", planted_fault),
    *(Step(f"{family.title}, planted fault", "gpu", families.planted(family)) for family in families.FAMILIES),
    Step("VGG-8, 3,000 pictures", "gpu", vgg8_images),
    Step("VGG-16, batch 1", "gpu", vgg16(1)),
    Step("VGG-16, batch 32", "gpu", vgg16(32)),
    Step("VGG-16, batch 256", "gpu", vgg16(256), quick=False),
    *(Step(f"{name}, batch 8", "gpu", network(name)) for name in NETWORKS),
    Step("conversions, every input", "gpu", families.comparison(("golden_convert_cuda_check", "every_input"))),
    Step("conversions, large", "gpu", families.comparison(("golden_convert_cuda_check", "large"))),
    Step("binary convolution, trained network", "gpu", families.trained_binary_network),
    Step("refusals", "gpu", unit_tests("golden_cuda_executor_refusal_test", "--gtest_filter=-*WithoutAUsableDevice*")),
    Step("float networks, refusals", "gpu", unit_tests("golden_real_cuda_refusals_test",
                                                       "--gtest_filter=-*WithoutAUsableDevice*")),
    Step("linear layers, zero points", "gpu", unit_tests("golden_linear_cuda_zero_points_test")),
    *(step for title, words in families.TRAINING
      for step in (Step(title, "processor", families.training(words)), *sanitizers(title, words, "processor"))),
    Step("Python package", "processor", families.python_package),
    Step("RTL and SystemC, VGG-8", "processor", verify(("systemc", "rtl"))),
    Step("SystemC, VGG-16", "processor", verify(("systemc",), "--model", "vgg16")),
    Step("ONNX Runtime", "processor", onnxruntime),
    Step("command line", "processor", command_line),
    Step("eval, cuda against cpu", "processor", accuracy.agreement),
    Step("every kernel has a case", "processor", families.every_kernel((*families.COVERING, NETWORK_CASES))),
    *(Step(f"{family.title}, times", "alone", families.times(family), quick=False) for family in families.FAMILIES),
    *(Step(f"{title}, times", "alone", families.comparison((words[0], "bench")), quick=False)
      for title, words in families.TRAINING),
    Step("eval, 10,000 pictures", "alone", accuracy.speed, quick=False),
    *(Step(name, "alone", action, quick=False) for name, action in measurements.STEPS),
)
