#!/usr/bin/env python3
"""Real benchmark programs print figures that bench/run.py takes.

usage: programs_test.py PROCESS_COST SYSTEMC_NETWORK_BENCH QSIM LIMITS_BENCH RECURRENCE_BENCH MAPPER_BENCH
"""
import json
import subprocess
import sys
import unittest

from samples import ROOT

import machine
from figure import figure_of

PROCESS_COST, NETWORK_BENCH, QSIM, LIMITS_BENCH, RECURRENCE_BENCH, MAPPER_BENCH = sys.argv[1:7]


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

    def test_the_recurrence_has_times_beside_those_of_systemc(self):
        inputs = (ROOT / "configs/pe16x16.yaml", ROOT / "models/workloads/fc_batch16.yaml")
        found = figures(RECURRENCE_BENCH, "--figures", *inputs)
        name = "recurrence/fc_batch16/pe16x16"
        self.assertEqual({key.removeprefix(name): figure.kind for key, figure in found.items()},
                         {"/add": "time", "/program": "time", "/systemc": "time", "/program_over_systemc": "ratio"})

    def test_both_searches_of_the_mapper_have_a_time_and_what_they_chose(self):
        inputs = (ROOT / "configs/pe16x16.yaml", ROOT / "models/workloads/conv1x1.yaml")
        found = figures(MAPPER_BENCH, "--full", "5", "--figures", *inputs)
        name = "mapper/conv1x1/pe16x16"  # the full search runs once, too few for a time
        counts = {f"{name}/{search}/{end}": "count" for search in ("fast", "full") for end in ("cycles", "dram")}
        self.assertEqual({key: figure.kind for key, figure in found.items()}, {f"{name}/fast": "time", **counts})


class Limits(unittest.TestCase):
    INPUTS = (ROOT / "configs/pe16x16.yaml", ROOT / "models/workloads/fc_batch16.yaml")
    # The instructions of each path's limit, the best path first.
    LIMITS = {"avx512_vnni": "vpdpbusd_512_bits", "avx_vnni": "vpdpbusd_256_bits",
              "avx2": "vpmaddwd_and_vpaddd_256_bits", "portable": "pmaddwd_and_paddd_128_bits"}

    def paths(self):
        return [path for path in self.LIMITS if path in machine.vector_instructions()] or ["portable"]

    def test_each_phase_and_each_path_has_its_time_its_limit_and_their_ratio(self):
        found = figures(LIMITS_BENCH, "--figures", *self.INPUTS)
        name = "limits/fc_batch16"
        phase = {"/time": "time", "/limit": "time", "/time_over_limit": "ratio"}
        wanted = {f"/{what}{key}": kind for what in ("simulate", "golden") for key, kind in phase.items()}
        wanted |= {f"/{key}": "time" for key in ("multiply_gigamac", "copy_gigabyte", "read_gigabyte")}
        for path in self.paths():
            wanted[f"/{path}/multiply/{self.LIMITS[path]}"] = "time"
            wanted |= {f"/{path}/{what}": "time" for what in ("golden", "simulate")}
            wanted |= {f"/{path}/{what}": "ratio" for what in
                       ("golden_over_multiply", "simulate_over_multiply", "simulate_over_golden")}
        self.assertEqual({key.removeprefix(name): figure.kind for key, figure in found.items()}, wanted)
        for figure in found.values():
            self.assertEqual(figure.runs, 9)
            self.assertGreater(figure.value, 0, figure.name)
        # A phase's limit has all multiplications in it, and its bytes beside them.
        macs = json.loads(run(QSIM, "--model", "fc_batch16", "--quiet", "--json", "-").stdout)["total"]["macs"]
        for what in ("simulate", "golden"):
            least = found[f"{name}/multiply_gigamac"].spread[0] * macs / 1e9
            self.assertGreater(found[f"{name}/{what}/limit"].spread[1], least)

    def test_the_table_has_a_row_for_each_path(self):
        done = run(LIMITS_BENCH, *self.INPUTS)
        self.assertEqual(done.returncode, 0, done.stderr)
        titles, *rows = done.stdout.splitlines()
        self.assertTrue(titles.startswith("path "), titles)
        self.assertEqual([row.split()[:2] for row in rows], [[path, "fc_batch16"] for path in self.paths()])
        for row, path in zip(rows, self.paths()):
            self.assertIn(self.LIMITS[path], row.replace(",", "").replace(" ", "_"))

    def test_one_path_is_measured_alone_where_it_is_named(self):
        done = run(LIMITS_BENCH, "--vector", "portable", *self.INPUTS)
        self.assertEqual([row.split()[0] for row in done.stdout.splitlines()], ["path", "portable"])
        self.assertEqual(run(LIMITS_BENCH, "--vector", "mmx", *self.INPUTS).returncode, 2)

    def test_a_file_that_cannot_be_read_ends_it_with_3(self):
        done = run(LIMITS_BENCH, ROOT / "configs/pe16x16.yaml", ROOT / "no_such.yaml")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no_such.yaml", done.stderr)

    def test_usage_errors_are_2(self):
        self.assertEqual(run(LIMITS_BENCH, "--figures").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
