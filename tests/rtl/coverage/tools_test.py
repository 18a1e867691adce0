#!/usr/bin/env python3
"""The tools that judge the tests: the coverage report and its exclusions, and the planting of faults; and the
area of what Yosys counts.
usage: tools_test.py RTL_FOLDER"""

import csv
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RTL = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(RTL / "mutation"))
sys.path.insert(0, str(RTL / "coverage"))
sys.dont_write_bytecode = True

import mutate  # noqa: E402
import planted  # noqa: E402
import suite  # noqa: E402
from mutations import mutations_of  # noqa: E402


def point(kind, line, comment, count, instance="qsim_fifo"):
    return (f"C '\x01f\x02/x/src/qsim_fifo.sv\x01l\x02{line}\x01n\x021\x01page\x02v_{kind}/qsim_fifo"
            f"\x01o\x02{comment}\x01h\x02TOP.{instance}' {count}\n")


class CoverageReport(unittest.TestCase):
    def report(self, points, exclusions, *options):
        with tempfile.TemporaryDirectory() as folder:
            counts, excluded = Path(folder) / "counts.dat", Path(folder) / "exclusions.txt"
            counts.write_text("".join(points))
            excluded.write_text(exclusions)
            return subprocess.run([sys.executable, RTL / "coverage/report.py", "--toggles", counts,
                                   "--cores", "2", "--exclusions", excluded, *options],
                                  capture_output=True, text=True, check=False)

    def test_a_bit_that_is_stuck_at_one_in_every_core_is_not_covered(self):
        result = self.report([point("branch", 1, "if", 1), point("toggle", 2, "a[3]", 2)], "")
        self.assertEqual(result.returncode, 6)
        self.assertIn("qsim_fifo a[3]", result.stdout)

    def test_all_is_covered(self):
        result = self.report([point("branch", 1, "if", 1), point("toggle", 2, "a[3]", 3)], "")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_line_that_never_ran_fails(self):
        result = self.report([point("branch", 1, "if", 0), point("toggle", 2, "a", 3)], "")
        self.assertEqual(result.returncode, 6)
        self.assertIn("qsim_fifo.sv:1 if", result.stdout)

    def test_one_instance_that_ran_the_line_is_enough(self):
        result = self.report([point("branch", 1, "if", 0, "a"), point("branch", 1, "if", 1, "b"),
                              point("toggle", 2, "a", 3)], "")
        self.assertEqual(result.returncode, 0)

    def test_an_excluded_bit_is_left_out(self):
        points = [point("branch", 1, "if", 1), point("toggle", 2, "a[3]", 2),
                  point("toggle", 2, "a[2]", 9)]
        self.assertEqual(self.report(points, "toggle | * | a[3] | constant\n").returncode, 0)
        self.assertEqual(self.report(points, "toggle | other | a[3] | constant\n").returncode, 3)

    def test_an_exclusion_of_what_is_covered_or_not_there_is_an_error(self):
        points = [point("branch", 1, "if", 1), point("toggle", 2, "a[3]", 9)]
        covered = self.report(points, "toggle | * | a[3] | constant\n")
        self.assertEqual(covered.returncode, 3)
        self.assertIn("is covered (9) and excluded", covered.stderr)
        absent = self.report(points, "toggle | * | b | constant\n")
        self.assertEqual(absent.returncode, 3)
        self.assertIn("matches nothing: b", absent.stderr)

    def test_an_exclusion_needs_a_reason(self):
        result = self.report([], "toggle | * | a |\n")
        self.assertEqual(result.returncode, 3)
        self.assertIn("REASON", result.stderr)


SOURCE = """// a + b
module m #(
  parameter int unsigned Width = 8
) (
  input logic clk_i
);
  localparam int unsigned Last = Width - 1;
  logic [7:0] x_q, y_q;
  logic go;
  assign go = x_q <= y_q && !clk_i;
  always_ff @(posedge clk_i) begin
    if (go) x_q <= y_q + 8'd1;
  end
endmodule
"""


