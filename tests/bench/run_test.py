#!/usr/bin/env python3
"""bench/run.py from outside, with a build folder of fakes: files, exit codes, what an interrupt keeps."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from samples import ROOT, figure

import benches
import results

RUN = ROOT / "bench/run.py"
KERNEL = "systemc_array_kernel_bench"
NETWORK = "systemc_network_bench"


class Fakes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.json = self.folder / "new.json"
        (self.folder / "bin").mkdir()

    def fake(self, program, *figures, first="", then="exit 0"):
        lines = "\n".join(json.dumps(item) if isinstance(item, dict) else item for item in figures)
        script = self.folder / "bin" / program
        script.write_text(f"#!/bin/sh\n{first}\ncat <<'LINES'\n{lines}\nLINES\n{then}\n", encoding="utf8")
        script.chmod(0o755)

    def command(self, *arguments):
        """To be run in the folder, which is also the build folder."""
        return [sys.executable, "-B", str(RUN), "--build", ".", *map(str, arguments)]

    def run_bench(self, *arguments):
        return subprocess.run(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="utf8", cwd=self.folder, check=False)

    def expect(self, status, *arguments):
        done = self.run_bench(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def base(self, *figures):
        """A base of the same machine, made by a run."""
        self.fake(KERNEL, *figures)
        self.expect(0, "--only", "array_kernel", "--json", self.folder / "base.json")
        return self.folder / "base.json"


class Figures(Fakes):
    def test_figures_are_printed_and_kept(self):
        self.fake(KERNEL, figure("array_kernel/a", 0.002), figure("array_kernel/b", 5, "count"))
        done = self.expect(0, "--only", "array_kernel", "--json", self.json)
        self.assertRegex(done.stdout, r"(?m)^array_kernel/a +2 ms +9$")
        self.assertIn("(1/1) array_kernel", done.stderr)
        kept = results.load(self.json)
        self.assertEqual([item.value for item in kept["figures"].values()], [0.002, 5])
        self.assertEqual(kept["benches"], {"array_kernel": "ran"})
        self.assertTrue(kept["complete"])

    def test_the_paths_of_the_limits_are_a_table_of_their_own(self):
        self.fake("limits_bench", figure("limits/net/avx2/multiply/vpmaddwd", 0.002),
                  figure("limits/net/avx2/golden", 0.003))
        done = self.expect(0, "--only", "limits")
        self.assertRegex(done.stdout, r"(?m)^net +avx2 +vpmaddwd +2 ms +3 ms +-")

    def test_json_on_stdout_is_alone_there(self):
        self.fake(KERNEL, figure("array_kernel/a"))
        done = self.expect(0, "--only", "array_kernel", "--json", "-")
        self.assertEqual(json.loads(done.stdout)["schema"], "qsim.bench/1")
        self.assertIn("array_kernel/a", done.stderr)

    def test_a_bench_that_fails_is_1_and_the_others_run(self):
        self.fake(KERNEL, figure("array_kernel/a"), then="exit 3")
        self.fake(NETWORK, figure("systemc/a"))
        done = self.expect(1, "--only", "array_kernel", "--only", "systemc", "--json", self.json)
        self.assertIn("array_kernel failed: exit code 3", done.stderr)
        self.assertEqual(list(results.load(self.json)["figures"]), ["array_kernel/a", "systemc/a"])

    def test_a_bench_that_prints_no_figure_has_failed(self):
        self.fake(KERNEL)
        (self.folder / f"bin/{KERNEL}").write_text("#!/bin/sh\nexit 0\n", encoding="utf8")
        self.assertIn("printed no figure", self.expect(1, "--only", "array_kernel", "--json", self.json).stderr)
        self.assertRegex(results.load(self.json)["benches"]["array_kernel"], "^failed: .* printed no figure$")

    def test_how_long_it_takes_is_said_before_and_after(self):
        self.fake(KERNEL, figure("array_kernel/a"))
        said = self.expect(0, "--only", "array_kernel").stderr
        self.assertRegex(said, r"(?m)^  together some \d+ s on a quiet machine$")
        self.assertRegex(said, r"(?m)^    took \d+ s$")

    def test_a_program_that_is_not_there_is_a_failure(self):
        self.assertIn(f"failed: {self.folder.resolve()}/bin/{KERNEL}: No such file",
                      self.expect(1, "--only", "array_kernel").stderr)

    def test_a_file_that_becomes_unwritable_does_not_lose_the_figures(self):
        gone = self.folder / "gone"
        gone.mkdir()
        self.fake(KERNEL, figure("array_kernel/a", 0.002), then=f"rm -r {gone}")
        done = self.expect(3, "--only", "array_kernel", "--json", gone / "new.json")
        self.assertIn("new.json: cannot be written: No such file", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^array_kernel/a +2 ms +9$")

    def test_what_is_no_figure_is_a_failure(self):
        for line, why in (("oops", "Expecting value"), (figure("array_kernel/a", runs=3), "3 runs of a time"),
                          (figure("systemc/a"), "is not called array_kernel/")):
            self.fake(KERNEL, line)
            self.assertIn(why, self.expect(1, "--only", "array_kernel").stderr)
        self.fake(KERNEL, figure("array_kernel/a"), figure("array_kernel/a"))
        self.assertIn("came twice", self.expect(1, "--only", "array_kernel").stderr)

    def test_a_bench_whose_tools_are_missing_is_skipped(self):
        done = self.expect(0, "--only", "golden_vs_ort", "--json", self.json)
        self.assertIn("skipped: no ONNX Runtime", done.stderr)
        self.assertIn("skipped: no ONNX", results.load(self.json)["benches"]["golden_vs_ort"])


class Pages(unittest.TestCase):
    def test_every_benchmark_is_in_the_table_of_the_readme(self):
        text = (ROOT / "bench/README.md").read_text(encoding="utf8")
        for name in benches.NAMES:
            self.assertIn(f"\n| `{name}` | ", text)


class Against(Fakes):
    def test_worse_figures_are_6(self):
        base = self.base(figure("array_kernel/a", 100), figure("array_kernel/b", 100))
        self.fake(KERNEL, figure("array_kernel/a", 112), figure("array_kernel/b", 109))
        done = self.expect(6, "--only", "array_kernel", "--against", base)
        self.assertRegex(done.stdout, r"(?m)^array_kernel/a .* 1\.120 +WORSE$")
        self.assertRegex(done.stdout, r"(?m)^array_kernel/b .* 1\.090$")
        self.assertRegex(done.stdout, r"\n1 worse by more than 10%, 0 better")

    def test_figures_within_a_tenth_or_better_are_0(self):
        base = self.base(figure("array_kernel/a", 100), figure("array_kernel/b", 100))
        self.fake(KERNEL, figure("array_kernel/a", 109), figure("array_kernel/b", 50))
        self.assertRegex(self.expect(0, "--only", "array_kernel", "--against", base).stdout, "b .*better")

    def test_a_comparison_in_which_nothing_is_judged_is_6(self):
        base = self.other_machine()
        done = self.expect(6, "--only", "array_kernel", "--against", base)
        self.assertRegex(done.stdout, r"(?m)^array_kernel/a .* shown only$")
        self.assertIn("nothing could be judged", done.stdout)
        done = self.expect(6, "--only", "golden_vs_ort", "--against", base)
        self.assertIn("golden_vs_ort: skipped: no ONNX", done.stdout)
        self.assertIn("nothing could be judged", done.stdout)

    def other_machine(self):
        """A base of the same figures, measured on another processor."""
        base = self.base(figure("array_kernel/a"))
        changed = json.loads(base.read_text(encoding="utf8"))
        changed["machine"]["cpu"] = "Other"
        base.write_text(json.dumps(changed), encoding="utf8")
        return base

    def test_a_missing_figure_is_6(self):
        base = self.base(figure("array_kernel/a"), figure("array_kernel/b"))
        self.fake(KERNEL, figure("array_kernel/a"))
        self.assertRegex(self.expect(6, "--only", "array_kernel", "--against", base).stdout, "b .*MISSING")

    def test_a_base_that_cannot_be_read_is_3_and_nothing_runs(self):
        self.fake(KERNEL, figure("array_kernel/a"), then=f"touch {self.folder}/ran")
        (self.folder / "bad.json").write_text("{", encoding="utf8")
        for base, why in (("./absent.json", "absent.json: No such file"), (self.folder / "bad.json", "not JSON"),
                          ("no-such-machine", "--against no-such-machine: no such baseline; bench/baselines has")):
            done = self.expect(3, "--only", "array_kernel", "--against", base)
            self.assertRegex(done.stderr, f"^bench: [^\n]*{why}[^\n]*\n$")
        self.assertFalse((self.folder / "ran").exists())

    def test_wrong_options_are_2(self):
        for arguments in (["--only", "nothing"], ["--against", ""], ["--json", ""], ["--fast"],
                          ["--page", "--only", "rtl"]):
            done = self.expect(2, *arguments, "--dry-run")
            self.assertIn("bench: error: ", done.stderr)
        self.assertIn(", ".join(benches.NAMES), self.expect(2, "--only", "nothing").stderr)

    def test_json_that_cannot_be_written_is_3_before_anything_runs(self):
        for file in (self.folder, "/no/such/folder/x.json"):
            self.assertIn("cannot be written", self.expect(3, "--json", file, "--dry-run").stderr)


class Interrupt(Fakes):
    def interrupt(self, number):
        """Once the second bench has given a figure."""
        self.fake(KERNEL, figure("array_kernel/a"))
        # The sleeper is the bench's child, as qsim is of a script: its end shows in stderr, which it has open.
        self.fake(NETWORK, figure("systemc/a"), first="sleep 1000 &", then="wait")
        with subprocess.Popen(self.command("--only", "array_kernel", "--only", "systemc", "--json", self.json),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf8",
                              cwd=self.folder, start_new_session=True) as running:
            for line in running.stderr:
                if "systemc/a" in line:
                    break
            os.kill(running.pid, number)
            said = running.stderr.read()  # to its end: nobody that was started still has it open
            return running.wait(), said

    def test_what_was_measured_is_kept(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            status, said = self.interrupt(number)
            self.assertEqual(status, 130)
            self.assertIn(f"interrupted; {self.json} has what was measured", said)
            kept = results.load(self.json)
            self.assertFalse(kept["complete"])
            self.assertEqual(kept["benches"], {"array_kernel": "ran", "systemc": "interrupted"})
            self.assertEqual(list(kept["figures"]), ["array_kernel/a", "systemc/a"])


if __name__ == "__main__":
    unittest.main()
