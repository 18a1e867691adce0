#!/usr/bin/env python3
"""Plants one known bug after another in the RTL and shows that the CI-sized suite catches each: in the
array's skew, the address generator, the padding, the requantizer and a token count. Prints a Markdown
table. Exit codes: 0 all caught; 6 one was not; 2 usage.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from suite import RTL, Suite


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
        "row_q >= $signed(PositionBits'(in_rows_q))", "row_q + 1 >= $signed(PositionBits'(in_rows_q))"),
    Bug("requantizer: a tie at an odd value rounds down", "qsim_requantize_pkg.sv",
        "up = halves[0] && (halves[1] || (halves <<< shift) != doubled);",
        "up = halves[0] && (halves <<< shift) != doubled;"),
    Bug("token count: unit 3's signals are not counted", "qsim_semaphore_bank.sv",
        "4'(raised[2]) + 4'(raised[3]) -", "4'(raised[2]) -"),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--verify-rtl", default=RTL.parent / "build/release/bin/verify_rtl", type=Path)
    parser.add_argument("--programs", type=int, default=300, help="a stage (default %(default)s)")
    parser.add_argument("--work", type=Path, default=RTL.parent / "build/planted")
    arguments = parser.parse_args()
    if not arguments.verify_rtl.exists():
        parser.error(f"{arguments.verify_rtl} is not there; build the target verify_rtl")
    sources = {p.name: p.read_text() for p in sorted((RTL / "src").glob("*.sv"))}
    suite = Suite(arguments.verify_rtl, arguments.work, arguments.programs, sources)
    print("| planted | found | how |\n|---|---|---|", flush=True)
    missed = 0
    for bug in BUGS:
        outcome = suite.judge(bug)
        missed += outcome["status"] != "killed"
        print(f"| {bug.what} | {outcome['status'] == 'killed'} ({outcome.get('by', '')}) | "
              f"{outcome.get('why', '')} |", flush=True)
    sys.exit(6 if missed else 0)


if __name__ == "__main__":
    main()
