"""The one list of benchmarks that run.py knows. Each is one or more commands that print figures, JSON a
line, on stdout; a figure's name begins with the benchmark's."""
import importlib.util
import pathlib
import platform
import shutil
import sys
from dataclasses import dataclass
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHIPPED_NETWORKS = [ROOT / f"models/networks/{name}.yaml" for name in ("resnet18", "resnet50", "mobilenet_v2")]
NETWORKS = [ROOT / f"models/workloads/{name}.yaml" for name in ("vgg8", "vgg16")]


def config(name):
    return ROOT / f"configs/{name}.yaml"


@dataclass(frozen=True)
class Bench:
    name: str
    what: str
    quiet_seconds: int  # what it takes on a quiet machine, to tell the user
    commands: Callable  # build folder -> list of commands
    why_not: Callable = lambda build: ""  # build folder -> why it cannot run here; empty if it can


def python(script, *arguments):
    # -B: nothing is written beside the sources.
    return [sys.executable, "-B", ROOT / "bench" / script, *arguments]


def no_known_limit(_build):
    return "" if platform.machine() == "x86_64" else "no limit is known of this processor's instructions"


def no_verilator(_build):
    missing = [tool for tool in ("verilator", "clang++") if not shutil.which(tool)]
    return "no " + " and no ".join(missing) if missing else ""


def no_onnxruntime(build):
    if not (build / "ort/installed.sha256").is_file():
        return "no ONNX Runtime (tools/ort/install.sh)"
    if not (build / "bin/golden_export_onnx").is_file():
        return "built without tests, which have the ONNX writer"
    return ""


def no_pytorch(_build):
    missing = [module for module in ("torch", "PIL") if importlib.util.find_spec(module) is None]
    return f"{sys.executable} has no {' and no '.join(missing)}" if missing else no_known_limit(_build)


def no_counter(_build):
    sys.path.insert(0, str(ROOT / "bench/instructions"))
    import counter  # pylint: disable=import-outside-toplevel
    return "" if counter.find() else "neither perf with hardware counters nor valgrind"


BENCHES = (
    Bench("array_kernel", "the SystemC engine's EXECUTE kernel, by array and vector path", 5,
          lambda build: [[build / "bin/systemc_array_kernel_bench", "--figures"]]),
    Bench("systemc", "the SystemC engine on whole networks, pe16x16, one thread", 2,
          lambda build: [[build / "bin/systemc_network_bench", "--figures", config("pe16x16"), *NETWORKS]]),
    Bench("recurrence", "times by recurrence beside the SystemC engine without data, pe16x16, one thread", 1,
          lambda build: [[build / "bin/recurrence_bench", "--figures", config("pe16x16"), *NETWORKS]]),
    Bench("mapper", "the mapper's fast search on every distinct layer, pe16x16, one thread", 1,
          lambda build: [[build / "bin/mapper_bench", "--figures", config("pe16x16"), *NETWORKS]]),
    Bench("process", "the qsim process from start to end: wall time and peak memory", 11,
          lambda build: [python("whole_process/processes.py", build)]),
    Bench("golden_cpu", "the golden on the CPU, one thread", 1,
          lambda build: [[build / "bin/golden_cpu_bench", "--figures", network] for network in NETWORKS]),
    Bench("golden_binary", "binary convolution on the CPU by instruction set, and over the popcount limit, one thread", 4,
          lambda build: [[build / "bin/golden_binary_bench", "--figures"]]),
    Bench("golden_convert", "group conversions on the CPU by instruction set, over a copy of as many bytes, one thread", 30,
          lambda build: [[build / "bin/golden_convert_bench", "--figures"]]),
    Bench("limits", "simulation and golden, by vector path, beside the least that this machine needs for their work",
          20, lambda build: [[build / "bin/limits_bench", "--figures", config("pe16x16"), *NETWORKS]], no_known_limit),
    Bench("simulate_over_golden", "simulation and golden of networks with branches in turn, pe16x16_dyadic, one thread each",
          30, lambda build: [[build / "bin/simulate_over_golden_bench", "--figures", config("pe16x16_dyadic"),
                              *SHIPPED_NETWORKS]], no_known_limit),
    Bench("eval", "qsim eval of 3,000 pictures with golden, float and fake, two threads", 100,
          lambda build: [python("eval/eval.py", build)]),
    Bench("golden_vs_ort", "the golden and ONNX Runtime in turn, one thread each", 18,
          lambda build: [python("golden_vs_ort/compare.py", build / "bin", build / "ort", *NETWORKS)],
          no_onnxruntime),
    Bench("training", "training on the CPU: a layer and a step of VGG-8, and PyTorch's float layers in turn, one thread", 30,
          lambda build: [python("train/cpu.py", "--build", build, "--figures")], no_pytorch),
    Bench("rtl", "the Verilated RTL on VGG-8, one thread", 10,
          lambda build: [[build / "bin/rtl_engine_bench", "--figures", NETWORKS[0],
                          *map(config, ("pe8x8", "pe16x16", "pe32x32"))]], no_verilator),
    Bench("instructions", "user instructions of whole processes", 70,
          lambda build: [python("instructions/instructions.py", build)], no_counter),
    Bench("cost_growth", "time and memory against MACs, commands and array size", 150,
          lambda build: [python("cost_growth/measure.py", build)]),
)
NAMES = tuple(bench.name for bench in BENCHES)
