#!/usr/bin/env python3
"""Plants one known bug after another in the RTL and shows that the CI-sized suite catches each: in the
array's skew, the address generator, the padding, the requantizer, the accumulator and a token count. Prints a Markdown
table. With --systemc one in the SystemC model instead: an EXECUTE that takes a cycle too long. That
builds a copy of the sources, in minutes. Exit codes: 0 all caught; 6 one was not; 2 usage; 3 no build.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from suite import MISMATCH, RTL, Suite

ROOT = RTL.parent


@dataclass(frozen=True)
class Bug:
    what: str
    file: str
    old: str
    new: str

    def apply(self, text):
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.file} has '{self.old}' {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


BUGS = (
    Bug("array's skew: row r enters a cycle late", "qsim_systolic_array.sv",
        "act_q[r*Cols] = act_skew_q[(r-1)*Rows+r];", "act_q[r*Cols] = act_skew_q[r*Rows+r];"),
    Bug("address generator: the next plane starts where this kernel row does", "qsim_pixel_sequencer.sv",
        "next_fold_addr = plane_addr_q + plane_words_q;",
        "next_fold_addr = kernel_row_addr_q + plane_words_q;"),
    Bug("halo: the last row of the tile is taken for padding", "qsim_pixel_sequencer.sv",
        "row >= $signed(PositionBits'(in_rows_q))", "row + 1 >= $signed(PositionBits'(in_rows_q))"),
    Bug("requantizer: a tie at an odd value rounds down", "qsim_requantize_pkg.sv",
        "up = halves[0] && (halves[1] || (halves <<< shift) != doubled);",
        "up = halves[0] && (halves <<< shift) != doubled;"),
    Bug("any scale: the psum is not rounded to float32", "qsim_requantizer_pkg.sv",
        "dropped[i] = rounding == qsim_pkg::RoundingFloat32 && ", "dropped[i] = 1'b0 && "),
    Bug("any scale: the product is not rounded to float32", "qsim_requantizer_pkg.sv",
        "up = near ? units[0] : half;", "up = half && (units[0] || !tie);"),
    Bug("any scale: the highest bit of the shift is not read", "qsim_requantizer.sv",
        "sum_shifts_q <= shifts_i;", "sum_shifts_q <= shifts_i & {Cols{6'h1f}};"),
    Bug("any scale: a POST is done a stage early", "qsim_requantizer.sv",
        "level_q <= round_q;", "level_q <= product_q;"),
    Bug("any scale: the sign of the product is that of the next word", "qsim_requantizer.sv",
        "product_negative_q <= magnitude_negative_q;",
        "for (int c = 0; c < Cols; c++) product_negative_q[c] <= sums_q[c][32];"),
    Bug("addition: operand a is read where operand b is", "qsim_post_sequencer.sv",
        "second_q ? addr_q + second_step_q : addr_q", "addr_q"),
    Bug("addition: no sum is rounded to float32", "qsim_sum_pkg.sv",
        "dropped[i] = rounding == qsim_pkg::RoundingFloat32 && ", "dropped[i] = 1'b0 && "),
    Bug("addition: a uint8 operand is read as int8", "qsim_sum_pkg.sv", "plus_128 ? {25'd0", "1'b0 ? {25'd0"),
    Bug("table: the maximum begins with lo", "qsim_post_unit.sv",
        "level_lookup ? -8'sd128 : level_lo", "level_lo"),
    Bug("table: the slot is that of the newest POST", "qsim_post_unit.sv",
        "assign table_read_slot_o = level_slot;", "assign table_read_slot_o = param_read_slot_o;"),
    Bug("output_stationary: row 1 does not move while a column drains", "qsim_array_flags.sv",
        "{{(Rows-1){1'b1}}, 1'b0}", "{{(Rows-2){1'b1}}, 2'b0}"),
    Bug("input_stationary: the registers that realign psums are read a column late",
        "qsim_systolic_array.sv", "psum_skew_q[(Cols-2-c)*Cols+32'(column_i)]",
        "psum_skew_q[(Cols-2-c)*Cols+(32'(column_i)+1)%Cols]"),
    Bug("switch: an EXECUTE of another dataflow does not wait", "qsim_execute_unit.sv",
        "!masks_valid || (starts_os", "1'b1 || (starts_os"),
    Bug("accumulator: the sum of the cycle before is taken from the other half too",
        "qsim_accumulate.sv", "assign from_sum = write_valid_q && write_half_q == add_half_q && ",
        "assign from_sum = write_valid_q && "),
    Bug("accumulator: the sum of two cycles before is taken from the other half too",
        "qsim_accumulate.sv", "assign clash = write_valid_q && write_half_q == acc_read_half_o && ",
        "assign clash = write_valid_q && "),
    Bug("output_stationary: the pixels that a partial group lacks are written too",
        "qsim_psum_sequencer.sv", "draining_q && PixelBits'(drain_lane_q) < drain_pixels_q", "draining_q"),
    Bug("token count: unit 3's signals are not counted", "qsim_semaphore_bank.sv",
        "Bits'(raised[2]) + Bits'(raised[3]) -", "Bits'(raised[2]) -"),
)


SYSTEMC_BUG = Bug("SystemC model: an EXECUTE is done a cycle late", "core/machine/timing_model.h",
                  "kExecutePipelineCycles = 6;", "kExecutePipelineCycles = 7;")
# The line of the RTL, which is right, in the program as it was drawn or as it was made small:
# `...: rtl: execute command 0 (...): done at cycle 28, expected 29`.
LATE_DONE = re.compile(r"^.*\brtl: execute command .*: done at cycle (\d+), expected (\d+)$", re.M)


def copy_sources(tree, bug):
    """The working tree's files that git knows or would take, with the bug. What is there already as
    it should be is left alone, so that a second build is short."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    # Not those that have been deleted meanwhile.
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for old in [path for path in tree.rglob("*") if path.is_file()]:
        if str(old.relative_to(tree)) not in names:
            old.unlink()
    for name in names:
        content = (ROOT / name).read_bytes()
        if name == bug.file:
            content = bug.apply(content.decode()).encode()
        copy = tree / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        shutil.copymode(ROOT / name, copy)