STRUCTS = """module m (
  input  qsim_pkg::execute_t command_i
);
  typedef struct packed {
    logic [3:0] memory;
    logic [7:0] addr;
    logic [7:0] words;
  } kept_t;
  kept_t kept, kept_q;
  logic [3:0] kernel_h_q;
  m u_m (.kernel_h(kernel_h_q));
  always_ff @(posedge clk_i) begin
    kernel_h_q <= command_i.kernel_h;
    kept_q.addr <= kept.addr;
  end
endmodule
"""


class FieldFaults(unittest.TestCase):
    def test_another_field_of_the_same_width_is_taken_and_nothing_declared_is_changed(self):
        fields, touched = set(), set()
        for fault in (fault for faults in mutations_of("m.sv", STRUCTS) for fault in faults):
            line = fault.apply(STRUCTS).splitlines()[STRUCTS.count("\n", 0, fault.start)].strip()
            touched.add(STRUCTS.count("\n", 0, fault.start) + 1)
            if fault.operator == "other field":
                fields.add(line)
        self.assertEqual(fields, {"kernel_h_q <= command_i.kernel_w;", "kept_q.addr <= kept.words;"})
        self.assertEqual(touched, {13, 14})

    def test_every_unit_that_reads_a_command_has_them(self):
        for unit in ("load_unit", "store_unit", "weight_sequencer", "pixel_sequencer",
                     "post_sequencer"):
            text = (RTL / "src" / f"qsim_{unit}.sv").read_text()
            operators = {fault.operator for faults in mutations_of(unit, text) for fault in faults}
            self.assertIn("other field", operators, unit)


class Mutations(unittest.TestCase):
    def setUp(self):
        self.lines = {}
        for faults in mutations_of("m.sv", SOURCE):
            for fault in faults:
                changed = fault.apply(SOURCE).splitlines()
                pairs = [(a, b) for a, b in zip(SOURCE.splitlines(), changed) if a != b]
                self.assertEqual(len(pairs), 1, fault)
                self.lines.setdefault(fault.operator, set()).add(pairs[0][1].strip())

    def test_each_kind_of_fault_is_planted(self):
        self.assertIn("assign go = x_q < y_q && !clk_i;", self.lines["< <="])
        self.assertIn("assign go = x_q <= y_q || !clk_i;", self.lines["&& ||"])
        self.assertIn("assign go = x_q <= y_q && clk_i;", self.lines["! removed"])
        self.assertIn("assign go = x_q <= x_q && !clk_i;", self.lines["sibling"])
        self.assertIn("if (1'b0) x_q <= y_q + 8'd1;", self.lines["if (0)"])
        self.assertIn("if (go) x_q <= x_q;", self.lines["<= old"])
        self.assertIn("if (go) x_q <= '0;", self.lines["<= 0"])
        self.assertIn("if (go) x_q <= y_q - 8'd1;", self.lines["+ -"])
        self.assertIn("if (go) x_q <= y_q ;", self.lines["+-1 removed"])
        self.assertIn("if (go) x_q <= y_q + 8'd2;", self.lines["constant"])

    def test_an_assignment_is_no_comparison_and_the_other_way_round(self):
        self.assertEqual(self.lines["< <="], {"assign go = x_q < y_q && !clk_i;"})

    def test_comments_declarations_and_sensitivity_lists_stay(self):
        untouched = SOURCE.splitlines()[:9] + ["always_ff @(posedge clk_i) begin"]
        for lines in self.lines.values():
            for line in lines:
                self.assertTrue(line.startswith(("assign go", "if (")), line)
                self.assertNotIn(line, untouched)

    def test_every_source_has_faults_and_shares_follow_their_tokens(self):
        sources = {p.name: p.read_text() for p in (RTL / "src").glob("*.sv")}
        sites = mutate.sites_by_file(sources)
        self.assertLessEqual(set(sources) - set(sites), set(mutate.LEFT_OUT))
        self.assertFalse(set(sites) & set(mutate.LEFT_OUT))
        share = mutate.shares(sites, 100)
        self.assertEqual(sum(share.values()), 100)
        larger = max(sites, key=lambda name: len(sites[name]))
        self.assertEqual(share[larger], max(share.values()))

    def test_a_seed_means_the_same_mutants(self):
        sites = mutations_of("m.sv", SOURCE)
        self.assertEqual(mutate.candidates("m.sv", sites, 1), mutate.candidates("m.sv", sites, 1))
        self.assertNotEqual(mutate.candidates("m.sv", sites, 1), mutate.candidates("m.sv", sites, 2))

    def test_the_proofs_are_about_lines_that_are_there(self):
        for name, before, _ in mutate.proofs():
            text = " ".join((RTL / "src" / name).read_text().split())
            self.assertIn(before, text, f"equivalent.md, {name}")


