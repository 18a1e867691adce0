#!/usr/bin/env python3
"""Every member of the options of a command (struct ...Options in cli/) has a reader besides its
declaration: an option that is parsed and then ignored is a fault.

usage: options_read_test.py REPOSITORY_ROOT
"""
import pathlib
import re
import sys

STRUCT = re.compile(r"^struct (\w+Options)\b[^;{]*\{\n(.*?)^\};", re.M | re.S)
MEMBER = re.compile(r"^  [\w:<>, ]+? (\w+(?:, \w+)*)(?: = [^;]+)?;", re.M)


def members(source):
    """(struct, member) of every struct of options."""
    return [(struct, name) for struct, body in STRUCT.findall(source)
            for names in MEMBER.findall(body) for name in names.split(", ")]


def unread(sources):
    """The members that no source mentions but their declaration, or as a member of its own struct."""
    text = "\n".join(sources)
    faults = []
    for struct, name in members(text):
        mentions = len(re.findall(rf"\.{name}\b", text))
        inside = sum(len(re.findall(rf"(?<![\w.]){name}\b", line)) for owner, body in STRUCT.findall(text)
                     if owner == struct for line in body.splitlines() if "return" in line)
        if mentions + inside < 2:
            faults.append((struct, name))
    return faults


def main():
    root = pathlib.Path(sys.argv[1])
    sources = [path.read_text(encoding="utf-8") for path in sorted((root / "cli").rglob("*"))
               if path.suffix in (".h", ".cpp")]
    names = members("\n".join(sources))
    faults = unread(sources)
    for struct, name in faults:
        print(f"{struct}: {name} is parsed and nothing reads it")
    print(f"{len(names)} members of options: {len(faults)} without a reader")
    return 1 if faults or len(names) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
