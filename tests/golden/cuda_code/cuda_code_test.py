#!/usr/bin/env python3
"""What nvcc makes of the CUDA golden's kernels: tensor-core instructions, no local memory, no early loads. No GPU needed.

usage: cuda_code_test.py CASE BUILD_DIR [KERNEL]
  opcodes           the table of operations in cubin.py is right for this nvcc (probes.cu)
  kernel KERNEL     golden/graph/cuda/kernels/KERNEL.cu has its instructions in PTX and machine code
  planted KERNEL    the same without its tensor-core instruction is refused; after `kernel KERNEL`,
                    whose PTX it takes
  waits             no kernel of golden/kernels/train/cuda loads from global memory before it waits for the kernel before
What nvcc made of the kernels is where the build has kept it (golden/graph/cuda/CMakeLists.txt). If it has
not, they are compiled by the commands of BUILD_DIR/compile_commands.json into BUILD_DIR/cuda_code.
"""
import collections
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import cubin

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = ("80", "90a")

MMA = (r"mma\.sync\.aligned\.m16n8k32\.row\.col\.s32\.[su]8\.[su]8\.s32", "IMMA")
WGMMA = (r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k32\.s32\.[su]8\.s8", "IGMMA")
BULK_COPY = (r"cp\.async\.bulk\.tensor\.\dd\.shared::cluster\.global", "UTMALDG")
# Kernel -> what it must have, and for which targets. The first is its tensor-core instruction.
EXPECTED = {
    "conv_mma": ((MMA,), TARGETS),
    "conv_first": ((MMA,), TARGETS),
    "linear_stream": ((MMA,), TARGETS),
    **{f"conv_wgmma_{kind}": ((WGMMA, BULK_COPY), ("90a",))
       for kind in ("plain", "scale", "shift", "split", "sum")},
}


# Kernels of the training calls: all that the build keeps, else these.
TRAINING = ("golden/kernels/train/cuda/forward/conv_real", "golden/kernels/train/cuda/forward/observe")
LOADS = ("LDG", "LD", "LDGSTS", "UTMALDG")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}\nexit {done.returncode}:\n{done.stdout}")


def compile_commands(build):
    return json.loads((build / "compile_commands.json").read_text())


def row_of(build, kernel):
    """The build's command for a kernel's source, and the folder that it runs in."""
    ending = f"{kernel}.cu" if "/" in kernel else f"golden/graph/cuda/kernels/{kernel}.cu"
    rows = [row for row in compile_commands(build) if row["file"].endswith(ending)]
    if not rows:
        sys.exit(f"{build}/compile_commands.json has no command for {ending}")
    return shlex.split(rows[0]["command"]), rows[0]["directory"]


def command_of(build, kernel, targets):
    """The command without outputs and other targets; and its folder."""
    others = [f"--generate-code=arch=compute_{t}," for t in ("80", "90", "90a") if t not in targets]
    command, folder = row_of(build, kernel)
    words = iter(command)
    kept = []
    for word in words:
        if word in ("-o", "-MT", "-MF"):
            next(words)
        elif word != "-MD" and not word.startswith(tuple(others)):
            kept.append(word)
    return kept, folder


def compile_kept(command, folder, cwd=None):
    """Compiles and leaves PTX and cubins in `folder`, as one_file() finds them."""
    run([*command, "--keep", "--keep-dir", str(folder), "-o", str(folder / "object.o")], cwd=cwd)


def one_file(folder, name, target, kind):
    """nvcc names NAME.compute_80.ptx where it compiles for several targets, NAME.compute_80.sm_80.cubin where it keeps
    the PTX of one too, and NAME.ptx for one target.
    """
    names = (f"{name}.compute_{target}.sm_{target}.{kind}", f"{name}.compute_{target}.{kind}", f"{name}.{kind}")
    return next((folder / each for each in names if (folder / each).exists()), folder / names[-1])


def counts_of(machine_code):
    """(mangled name, how often each operation occurs) of each kernel of a cubin."""
    return [(name, collections.Counter(found)) for name, found in cubin.kernels(machine_code).items()]


def complaints(ptx, machine_code, wanted):
    """What is wrong with a kernel's PTX (text) and machine code (a cubin's path)."""
    found = [f"PTX has no {pattern}" for pattern, _ in wanted if not re.search(pattern, ptx)]
    for name, counts in counts_of(machine_code):
        found += [f"{name} has no {operation}" for _, operation in wanted if not counts[operation]]
        local = counts["STL"] + counts["LDL"]
        if local:
            found.append(f"{name} has {local} accesses to local memory")
    return found


def report(machine_code, target):
    for name, counts in counts_of(machine_code):
        shown = {key: count for key, count in sorted(counts.items(), key=str) if key in cubin.OPERATIONS}
        print(f"sm_{target} {name}: {sum(counts.values())} instructions, {shown}")


def kept_by_build(build, kernel):
    """Where the build keeps what nvcc makes of the kernel, beside the object; None if it does not."""
    option = "--keep-dir="
    folders = [word[len(option):] for word in row_of(build, kernel)[0] if word.startswith(option)]
    return pathlib.Path(folders[0]) if folders else None


def kept_folder(build, kernel):
    """Where `planted KERNEL` finds what nvcc made."""
    return kept_by_build(build, kernel) or build.resolve() / "cuda_code" / kernel


