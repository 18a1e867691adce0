#!/usr/bin/env python3
"""No width of the command table is written down a second time in the RTL: with every count, address,
stride and origin of the table one bit wider, the RTL is made anew by the generator, and Verilator's
lint, which tells of any two widths that differ, has nothing to say.
usage: isa_widths_test.py REPOSITORY_ROOT COMPILER
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# What is as wide as it is for another reason: the DRAM's 4 GiB, int8 values, and single flags.
FIXED = {"opcode", "wait_mask", "signal_mask", "dram_addr", "pad_value", "zero_point", "lo", "hi",
         "acc_half", "accumulate", "add", "lookup", "param_slot", "second_half"}
ROW = re.compile(r"\b([US])\((\w+), (\d+), ")
PRINTS = '#include <iostream>\n#include "tools/gen/pages.h"\nint main() { std::cout << qsim::gen::rtl_package(); }\n'


def run(*command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False)
    if ran.returncode != 0 or (ran.stdout and "lint.sh" in str(command[0])):
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{ran.stdout[-6000:]}")


def wider(table):
    def row(match):
        kind, name, bits = match.groups()
        return f"{kind}({name}, {int(bits) + (name not in FIXED)}, "
    return ROW.sub(row, table)


def package(root, include, work, compiler):
    """The text of qsim_pkg.sv; headers in `include` come before the repository's."""
    (work / "print.cpp").write_text(PRINTS)
    run(compiler, "-std=c++20", "-O0", f"-I{include}", f"-I{root}", "-o", work / "print",
        work / "print.cpp", root / "tools/gen/rtl_package.cpp", root / "core/machine/isa/command_codec.cpp",
        root / "core/base/error.cpp", root / "core/base/printable.cpp")
    return subprocess.run([work / "print"], stdout=subprocess.PIPE, text=True, check=True).stdout


def main():
    root, compiler = Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        include, rtl = work / "include", work / "rtl"
        table = (root / "core/machine/isa/command_table.h").read_text()
        changed = wider(table)
        widened = sum(a != b for a, b in zip(ROW.findall(table), ROW.findall(changed)))
        if widened < 40:
            sys.exit(f"FAILED: only {widened} fields of the table are wider")
        (include / "core/machine/isa").mkdir(parents=True)
        (include / "core/machine/isa/command_table.h").write_text(changed)
        # Headers beside each other are found first there, so all of the folder is copied.
        for header in (root / "core/machine/isa").glob("*.h"):
            if header.name != "command_table.h":
                shutil.copy2(header, include / "core/machine/isa")
        for part in ("src", "assertions", "lint"):
            shutil.copytree(root / "rtl" / part, rtl / part)
        generated = rtl / "src/qsim_pkg.sv"
        if package(root, root, work, compiler) != generated.read_text():
            sys.exit("FAILED: rtl/src/qsim_pkg.sv is not what the table says")
        generated.write_text(package(root, include, work, compiler))
        run(rtl / "lint/lint.sh")
        print(f"{widened} fields a bit wider: the RTL follows")


if __name__ == "__main__":
    main()
