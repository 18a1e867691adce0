#!/usr/bin/env python3
"""Proves with Yosys what equivalent.md marks as 'Proven by Yosys': that the module with the fault is, for
every input and state, register for register, the one without. A fault that does matter is refuted
first, so that a proof means something. Exit codes: 0; 1 where a proof fails; 77 without yosys (1 when
QSIM_REQUIRE lists verilator).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RTL = Path(__file__).resolve().parent.parent
NEEDS = {"qsim_burst_walker.sv": ["qsim_pkg.sv", "qsim_burst_splitter.sv"]}
PARAMETERS = {"qsim_systolic_array.sv": "-chparam Rows 4 -chparam Cols 4"}
REFUTED = ("qsim_burst_walker.sv", "beats_q <= beats;", "beats_q <= next_beats;")

READ = """read_verilog -sv {files}; hierarchy -check -top {top} {parameters}
proc; memory -nomap; memory_map; flatten; opt -full; rename -top {name}; design -stash {name}
"""
COMPARE = """design -copy-from right -as right right; design -copy-from wrong -as wrong wrong
equiv_make right wrong both; hierarchy -top both; async2sync; opt -full
equiv_struct; equiv_simple -undef; equiv_induct -undef; equiv_status -assert
"""


def marked():
    text = (RTL / "mutation/equivalent.md").read_text()
    entries = re.findall(r"^### `(\S+)`: `(.*)` -> `(.*)`\n((?:(?!#).*\n?)*)", text, re.M)
    return [entry[:3] for entry in entries if "Proven by Yosys" in entry[3]]


def with_fault(text, before, after):
    """The line `before`, which the source has once, becomes `after`."""
    lines = text.splitlines()
    found = [i for i, line in enumerate(lines) if " ".join(line.split()) == before]
    if len(found) != 1:
        raise SystemExit(f"equivalent.md: '{before}' is there {len(found)} times, not once")
    lines[found[0]] = after
    return "\n".join(lines) + "\n"


def is_equivalent(file, before, after):
    source = RTL / "src" / file
    with tempfile.TemporaryDirectory() as folder:
        faulty, script = Path(folder) / file, Path(folder) / "prove.ys"
        faulty.write_text(with_fault(source.read_text(), before, after))
        needs = " ".join(str(RTL / "src" / name) for name in NEEDS.get(file, []))
        common = {"top": file.removesuffix(".sv"), "parameters": PARAMETERS.get(file, "")}
        script.write_text(READ.format(files=f"{needs} {source}", name="right", **common)
                          + READ.format(files=f"{needs} {faulty}", name="wrong", **common) + COMPARE)
        result = subprocess.run(["yosys", "-q", "-s", script], capture_output=True, text=True,
                                check=False)
        output = result.stdout + result.stderr
        if result.returncode != 0 and "unproven $equiv cells" not in output:
            raise SystemExit(f"{file}: yosys fails:\n{output[-2000:]}")
        return result.returncode == 0


def main():
    if shutil.which("yosys") is None:
        print("there is no yosys; skipped")
        return 1 if "verilator" in os.environ.get("QSIM_REQUIRE", "").split(",") else 77
    if is_equivalent(*REFUTED):
        print(f"FAILED: what is not equivalent is proven: {REFUTED}")
        return 1
    failures = 0
    for entry in marked():
        proven = is_equivalent(*entry)
        failures += not proven
        print(f"{'proven' if proven else 'FAILED'}: {entry[0]}: {entry[1]} -> {entry[2]}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