def case_kernel(build, kernel, _):
    wanted, targets = EXPECTED[kernel]
    folder = kept_folder(build, kernel)
    if not kept_by_build(build, kernel):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command, cwd = command_of(build, kernel, targets)
        compile_kept(command, folder, cwd)
    found = []
    for target in targets:
        machine_code = one_file(folder, kernel, target, "cubin")
        report(machine_code, target)
        ptx = one_file(folder, kernel, target, "ptx").read_text()
        found += [f"sm_{target}: {text}" for text in complaints(ptx, machine_code, wanted)]
    return found


def assemble(ptx, target, folder):
    """ptxas on PTX text; returns the cubin's path."""
    source, output = folder / "planted.ptx", folder / "planted.cubin"
    source.write_text(ptx)
    run(["ptxas", f"-arch=sm_{target}", "-o", str(output), str(source)])
    return output


def first_kernel(ptx):
    """PTX text with the first of its kernels alone: to assemble all of them takes long."""
    begins = [found.start() for found in re.finditer(r"(?m)^(?:\.\w+ )*\.entry ", ptx)]
    return ptx[:begins[1]] if len(begins) > 1 else ptx


def case_planted(build, kernel, folder):
    wanted, targets = EXPECTED[kernel]
    target = targets[-1]
    pattern, operation = wanted[0]
    ptx = first_kernel(one_file(kept_folder(build, kernel), kernel, target, "ptx").read_text())
    without, removed = re.subn(rf"(@!?[%\w]+\s+)?{pattern}[^;]*;", "", ptx)
    print(f"{removed} instructions taken out of the PTX")
    found = complaints(without, assemble(without, target, folder), wanted)
    wrong = []
    if removed == 0:
        wrong.append("there was nothing to take out")
    for text in (f"PTX has no {pattern}", f"has no {operation}"):
        if not any(text in complaint for complaint in found):
            wrong.append(f"nobody complained '{text}'")
    return wrong


def early_loads(machine_code):
    """What is wrong with kernels of programmatic dependent launch: the memory is not written yet before they wait."""
    found = []
    for name, operations in cubin.kernels(machine_code).items():
        if "ACQBULK" not in operations:
            found.append(f"{name} does not wait for the kernel before it")
            continue
        before = operations[:operations.index("ACQBULK")]
        found += [f"{name} has {load} before it waits for the kernel before it" for load in LOADS if load in before]
    return found


def case_waits(build, _, folder):
    kept = kept_by_build(build, TRAINING[0])
    if kept:
        files = sorted(kept.parent.rglob("*.compute_90a.cubin"))
    else:  # a launcher (ccache) keeps objects alone
        for kernel in TRAINING:
            command, cwd = command_of(build, kernel, ("90a",))
            compile_kept(command, folder, cwd)
        files = sorted(folder.glob("*.cubin"))
    print(f"{len(files)} files, {sum(len(cubin.kernels(file)) for file in files)} kernels")
    found = [f"{file.name}: {text}" for file in files for text in early_loads(file)]
    return found + ([] if len(files) >= len(TRAINING) else ["there are not all files"])


# Probe without, probe with, the operation that only the second has, targets.
PROBES = (
    ("probe_immaILb0E", "probe_immaILb1E", "IMMA", TARGETS),
    ("probe_igmmaILb0E", "probe_igmmaILb1E", "IGMMA", ("90a",)),
    ("probe_utmaldgILi0E", "probe_utmaldgILi1E", "UTMALDG", ("90a",)),
    ("probe_utmaldgILi0E", "probe_utmaldgILi2E", "UTMALDG", ("90a",)),
    ("probe_spillILi1E", "probe_spillILi2E", "STL", TARGETS),
    ("probe_spillILi1E", "probe_spillILi2E", "LDL", TARGETS),
    ("probe_waitILi0E", "probe_waitILi1E", "LDG", ("90a",)),
    ("probe_waitILi0E", "probe_waitILi1E", "ACQBULK", ("90a",)),
)


def case_opcodes(build, _, folder):
    nvcc = next((shlex.split(row["command"])[0] for row in compile_commands(build)
                 if row["file"].endswith(".cu")), "nvcc")
    targets = [f"-gencode=arch=compute_{target},code=sm_{target}" for target in TARGETS]
    compile_kept([nvcc, "-std=c++20", "-O3", *targets, "-c", str(HERE / "probes.cu")], folder)
    wrong = []
    for without, having, operation, of in PROBES:
        for target in of:
            counts = dict(counts_of(one_file(folder, "probes", target, "cubin")))
            (less,) = (count for name, count in counts.items() if without in name)
            (more,) = (count for name, count in counts.items() if having in name)
            print(f"sm_{target} {operation}: {less[operation]} in {without}, {more[operation]} in {having}")
            if less[operation] != 0 or more[operation] == 0:
                wrong.append(f"sm_{target}: {operation} does not tell {without} from {having}")
    early = [text for text in early_loads(one_file(folder, "probes", "90a", "cubin")) if "probe_wait" in text]
    print(early)
    if len(early) != 2 or not any("ILi2E" in text and "LDG" in text for text in early):
        wrong.append("nobody complained of a load before a wait, or of what waits first")
    spilling = complaints("", one_file(folder, "probes", TARGETS[0], "cubin"), ())
    print(spilling)
    if len(spilling) != 1 or "probe_spillILi2E" not in spilling[0]:
        wrong.append("nobody complained of spills, or of what does not spill")
    return wrong


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("opcodes", "kernel", "planted", "waits"):
        sys.exit(__doc__)
    case, build, kernel = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] or [None])[0]
    with tempfile.TemporaryDirectory() as folder:
        found = globals()[f"case_{case}"](build, kernel, pathlib.Path(folder))
    for text in found:
        print(f"FAILED: {text}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