class AreaTable(unittest.TestCase):
    def test_the_page_has_the_counts_of_the_whole(self):
        sums = {}
        with open(RTL / "yosys/area.csv", encoding="utf8") as file:
            for row in csv.DictReader(file):
                total = sums.setdefault(row["config"], [0, 0, 0])
                total[0] += int(row["gates"])
                total[1] += int(row["gates"]) if row["part"] == "array" else 0
                total[2] += int(row["flip_flops"])
        page = (RTL.parent / "docs/reference/rtl.md").read_text()
        rows = [line.strip("| ").split(" | ") for line in page.splitlines()
                if "| all three |" in line and line.endswith(" KiB |")]
        self.assertEqual([row[0] for row in rows], ["pe4x4", "pe8x8", "pe16x16"])
        for row in rows:
            self.assertEqual([int(number.replace(",", "")) for number in row[2:5]], sums[row[0]], row[0])


class Verdicts(unittest.TestCase):
    def test_a_mismatch_and_the_limit_of_time_kill(self):
        self.assertEqual(suite.why_killed(5, "mismatch: pe4x4 seed 3: rtl: execute 0\n"),
                         "pe4x4 seed 3: rtl: execute 0")
        for limit in (signal.SIGXCPU, signal.SIGKILL):
            self.assertIn(f"{limit.name}: it takes too long", suite.why_killed(-limit, ""))

    def test_a_crash_or_another_exit_code_is_no_verdict(self):
        for code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGTERM, 1, 3):
            with self.assertRaisesRegex(SystemExit, "no verdict"):
                suite.why_killed(code, "")

    def test_the_limit_of_time_ends_a_run_by_such_a_signal(self):
        code, _ = suite.run([sys.executable, "-c", "while True: pass"], 1)
        self.assertIn(code, suite.TOO_LONG)

    def test_the_programs_that_find_a_fault_are_read_and_put_into_classes(self):
        output = "12 programs\nfound by 3 of 57 programs, first by program 2\nmismatches: 1\n"
        self.assertEqual(suite.rate(output), {"rate": [3, 57]})
        self.assertEqual(suite.rate("mismatches: 1\n"), {})
        record = {"file": "a.sv", "line": 1, "before": "a | b", "after": "a", "by": "4x4", "why": "late"}
        rates = ([10, 10], [10, 100], [10, 101], [1, 100], [1, 1000], [1, 1001])
        lines = mutate.rarity([{**record, "rate": rate} for rate in rates] + [record])
        self.assertEqual(lines[2:7], ["| 1 to 10 | 2 |", "| 11 to 100 | 2 |", "| 101 to 1,000 | 1 |",
                                      "| more | 1 |", "| not counted | 1 |"])
        self.assertEqual(lines[10], "| `a.sv:1`: `a \\| b` -> `a` | 1 | 1001, 4x4 |")
        self.assertEqual(mutate.rarity([record]), [])

    def test_random_programs_come_before_directed_ones_where_they_are_counted(self):
        names = [stage.name for stage in suite.stages(100, 5)]
        self.assertEqual(names[:4], ["4x4", "4x4, any timing", "4x8, narrow bus", "8x4, wide bus"])
        for stage in suite.stages(100, 5)[:4]:
            self.assertIn("--finders", stage.arguments)
        self.assertEqual({s.name for s in suite.stages(100)}, set(names))

    def test_the_planted_bugs_have_their_place(self):
        for bug in (*planted.BUGS, planted.SYSTEMC_BUG):
            folder = RTL.parent if bug is planted.SYSTEMC_BUG else RTL / "src"
            text = (folder / bug.file).read_text()
            self.assertNotEqual(bug.apply(text), text)


if __name__ == "__main__":
    unittest.main()
