"""qsim.run() and qsim.verify(): the JSON of the program of the variable QSIM, and what it says when it fails."""
import os
import pathlib
import unittest

import qsim


class Program(unittest.TestCase):
    def test_run_returns_the_json(self):
        result = qsim.run(config="pe8x8", engine="recurrence", no_data=True)
        self.assertEqual(result["schema"].split("/")[0], "qsim.run")
        self.assertEqual(result["exit_code"], 0)
        self.assertEqual(result["config"]["array_rows"], 8)

    def test_a_condition_of_fail_if_is_a_result(self):
        result = qsim.run(config="pe8x8", engine="recurrence", no_data=True, fail_if=["cycles > 1", "cycles < 1"])
        self.assertEqual(result["exit_code"], 6)

    def test_verify_returns_the_json(self):
        result = qsim.verify(config=pathlib.Path("pe4x4"), seeds=2, engines="interpreter,systemc")
        self.assertEqual(result["exit_code"], 0)
        self.assertIn("verify", result["schema"])

    def test_what_the_program_says_is_the_error(self):
        with self.assertRaises(qsim.ProgramError) as caught:
            qsim.run(config="nowhere")
        self.assertEqual(caught.exception.exit_code, 3)
        self.assertIn("config 'nowhere' not found", str(caught.exception))
        with self.assertRaises(qsim.ProgramError) as caught:
            qsim.run(speed=3)
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertIn("unknown option '--speed'", str(caught.exception))

    def test_options_that_the_function_sets_are_refused(self):
        with self.assertRaisesRegex(TypeError, "run\\(\\) sets json itself; leave it out"):
            qsim.run(json="x.json")

    def test_a_missing_program_is_told(self):
        with self.assertRaisesRegex(FileNotFoundError, "the program '/nowhere/qsim' is not found"):
            qsim.run(program="/nowhere/qsim")


if __name__ == "__main__":
    if "QSIM" not in os.environ:
        raise SystemExit("program_test.py: set QSIM to the program")
    unittest.main()
