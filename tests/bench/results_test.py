#!/usr/bin/env python3
"""bench/common/results.py and figure.py: files are read strictly and written whole; committed baselines."""
import json
import os
import pathlib
import tempfile
import unittest

from samples import ROOT, figure, results as sample

import results
from figure import BadFigure, figure_of, median_figure

BASELINES = ROOT / "bench/baselines"


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "base.json"

    def error_of(self, text):
        """What load() says of a file with this text."""
        self.file.write_text(text, encoding="utf8")
        with self.assertRaises(results.BadResults) as caught:
            results.load(self.file)
        self.assertTrue(str(caught.exception).startswith(f"{self.file}: "))
        return str(caught.exception).removeprefix(f"{self.file}: ")

    def test_what_was_saved_reads_back(self):
        for figures in ((), (figure("rtl/a"), figure("rtl/b", kind="instructions", value=12))):
            self.file.write_text(json.dumps(sample(*figures)), encoding="utf8")
            first = results.load(self.file)
            results.save(self.file, first)
            self.assertEqual(results.load(self.file), first)
            self.assertEqual(list(first["figures"]), [item["name"] for item in figures])

    def test_a_save_that_fails_leaves_the_old_file_alone(self):
        self.file.write_text("old", encoding="utf8")
        with self.assertRaises(TypeError):
            results.save(self.file, {"figures": {}, "not": object()})
        with self.assertRaises(UnicodeEncodeError):
            results.replace_file(self.file, "\udc80")
        self.assertEqual(self.file.read_text(encoding="utf8"), "old")
        self.assertEqual(os.listdir(self.file.parent), ["base.json"])

    def test_what_is_not_json_is_one_error(self):
        self.assertRegex(self.error_of("{"), "^not JSON: ")
        self.assertRegex(self.error_of(""), "^not JSON: ")
        self.assertEqual(self.error_of("[1]"), "schema 'list', not 'qsim.bench/1'")

    def test_a_file_that_is_not_there_is_one_error(self):
        with self.assertRaisesRegex(results.BadResults, "No such file"):
            results.load(self.file)

    def test_another_schema_is_refused(self):
        self.assertEqual(self.error_of(json.dumps(sample(schema="qsim.run/2"))),
                         "schema 'qsim.run/2', not 'qsim.bench/1'")

    def test_every_field_is_required(self):
        for key in sample():
            if key != "schema":
                self.assertIn(f"the file has no '{key}'", self.error_of(json.dumps(sample(**{key: None}))))
        self.assertIn("'machine' has no 'cpu'", self.error_of(json.dumps(sample(machine={}))))

    def test_a_figure_twice_is_refused(self):
        self.assertEqual(self.error_of(json.dumps(sample(figure("rtl/a"), figure("rtl/a")))),
                         "the figure rtl/a occurs twice")

    def test_a_bad_figure_is_refused_by_name(self):
        self.assertEqual(self.error_of(json.dumps(sample(figure("rtl/a", runs=8)))), "rtl/a: 8 runs of a time")


class Figures(unittest.TestCase):
    def test_malformed_figures_are_refused(self):
        bad = ({"name": "alone"}, {"name": "a b/c"}, {"name": 3}, {"kind": "speed"}, {"unit": "ms"},
               {"value": -1.0}, {"value": "1"}, {"value": True}, {"value": float("nan")}, {"runs": 8},
               {"runs": 9.5}, {"spread": [1.0]}, {"spread": [2.0, 3.0]}, {"spread": [0.0, 0.5]},
               {"tool": "perf"}, {"other": 1}, {"unit": None}, {"spread": None})
        for change in bad:
            with self.assertRaises(BadFigure, msg=change):
                figure_of(figure(**change))
        with self.assertRaises(BadFigure):
            figure_of([])
        with self.assertRaises(BadFigure):
            figure_of(figure(kind="instructions", tool=None))

    def test_a_time_needs_nine_runs_and_other_kinds_one(self):
        self.assertEqual(figure_of(figure(runs=9)).runs, 9)
        self.assertEqual(figure_of(figure(kind="count", runs=1)).runs, 1)

    def test_median_and_quartiles_are_samples_by_rank(self):
        found = median_figure("a/b", [9, 1, 8, 2, 7, 3, 6, 4, 5], "s", "time")
        self.assertEqual((found.value, found.spread, found.runs), (5, (3, 7), 9))


class Baselines(unittest.TestCase):
    def test_committed_baselines_are_whole_and_of_a_commit(self):
        files = sorted(BASELINES.glob("*"))
        self.assertTrue(files, "bench/baselines is empty: `./dev bench --against` has nothing to compare with")
        for file in files:
            with self.subTest(file.name):
                self.assertRegex(file.name, r"^[a-z0-9-]+\.json$")
                loaded = results.load(file)
                self.assertTrue(loaded["complete"])
                self.assertFalse(loaded["dirty"])
                self.assertRegex(loaded["commit"], "^[0-9a-f]{40}$")
                self.assertNotIn("/", loaded["machine"]["compiler"])
                self.assertTrue(loaded["figures"])


if __name__ == "__main__":
    unittest.main()
