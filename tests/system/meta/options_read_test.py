#!/usr/bin/env python3
"""Every member of Options (cli/terminal/options.h) has a reader: an option that is parsed and then ignored is a fault.

usage: options_read_test.py REPOSITORY_ROOT
"""
import pathlib
import re
import sys

HEADER = "cli/terminal/options.h"
# The files that write the members; reading is what happens elsewhere.
PARSER = {"cli/terminal/option_groups.cpp", "cli/terminal/options.cpp", HEADER}


def members(header):
    """Names of the members of struct Options."""
    body = re.search(r"^struct Options \{\n(.*?)^\};", header, re.M | re.S)
    return re.findall(r"^  [\w:<>, ]+ (\w+)(?: = [^;]+)?;", body.group(1), re.M)


def unread(header, sources):
    """The members that no source reads through an object named options."""
    text = "\n".join(sources)
    return [name for name in members(header)
            if not re.search(rf"\boptions(?:_|\(\))?\.{name}\b", text)]


def main():
    root = pathlib.Path(sys.argv[1])
    header = (root / HEADER).read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in sorted((root / "cli").rglob("*.cpp"))
               if str(path.relative_to(root)) not in PARSER]
    names = members(header)
    faults = unread(header, sources)
    for name in faults:
        print(f"{HEADER}: {name} is parsed and nothing reads it")
    print(f"{len(names)} members of Options: {len(faults)} without a reader")
    return 1 if faults or len(names) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
