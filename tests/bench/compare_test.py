#!/usr/bin/env python3
"""bench/common/compare.py: what is flagged, what is only shown, what is missing."""
import unittest

from samples import MACHINE, figure, results

import compare
import text
from figure import figure_of


def parsed(json):
    return {**json, "figures": {item["name"]: figure_of(item) for item in json["figures"]}}


def verdicts(base, new):
    return {row.name: row.verdict for row in compare.compare(parsed(base), parsed(new))}


def verdict_of(base_value, new_value, kind="time", base_changes=None, new_changes=None):
    base = results(figure(value=base_value, kind=kind), **(base_changes or {}))
    new = results(figure(value=new_value, kind=kind), **(new_changes or {}))
    return verdicts(base, new)["systemc/vgg8"]


def machine(**changes):
    return {"machine": {**MACHINE, **changes}}


class Limit(unittest.TestCase):
    def test_twelve_percent_more_is_flagged_in_every_kind(self):
        for kind in ("time", "ratio", "instructions", "memory", "count"):
            self.assertEqual(verdict_of(100, 112, kind), compare.WORSE, kind)

    def test_nine_percent_more_is_not(self):
        for kind in ("time", "ratio", "instructions", "memory", "count"):
            self.assertEqual(verdict_of(100, 109, kind), compare.FINE, kind)

    def test_ten_percent_is_not_over_ten_percent(self):
        for value in (1.0, 3.0, 0.7e-3, 12345.0):
            self.assertEqual(verdict_of(value, 1.1 * value), compare.FINE)
            self.assertEqual(verdict_of(value, 0.9 * value), compare.FINE)
        self.assertEqual(verdict_of(1000, 1101), compare.WORSE)

    def test_an_improvement_over_ten_percent_is_marked_and_not_flagged(self):
        self.assertEqual(verdict_of(100, 89), compare.BETTER)
        self.assertNotIn(compare.BETTER, compare.FLAGGED)
        self.assertIn(compare.WORSE, compare.FLAGGED)

    def test_nothing_that_becomes_something_is_worse(self):
        self.assertEqual(verdict_of(0, 1, "count"), compare.WORSE)
        self.assertEqual(verdict_of(0, 0, "count"), compare.FINE)


class Machines(unittest.TestCase):
    OTHERS = (machine(cpu="Other"), machine(cores=4), machine(vector_instructions=["avx512f"]))

    def test_times_and_ratios_of_another_machine_are_only_shown(self):
        for other in self.OTHERS:
            for kind in ("time", "ratio"):
                self.assertEqual(verdict_of(1, 2, kind, new_changes=other), compare.SHOWN)

    def test_memory_counts_and_instructions_of_another_machine_are_judged(self):
        for other in self.OTHERS:
            for kind in ("memory", "count", "instructions"):
                self.assertEqual(verdict_of(1, 2, kind, new_changes=other), compare.WORSE)

    def test_instructions_times_and_ratios_of_another_build_are_only_shown(self):
        for other in (machine(compiler="g++ 13"), machine(build_type="Debug")):
            for kind in ("instructions", "time", "ratio"):
                self.assertEqual(verdict_of(1, 2, kind, new_changes=other), compare.SHOWN)
            for kind in ("memory", "count"):
                self.assertEqual(verdict_of(1, 2, kind, new_changes=other), compare.WORSE)

    def test_another_build_is_said(self):
        base, new = parsed(results(figure())), parsed(results(figure(), **machine(build_type="Debug")))
        self.assertEqual(compare.notes(base, new),
                         ["other build: base g++ 12.2.0, Release; new g++ 12.2.0, Debug: times, ratios and "
                          "instruction counts are only shown"])

    def test_instructions_of_another_tool_are_only_shown(self):
        base = results(figure(kind="instructions", tool="perf"))
        new = results(figure(kind="instructions", value=5))
        self.assertEqual(verdicts(base, new), {"systemc/vgg8": compare.SHOWN})
        self.assertIn("other instruction counter", "\n".join(compare.notes(parsed(base), parsed(new))))

    def test_another_machine_is_said(self):
        base, new = parsed(results(figure())), parsed(results(figure(), **machine(cpu="Other")))
        self.assertIn("other kind of machine: base Test CPU", compare.notes(base, new)[0])
        self.assertEqual(compare.notes(base, base), [])