def build(tree, folder):
    """verify_rtl of the tree, and none of its models: those are taken from the cache, or made later."""
    for command in (["cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                     "-DQSIM_CUDA=OFF", "-DQSIM_BENCH=OFF"],
                    ["cmake", "--build", folder, "--target", "verify_rtl"]):
        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if made.returncode != 0:
            print(made.stdout[-4000:], file=sys.stderr)
            print(f"planted.py: error: '{' '.join(map(str, command))}' failed", file=sys.stderr)
            sys.exit(3)
    return folder / "bin" / "verify_rtl"


def plant_in_systemc(work, programs):
    """Whether verify_rtl, with the bug built in, ends with a mismatch of an EXECUTE's done cycle."""
    work = work.resolve()
    tree, folder = work / "systemc", work / "systemc_build"
    copy_sources(tree, SYSTEMC_BUG)
    verify_rtl = build(tree, folder)
    environment = {"QSIM_CACHE": str(work / "systemc_cache"), **os.environ}
    ran = subprocess.run([verify_rtl, "--programs", str(programs), "--configs", "pe4x4",
                          "--reproducer", folder / "reproducers"], env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    late = LATE_DONE.search(ran.stdout)
    caught = ran.returncode == MISMATCH and late and int(late[1]) + 1 == int(late[2])
    how = " ".join((late[0] if caught else f"exit code {ran.returncode}: {ran.stdout}").split())
    print("| planted | found | how |\n|---|---|---|")
    print(f"| {SYSTEMC_BUG.what} | {bool(caught)} | {how} |", flush=True)
    return caught


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--verify-rtl", default=ROOT / "build/release/bin/verify_rtl", type=Path)
    parser.add_argument("--programs", type=int, default=300, help="a stage (default %(default)s)")
    parser.add_argument("--finders", type=int, default=0, metavar="K",
                        help="count the programs of the stage that find the bug, up to K")
    parser.add_argument("--work", type=Path, default=ROOT / "build/planted")
    parser.add_argument("--systemc", action="store_true", help="the bug in the SystemC model instead")
    arguments = parser.parse_args()
    if arguments.systemc:
        sys.exit(0 if plant_in_systemc(arguments.work, arguments.programs) else 6)
    if not arguments.verify_rtl.exists():
        parser.error(f"{arguments.verify_rtl} is not there; build the target verify_rtl")
    sources = {p.name: p.read_text() for p in sorted((RTL / "src").glob("*.sv"))}
    suite = Suite(arguments.verify_rtl, arguments.work, arguments.programs, sources, arguments.finders)
    print("| planted | found | how |\n|---|---|---|", flush=True)
    missed = 0
    for bug in BUGS:
        outcome = suite.judge(bug)
        missed += outcome["status"] != "killed"
        programs = "{}: {} of {} programs".format(outcome.get("by"), *outcome["rate"]) \
            if "rate" in outcome else outcome.get("by", "")
        print(f"| {bug.what} | {outcome['status'] == 'killed'} ({programs}) | "
              f"{outcome.get('why', '')} |", flush=True)
    sys.exit(6 if missed else 0)


if __name__ == "__main__":
    main()
