"""golden_cuda_check with a fault: the kernels round one too high, on the device alone.

The fault is one token of core/requantize.h, in a copy that only device code sees; the golden CPU stays
as it is. The product's sources have no switch for it.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil

import linking

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "core/requantize.h"
RIGHT = "return half - 1 + ((t >> shift) & 1);"
WRONG = "return half + ((t >> shift) & 1);"


def write_planted_header(folder):
    text = (ROOT / HEADER).read_text()
    if text.count(RIGHT) != 1:
        raise RuntimeError(f"{HEADER} does not have '{RIGHT}' once; tools/gpu_test/planted.py plants there")
    both = f"\n#if defined(__CUDA_ARCH__)\n{WRONG}\n#else\n{RIGHT}\n#endif\n"
    # The header's own checks would refuse the fault.
    text = re.sub(r"^static_assert\(.*?\);\n", "", text, flags=re.MULTILINE | re.DOTALL)
    path = folder / HEADER
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(RIGHT, both))


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


def build_planted(build, folder, output):
    """Compiles every kernel anew in `folder` (minutes), and links golden_cuda_check with them."""
    build = pathlib.Path(build).resolve()
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    write_planted_header(folder)
    rows = [row for row in json.loads((build / "compile_commands.json").read_text())
            if row["file"].startswith(str(ROOT / "golden/cuda/")) and row["file"].endswith(".cu")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda row: compile_object(row, folder), rows))
    sound = build / "golden/cuda/libqsim_golden_cuda.a"
    library = folder / sound.name
    shutil.copyfile(sound, library)
    members = set(linking.run(["ar", "t", library]).split())
    if not objects or not {o.name for o in objects} <= members:
        raise RuntimeError(f"{[o.name for o in objects]} are not the kernels of {sound}: {members}")
    linking.run(["ar", "r", library, *objects])
    name = str(sound.relative_to(build))
    if name not in linking.link_command(build, "golden_cuda_check"):
        raise RuntimeError(f"golden_cuda_check is not linked with {name}")
    linking.link_again(build, "golden_cuda_check", output, {name: str(library)})
