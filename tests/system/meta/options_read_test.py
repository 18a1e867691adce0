#!/usr/bin/env python3
"""Every member of the options of a command (struct ...Options or ...Choice in cli/) has a reader besides its
declaration: an option that is parsed and then ignored is a fault. A reader is a source that names the struct, or
one that derives from it.

usage: options_read_test.py REPOSITORY_ROOT
"""
import pathlib
import re
import sys

STRUCT = re.compile(r"^struct (\w+(?:Options?|Choice))\b([^;{]*)\{\n(.*?)^\};", re.M | re.S)
MEMBER = re.compile(r"^  [\w:<>, ]+? (\w+(?:, \w+)*)(?: = [^;]+)?;", re.M)
DECLARATION = re.compile(r"^(?:inline )?(?:void|OptionRow&) declare_\w+\(.*?^\}", re.M | re.S)
SHARED = {"ConfigOption", "NetworkOptions", "ScaleOptions"}  # NetworkRequest derives from them


def members(sources):
    """(struct, member) of every struct of options."""
    return [(struct, name) for source in sources for struct, _, body in STRUCT.findall(source)
            for names in MEMBER.findall(body) for name in names.split(", ")]


def family_of(struct, structs):
    """The struct and all that derive from it."""
    family = {struct}
    while more := {name for name, (bases, _) in structs.items()
                   if any(re.search(rf"\b{one}\b", bases) for one in family)} - family:
        family |= more
    return family | ({"NetworkRequest"} if struct in SHARED else set())


def unread(sources):
    """The members that no source reads, declarations apart."""
    structs = {name: (bases, body) for source in sources for name, bases, body in STRUCT.findall(source)}
    faults = []
    for struct, (_, body) in structs.items():
        family = family_of(struct, structs)
        text = "\n".join(DECLARATION.sub("", source) for source in sources
                         if any(re.search(rf"\b{one}\b", source) for one in family))
        for name in (name for names in MEMBER.findall(body) for name in names.split(", ")):
            reads = len(re.findall(rf"(?<!declared)\.{name}\b(?! = )", text))
            inside = sum(len(re.findall(rf"(?<![\w.]){name}\b", line))
                         for line in body.splitlines() if "return" in line)
            if reads + inside == 0:
                faults.append((struct, name))
    return faults


def main():
    root = pathlib.Path(sys.argv[1])
    sources = [path.read_text(encoding="utf-8") for path in sorted((root / "cli").rglob("*"))
               if path.suffix in (".h", ".cpp")]
    names = members(sources)
    faults = unread(sources)
    for struct, name in faults:
        print(f"{struct}: {name} is parsed and nothing reads it")
    print(f"{len(names)} members of options: {len(faults)} without a reader")
    return 1 if faults or len(names) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
