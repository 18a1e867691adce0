#!/usr/bin/env python3
"""bench/instructions/counter.py: what is read of the tools' outputs. The tools themselves are faked; the
last test takes the one that this machine has."""
import pathlib
import re
import tempfile
import unittest

import samples  # noqa: F401  pylint: disable=unused-import

import counter

PERF = "# started on Mon\n\n1234567,,instructions:u,1000,100.00,,\n"
CALLGRIND = "==7== Events    : Ir\n==7== Collected : 210738453\n==7== I   refs:      210,738,453\n"


def faked(like, text, status=0):
    """A counter that writes `text` instead of counting."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False, encoding="utf8") as file:
        file.write(text)
    unittest.addModuleCleanup(pathlib.Path(file.name).unlink)
    return counter.Counter(like.tool, ("sh", "-c", f"cp {file.name} %LOG; exit {status}", "sh"), like.pattern)


class Counting(unittest.TestCase):
    def setUp(self):
        self.perf = counter.perf()
        self.callgrind = counter.Counter("callgrind", (), re.compile(r"I\s+refs:\s+([\d,]+)"))

    def test_counts_are_read(self):
        self.assertEqual(faked(self.perf, PERF).count(["true"]), 1234567)
        self.assertEqual(faked(self.callgrind, CALLGRIND).count(["true"]), 210738453)

    def test_a_processor_without_counters_is_no_counter(self):
        text = "<not supported>,,instructions:u,0,100.00,,\n"
        with self.assertRaises(counter.CounterFailed):
            faked(self.perf, text).count(["true"])
        self.assertFalse(counter.works(faked(self.perf, text)))

    def test_a_program_that_fails_is_not_counted(self):
        with self.assertRaisesRegex(counter.CounterFailed, "exit code 3"):
            faked(self.perf, PERF, status=3).count(["true"])

    def test_the_tool_says_up_to_which_vectors_it_counts(self):
        self.assertTrue(self.perf.tool.startswith("perf, "))

    def test_the_tool_of_this_machine_counts_more_for_more_work(self):
        found = counter.find()
        if found is None:
            self.skipTest("neither perf with hardware counters nor valgrind")
        short, long = (found.count(["/bin/sh", "-c", f"i=0; while [ $i -lt {n} ]; do i=$((i+1)); done"])
                       for n in (100, 10000))
        self.assertGreater(long, 2 * short)


if __name__ == "__main__":
    unittest.main()
