#!/usr/bin/env python3
"""Real benchmark programs print figures that bench/run.py takes.

usage: programs_test.py PROCESS_COST SYSTEMC_NETWORK_BENCH QSIM
"""
import json
import subprocess
import sys
import unittest

from samples import ROOT

from figure import figure_of

PROCESS_COST, NETWORK_BENCH, QSIM = sys.argv[1:4]


def run(*command):
    return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf8", check=False)


def figures(*command):
    done = run(*command)
    assert done.returncode == 0, done.stderr
    return {found.name: found for found in map(figure_of, map(json.loads, done.stdout.splitlines()))}


class Programs(unittest.TestCase):
    def test_a_process_has_wall_time_and_memory(self):
        found = figures(PROCESS_COST, "--name", "process/version", QSIM, "--version")
        self.assertEqual(set(found), {"process/version/wall", "process/version/peak_memory"})
        self.assertEqual(found["process/version/wall"].runs, 9)

    def test_memory_is_the_most_that_the_child_had_at_a_time(self):
        size = 200_000_000
        small, large = (figures(PROCESS_COST, "--name", "process/x", "/usr/bin/python3", "-c",
                                f"for _ in range(3): b'x' * {n}")["process/x/peak_memory"].value
                        for n in (1, size))
        self.assertAlmostEqual(large - small, size, delta=size // 100)

    def test_a_process_that_fails_is_a_failure(self):
        for command, why in ((["sh", "-c", "exit 7"], "exit code 7"), (["sh", "-c", "kill -9 $$"], "signal 9"),
                             (["/no/such/program"], "exit code 127")):
            done = run(PROCESS_COST, "--runs", 1, *command)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(why, done.stderr)

    def test_usage_errors_are_2(self):
        for arguments in ([], ["--runs", "0", "true"], ["--fast", "1", "true"], ["--name", "a"]):
            self.assertEqual(run(PROCESS_COST, *arguments).returncode, 2)

    def test_a_network_has_times_and_counts(self):
        found = figures(NETWORK_BENCH, "--figures", ROOT / "configs/pe16x16.yaml",
                        ROOT / "models/workloads/fc_batch16.yaml")
        name = "systemc/fc_batch16/pe16x16"
        self.assertEqual({key.removeprefix(name): figure.kind for key, figure in found.items()},
                         {"/with_data": "time", "/time_only": "time", "/commands": "count", "/cycles": "count"})
        report = json.loads(run(QSIM, "--model", "fc_batch16", "--quiet", "--json", "-").stdout)
        self.assertEqual(found[f"{name}/cycles"].value, report["total"]["cycles"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
