#!/usr/bin/env python3
"""Every source with functions for vector instructions of their own rounds each product and sum by itself.

GCC fuses a product and a sum into one operation where an instruction set has it, which would give other bits on
other processors, unless -ffp-contract=off says no; and GCC 12 does not see that option in such a function if the
source has a precompiled header. CMake's qsim_vector_sources() lists these sources; this test finds those that
are not listed.

usage: vector_sources_test.py REPOSITORY_ROOT COMPILE_COMMANDS
"""
import json
import pathlib
import re
import sys

VECTOR_FUNCTION = re.compile(r"__attribute__\s*\(\(\s*target(?:_clones)?\s*\(")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# Tests and benchmarks give no results of the program.
LEFT_OUT = ("bench/", "tests/", "build/")


def has_vector_functions(root, path, seen=None):
    """Whether the source, or a header of the project that it includes, has one."""
    seen = set() if seen is None else seen
    if path in seen or not (root / path).is_file():
        return False
    seen.add(path)
    text = (root / path).read_text(encoding="utf-8")
    return bool(VECTOR_FUNCTION.search(text)) or any(
        has_vector_functions(root, name, seen) for name in INCLUDE.findall(text))


def faults(root, commands):
    """(sources with vector functions, what is wrong with them)."""
    sources, wrong = set(), set()
    for entry in commands:
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(root) or path.suffix != ".cpp":
            continue
        name = str(path.relative_to(root))
        if name.startswith(LEFT_OUT) or not has_vector_functions(root, name):
            continue
        sources.add(name)
        if "-ffp-contract=off" not in entry["command"]:
            wrong.add(f"{name}: is compiled without -ffp-contract=off; add it to qsim_vector_sources()")
        if "cmake_pch" in entry["command"]:
            wrong.add(f"{name}: has a precompiled header; add it to qsim_vector_sources()")
    return sorted(sources), sorted(wrong)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sources, wrong = faults(root, json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")))
    for fault in wrong:
        print(fault)
    print(f"{len(sources)} sources with vector functions: {len(wrong)} faults")
    return 1 if wrong or len(sources) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
