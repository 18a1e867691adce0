#!/usr/bin/env python3
"""No name of a type is defined twice in one namespace.

Two definitions of one name in one executable break the one-definition rule of C++: the linker keeps the functions
of one of them, and no tool warns. Types of an unnamed namespace, and those inside a class or function, are apart.

usage: type_names_test.py REPOSITORY_ROOT
"""
import collections
import pathlib
import re
import sys

FOLDERS = ("bench", "cli", "compiler", "core", "examples", "formats", "golden", "include", "models",
           "quantize", "report", "rtl", "sim", "tests", "tools")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
UNNAMED = "(unnamed)"
# Comments, raw and plain strings, characters (not the digits' separator).
SILENT = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
                    re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
TOKEN = re.compile(r"\w+|::|[^\s\w]")
BRACKETS = {"<": ">", "(": ")", "[": "]"}


def blank(match):
    """What a silent part becomes: its line ends, so that lines keep their numbers."""
    return ("''" if match[0][0] in "\"R'" else " ") + "\n" * match[0].count("\n")


def skip_brackets(words, at):
    """The place after the brackets that open at `at`. A `>` inside round ones closes nothing."""
    closes, inner = BRACKETS[words[at]], (words[at], "(")
    at += 1
    while at < len(words) and words[at] != closes:
        at = skip_brackets(words, at) if words[at] in inner else at + 1
    return at + 1


def defined_type(words):
    """The index of the name that these words before a { define; None where they define no type."""
    at = 0
    while at < len(words) and words[at] == "template":
        at = skip_brackets(words, at + 1)
    if at >= len(words) or words[at] not in ("struct", "class", "union", "enum"):
        return None
    at += 1
    while at < len(words) and words[at] in ("class", "struct", "[", "alignas"):
        at += words[at] == "alignas"
        at = skip_brackets(words, at) if words[at] in BRACKETS else at + 1
    is_name = at < len(words) and re.fullmatch(r"\w+", words[at])
    # `struct X<int> {` is a specialization, and `struct X f() {` a function.
    ends = is_name and (at + 1 == len(words) or words[at + 1] in ("final", ":"))
    return at if ends else None


def opened_namespace(words):
    """The name of the namespace that these words open; None where they open something else."""
    if words[:1] == ["extern"]:
        return "" if "'" in words else None
    if "namespace" not in words[:2]:
        return None
    return "".join(words[words.index("namespace") + 1:]) or UNNAMED


def types(text):
    """(namespace, name, line) of each type that is defined in a namespace."""
    text = DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), SILENT.sub(blank, text))
    scopes, words, places = [], [], []  # of scopes: a namespace's name, or None for any other
    for token in TOKEN.finditer(text):
        if token[0] == "{":
            opened = opened_namespace(words)
            found = defined_type(words) if opened is None and None not in scopes else None
            if found is not None:
                yield "::".join(filter(None, scopes)), words[found], text.count("\n", 0, places[found]) + 1
            scopes.append(opened)
        elif token[0] == "}":
            del scopes[-1:]
        elif token[0] != ";":
            words.append(token[0])
            places.append(token.start())
            continue
        words, places = [], []


def twice(sources):
    """What is defined twice in the sources, which are pairs of path and text."""
    found = collections.defaultdict(list)
    for path, text in sources:
        for namespace, name, line in types(text):
            if UNNAMED not in namespace:
                found[f"{namespace}::{name}".removeprefix("::")].append(f"{path}:{line}")
    return len(found), [f"{name} is defined in {' and in '.join(places)}"
                        for name, places in sorted(found.items()) if len(places) > 1]


def main():
    root = pathlib.Path(sys.argv[1])
    paths = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)
    count, faults = twice((path.relative_to(root), path.read_text(encoding="utf-8")) for path in paths)
    if count < 1000:
        faults.append(f"only {count} types were found; the test looks in the wrong place")
    for fault in faults:
        print(fault + "; rename one, or put them into namespaces of their own" if "defined" in fault else fault)
    print(f"{count} types, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
