#!/usr/bin/env python3
"""accuracy.py with a small VGG-8 on a CPU: runs beside each other, cut ones, and what is said of the results.

usage: accuracy_test.py LIBRARY; LIBRARY is libqsim_golden.so. Skips (77) without PyTorch.
"""
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "models/train"), str(HERE.parents[1] / "tests/train")]
if __name__ == "__main__":
    os.environ["QSIM_GOLDEN_LIBRARY"] = sys.argv.pop(1)

try:
    import torch

    import accuracy
    import accuracy_rows
    import data
    import quantized_training
    import side_by_side
    import vgg8
    from small_trainings import SMALL, write_pictures
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

torch.set_num_threads(1)


class EndAfter:
    """In place of Progress: ends at the second round."""

    def __init__(self, begun, seconds):
        self.rounds = 0

    def __call__(self, active):
        self.rounds += 1
        return self.rounds == 2


class Runs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        write_pictures(self.folder / "train", data.CLASS_NAMES, 6)
        write_pictures(self.folder / "test", data.CLASS_NAMES, 4, seed=2)
        for owner, name, value in ((vgg8, "LAYERS", SMALL), (side_by_side, "ROUND_STEPS", 2)):
            patch = mock.patch.object(owner, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def run_all(self, name, *options):
        """(exit code, what was printed, {(variant, seed): line})"""
        words = ["--dataset", self.folder / "train", "--test", self.folder / "test", "--device", "cpu", "--batch-size", 20, "--epochs", 2,
                 "--recipe", "mix", "--rate", 0.1, "--results", self.folder / f"{name}.jsonl", "--unfinished", self.folder / name, *options]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = accuracy.main([str(word) for word in words])
        file = self.folder / f"{name}.jsonl"
        lines = accuracy_rows.read_lines(file.read_text()) if file.exists() else []
        return code, printed.getvalue(), {(line["variant"], line["seed"]): line for line in lines}

    def weights(self, at_once):
        """{(variant, seed): state_dict} of two seeds of two variants."""
        args = accuracy.make_parser().parse_args(["--dataset", str(self.folder / "train"), "--test", "", "--batch-size", "20", "--epochs", "2",
                                         "--recipe", "mix", "--unfinished", str(self.folder / f"{at_once}")])
        pictures = accuracy.read_set(args.dataset, torch.device("cpu"), None)
        wanted = [(variant, seed) for seed in (1, 2) for variant in ("float32", "int8")]
        waiting = (lambda one=one: accuracy.Run(*one, pictures, {}, args) for one in wanted)
        return {(run.variant, run.plan.seed): run.network().state_dict()
                for run in side_by_side.finished_ones(waiting, at_once, 1e9, lambda active: False)}

    def test_runs_beside_each_other_have_the_bits_of_runs_alone(self):
        alone, beside = self.weights(1), self.weights(3)
        self.assertEqual(len(alone), 4)
        self.assertEqual(alone.keys(), beside.keys())
        for key, state in alone.items():
            for name, tensor in state.items():
                self.assertTrue(torch.equal(tensor, beside[key][name]), (key, name))

    def test_the_seed_draws_the_weights_and_variants_share_them(self):
        args = accuracy.make_parser().parse_args(["--dataset", str(self.folder / "train"), "--test", "", "--unfinished", str(self.folder)])
        pictures = accuracy.read_set(args.dataset, torch.device("cpu"), None)
        first = {key: accuracy.Run(*key, pictures, {}, args).network().state_dict()["0.weight"] for key in (("float32", 1), ("int8", 1), ("int8", 2))}
        self.assertTrue(torch.equal(first["float32", 1], first["int8", 1]))
        self.assertFalse(torch.equal(first["int8", 1], first["int8", 2]))

    def test_what_was_cut_goes_on_to_the_same_numbers(self):
        options = ["--variants", "float32", "int8", "--seeds", 2, "--at-once", 3]
        code, printed, whole = self.run_all("whole", *options)
        self.assertEqual((code, len(whole)), (0, 4))
        self.assertIn("all runs are finished", printed)
        with mock.patch.object(accuracy, "Progress", EndAfter):
            code, printed, found = self.run_all("cut", *options)
        self.assertEqual((code, found), (1, {}))
        self.assertIn("4 of 4 runs are not finished", printed)
        code, printed, found = self.run_all("cut", *options)
        self.assertEqual(printed.count("resumed after 4 of 6 steps"), 3)
        self.assertEqual(code, 0)
        for key, line in whole.items():
            for name in ("correct", "pictures", "last_loss"):
                self.assertEqual(line[name], found[key][name], (key, name))
        self.assertEqual(list((self.folder / "cut").iterdir()), [])
        before = (self.folder / "cut.jsonl").read_bytes()
        self.assertEqual(self.run_all("cut", *options)[0], 0)  # nothing is trained again
        self.assertEqual((self.folder / "cut.jsonl").read_bytes(), before)

    def test_what_it_cannot_do_is_one_line_before_anything_is_trained(self):
        (self.folder / "broken.jsonl").write_text("no JSON\n")
        (self.folder / "other.jsonl").write_text('{"schema": "other"}\n')
        for message, *options in (("nothing: no such file or folder", "--dataset", self.folder / "nothing"),
                                  ("60 pictures are fewer than a batch of 61", "--batch-size", 61),
                                  ("broken.jsonl: line 1 is no JSON object", "--results", self.folder / "broken.jsonl"),
                                  ("other.jsonl: line 1 has the schema 'other'; allowed: qsim.bench", "--results", self.folder / "other.jsonl"),
                                  ("--at-once: '0' is not an integer in 1..30", "--at-once", 0),
                                  ("--seeds: '0' is not an integer in 1..1000", "--seeds", 0),
                                  ("--epochs: '0' is not an integer in 1..", "--epochs", 0)):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as end:
                self.run_all("bad", *options)
            self.assertEqual(end.exception.code, 2)
            self.assertIn(message, errors.getvalue().splitlines()[-1])
        self.assertFalse((self.folder / "bad").exists())

    def test_a_run_that_diverges_leaves_the_others(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), mock.patch.object(quantized_training, "learning_rate", lambda *_: 1e30):
            code, printed, found = self.run_all("wild", "--variants", "float32", "--seeds", 1)
        self.assertEqual((code, found), (1, {}))
        self.assertRegex(errors.getvalue(), "float32, seed 1: step 6: .* not finite|the loss is nan")
        self.assertIn("1 of 1 runs are not finished", printed)


def line(variant, bits, seed, correct, **other):
    return {"schema": accuracy_rows.SCHEMA, "variant": variant, "weight_bits": bits, "seed": seed, "correct": correct, "pictures": 1000,
            "seconds": 10.0 * seed, **{name: 1 for name in accuracy_rows.COMMON}, **other}


class Rows(unittest.TestCase):
    lines = [line("int8", 8, 2, 890), line("int8", 8, 1, 898), line("4-bit weights", 4, 1, 884), line("bfloat16", None, 1, 900),
             line("bfloat16", None, 2, 896)]

    def test_distances_are_of_pairs_of_equal_seed(self):
        self.assertEqual(list(accuracy_rows.rows(self.lines)), [
            ["bfloat16", "2", "900, 896", "89.80%", "0.28", "-", "-", "15.0"],
            ["int8", "2", "898, 890", "89.40%", "0.57", "0.40", "0.20", "15.0"],
            ["4-bit weights", "1", "884", "88.40%", "-", "1.60", "-", "10.0"]])

    def test_a_row_that_is_too_far_below_float_is_said_to_be(self):
        self.assertEqual(list(accuracy_rows.verdicts(self.lines)), [
            "int8: 0.40 points below bfloat16, NOT within 0.3", "4-bit weights: 1.60 points below bfloat16, NOT within 1.0"])
        near = [line("bfloat16", None, 1, 900), line("int8", 8, 1, 897), line("4-bit weights", 4, 1, 891)]
        self.assertEqual([said.split(", ")[1] for said in accuracy_rows.verdicts(near)], ["within 0.3", "within 1.0"])
        self.assertEqual(list(accuracy_rows.verdicts(self.lines[:3])), [])  # without float

    def test_other_recipes_are_other_tables(self):
        groups = accuracy_rows.together([*self.lines, line("int8", 8, 1, 1, epochs=2)])
        self.assertEqual([len(group) for group in groups], [5, 1])

    def test_a_line_of_another_program_is_refused(self):
        with self.assertRaisesRegex(ValueError, "line 1 has the schema None; allowed: qsim.bench.train.accuracy/1"):
            accuracy_rows.read_lines(json.dumps({"correct": 1}))


if __name__ == "__main__":
    unittest.main()
