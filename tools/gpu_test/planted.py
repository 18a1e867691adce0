"""Checks of CUDA kernels with a fault in what the kernels compute, on the device alone.

A fault is one token of a header, in a copy that only device code sees; the golden CPU stays as it is. The
product's sources have no switch for it.
"""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil

import linking

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Fault:
    check: str    # the program that must find it
    kernels: str  # the folder of the kernels that are compiled with it
    library: str  # theirs, in the build folder
    header: str
    right: str
    wrong: str
    host_too: bool = False  # the header is also compiled for the host, where it stays right


FAULTS = (
    Fault("golden_cuda_check", "golden/graph/cuda/kernels/", "golden/graph/cuda/libqsim_golden_cuda.a", "core/numerics/requantize.h",
          "return half - 1 + ((t >> shift) & 1);", "return half + ((t >> shift) & 1);", host_too=True),
    Fault("golden_binary_cuda_check", "golden/kernels/binary/cuda/", "golden/kernels/binary/cuda/libqsim_golden_binary_cuda.a",
          "golden/kernels/binary/cuda/kernels/finish_binary.cuh", "__fmaf_rn(alpha, value, sums[h][k])",
          "__fmaf_rn(alpha, value + 1, sums[h][k])"),
    Fault("golden_int8_linear_cuda_check", "golden/kernels/linear/cuda/", "golden/kernels/linear/cuda/libqsim_golden_linear_cuda.a",
          "golden/kernels/linear/cuda/int8_values.cuh", "scaled_sum(sum, weight_scale, row_scale)",
          "scaled_sum(sum + 1, weight_scale, row_scale)"),
    # Its kernels have no integer sum in common: the fault is in the FP32 result, one unit of BF16 too high.
    Fault("golden_linear_cuda_check", "golden/kernels/linear/cuda/", "golden/kernels/linear/cuda/libqsim_golden_linear_cuda.a",
          "golden/kernels/linear/cuda/linear_values.cuh", "const std::uint32_t bits = canonical(result);",
          "const std::uint32_t bits = canonical(result) + 0x10000;"),
    # Each number that a layer computes, one unit in the last place off.
    Fault("golden_real_cuda_check", "golden/graph/real/cuda/", "golden/graph/real/cuda/libqsim_golden_real_cuda.a",
          "golden/graph/real/cuda/kernels/float_arithmetic.cuh",
          "return value == value ? value : __uint_as_float(kFp32Nan);",
          "return value == value ? __uint_as_float(__float_as_uint(value) + 1) : __uint_as_float(kFp32Nan);"),
    Fault("golden_convert_cuda_check", "golden/kernels/convert/cuda/", "golden/kernels/convert/cuda/libqsim_golden_convert_cuda.a",
          "golden/kernels/convert/cuda/encode.cuh", ': "=f"(first), "=f"(second)', ': "=f"(second), "=f"(first)'),
)


def write_planted_header(fault, folder):
    text = (ROOT / fault.header).read_text()
    if text.count(fault.right) != 1:
        raise RuntimeError(f"{fault.header} does not have '{fault.right}' once; tools/gpu_test/planted.py plants there")
    wrong = fault.wrong
    if fault.host_too:
        wrong = f"\n#if defined(__CUDA_ARCH__)\n{fault.wrong}\n#else\n{fault.right}\n#endif\n"
        # The header's own checks would refuse the fault.
        text = re.sub(r"^static_assert\(.*?\);\n", "", text, flags=re.MULTILINE | re.DOTALL)
    path = folder / fault.header
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(fault.right, wrong))


def compile_object(row, folder):
    """A kernel's object by the build's command, with the planted header found first."""
    # What the build keeps beside its objects is not this one's.
    words = [word for word in shlex.split(row["command"]) if not word.startswith("--keep")]
    at = words.index("-o") + 1
    output = folder / pathlib.Path(words[at]).name
    words[at] = str(output)
    for flag in ("-MF", "-MT"):
        if flag in words:
            words[words.index(flag) + 1] = str(output) + ".d"
    # Compressed, since the folder is carried.
    linking.run([words[0], "-I", str(folder), *words[1:], "--compress-mode=size"], cwd=row["directory"])
    return output


def build_planted(build, fault, folder, output):
    """Compiles the kernels anew in `folder` (minutes), and links the check with them."""
    build = pathlib.Path(build).resolve()
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    write_planted_header(fault, folder)
    rows = [row for row in json.loads((build / "compile_commands.json").read_text())
            if row["file"].startswith(str(ROOT / fault.kernels)) and row["file"].endswith(".cu")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda row: compile_object(row, folder), rows))
    sound = build / fault.library
    library = folder / sound.name
    shutil.copyfile(sound, library)
    members = set(linking.run(["ar", "t", library]).split())
    if not objects or not {o.name for o in objects} <= members:
        raise RuntimeError(f"{[o.name for o in objects]} are not the kernels of {sound}: {members}")
    linking.run(["ar", "r", library, *objects])
    if fault.library not in linking.link_command(build, fault.check):
        raise RuntimeError(f"{fault.check} is not linked with {fault.library}")
    linking.link_again(build, fault.check, output, {fault.library: str(library)})