class Names(unittest.TestCase):
    BASE = results(figure("systemc/a"), figure("systemc/b"), figure("rtl/c"))

    def test_a_figure_that_a_bench_no_longer_gives_is_flagged(self):
        new = results(figure("systemc/a"), figure("rtl/c"))
        self.assertEqual(verdicts(self.BASE, new)["systemc/b"], compare.MISSING)
        self.assertIn(compare.MISSING, compare.FLAGGED)

    def test_figures_of_benches_that_did_not_run_are_not_missing(self):
        new = results(figure("systemc/a"), figure("systemc/b"))
        self.assertNotIn("rtl/c", verdicts(self.BASE, new))

    def test_a_skipped_bench_is_said_with_its_reason(self):
        new = results(figure("systemc/a"), figure("systemc/b"),
                      benches={"systemc": "ran", "rtl": "skipped: no verilator"})
        self.assertNotIn("rtl/c", verdicts(self.BASE, new))
        self.assertEqual(compare.notes(parsed(self.BASE), parsed(new)), ["rtl: skipped: no verilator"])

    def test_a_vector_path_that_another_machine_lacks_is_not_flagged(self):
        new = results(figure("systemc/a"), figure("rtl/c"), **machine(vector_instructions=[]))
        self.assertEqual(verdicts(self.BASE, new)["systemc/b"], compare.SHOWN)

    def test_a_new_figure_is_named(self):
        new = results(*self.BASE["figures"], figure("rtl/d"))
        self.assertEqual(verdicts(self.BASE, new)["rtl/d"], compare.NEW)
        self.assertNotIn(compare.NEW, compare.FLAGGED)

    def test_a_figure_of_another_kind_is_missing(self):
        new = results(figure("systemc/a", kind="memory"), figure("systemc/b"), figure("rtl/c"))
        self.assertEqual(verdicts(self.BASE, new)["systemc/a"], compare.MISSING)


class Nothing(unittest.TestCase):
    """A comparison in which nothing was judged is no success."""

    def nothing(self, base, new):
        return compare.nothing_judged(compare.compare(parsed(base), parsed(new)))

    def test_no_common_figure_judges_nothing(self):
        self.assertTrue(self.nothing(results(figure("rtl/c")), results(figure("systemc/a"))))
        self.assertTrue(self.nothing(results(figure("rtl/c")), results()))

    def test_figures_that_are_only_shown_judge_nothing(self):
        self.assertTrue(self.nothing(results(figure()), results(figure(), **machine(cores=4))))

    def test_one_figure_that_is_judged_is_enough(self):
        for value in (0.5, 1.0, 2.0):
            self.assertFalse(self.nothing(results(figure(), figure("rtl/c")),
                                          results(figure(value=value), figure("rtl/d"))))

    def test_a_missing_figure_is_judged(self):
        self.assertFalse(self.nothing(results(figure("systemc/a")), results(benches={"systemc": "ran"})))


class Said(unittest.TestCase):
    def test_uncommitted_changes_are_said(self):
        base, new = parsed(results(figure(), dirty=True)), parsed(results(figure(), complete=False))
        self.assertEqual(compare.notes(base, new),
                         ["the base was measured with uncommitted changes to 0123456789ab",
                          "the new is of a run that did not finish"])

    def test_the_table_has_values_ratio_and_verdict(self):
        base = parsed(results(figure("systemc/a", 0.002), figure("systemc/b")))
        new = parsed(results(figure("systemc/a", 0.003)))
        rows = compare.compare(base, new)
        self.assertEqual([line.split() for line in text.comparison_table(rows).splitlines()[2:]],
                         [["systemc/a", "2", "ms", "3", "ms", "1.500", "WORSE"],
                          ["systemc/b", "1", "s", "-", "MISSING"]])
        self.assertEqual(text.comparison_summary(rows),
                         "1 worse by more than 10%, 0 better by more than 10%, 0 within, 0 only shown, "
                         "1 missing, 0 new")

    def test_the_table_of_paths_has_each_path_beside_its_limit(self):
        figures = [figure_of(figure(f"limits/net/{path}/{what}", value, kind)) for path, times in
                   (("avx512_vnni", 1), ("avx2", 4)) for what, value, kind in
                   ((f"multiply/instructions_of_{path}", 0.001 * times, "time"),
                    ("golden", 0.0015 * times, "time"), ("golden_over_multiply", 1.5, "ratio"),
                    ("simulate", 0.002 * times, "time"), ("simulate_over_multiply", 2.0, "ratio"),
                    ("simulate_over_golden", 1.25, "ratio"))]
        titles, _, *rows = text.paths_table([*figures, figure_of(figure("limits/net/golden/time"))]).splitlines()
        self.assertEqual(titles.split()[:3], ["network", "path", "limit"])
        self.assertEqual(rows[0].split(), "net avx512_vnni instructions of avx512 vnni 1 ms 1.5 ms 1.500 "
                                          "2 ms 2.000 1.250".split())
        self.assertEqual(rows[1].split(), "net avx2 instructions of avx2 4 ms 6 ms 1.500 8 ms 2.000 1.250".split())
        self.assertEqual(len(rows), 2)
        self.assertEqual(text.paths_table([figure_of(figure("systemc/a"))]), "")


if __name__ == "__main__":
    unittest.main()
