#!/usr/bin/env python3
"""No constant of an unnamed namespace has the name of one in a header.

Sources of a library are compiled as one (CMake's unity build): in the sources after it, the constant of the unnamed
namespace would silently take the place of the header's where that is in an enclosing namespace.

usage: hidden_constants_test.py REPOSITORY_ROOT
"""
import collections
import pathlib
import re
import sys

import type_names_test as tokens

CONSTANT = re.compile(r"k[A-Z]\w*")


def constants(text):
    """(namespaces, name, line) of each constant and unscoped enumerator of a namespace."""
    text = tokens.DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), tokens.SILENT.sub(tokens.blank, text))
    scopes, words, in_enum = [], [], False  # of scopes: a namespace's name, or None for any other

    def defined(at):
        inside = [scope for scope in scopes if scope]
        line = text.count("\n", 0, at) + 1
        if in_enum:
            return [(inside, words[0], line)] if words else []
        if None in scopes or not {"constexpr", "const"} & set(words):
            return []
        ends = [i for i, word in enumerate(words) if word in ("=", "[", "(")] or [len(words)]
        names = [word for word in words[:ends[0]][-1:] if CONSTANT.fullmatch(word)]
        return [(inside, name, line) for name in names]

    for token in tokens.TOKEN.finditer(text):
        if token[0] == "{":
            yield from defined(token.start())
            opened = tokens.opened_namespace(words)
            in_enum = None not in scopes and words[:1] == ["enum"] and words[1:2] not in (["class"], ["struct"])
            scopes.append(opened)
            words = []
        elif token[0] == "}":
            yield from defined(token.start()) if in_enum else ()
            in_enum = False
            del scopes[-1:]
            words = []
        elif token[0] == ";" or token[0] == "," and in_enum:
            yield from defined(token.start())
            words = []
        else:
            words.append(token[0])


def hidden(sources):
    """What hides a header's constant, in sources that are pairs of path and text."""
    headers, unnamed = collections.defaultdict(list), []
    for path, text in sources:
        for inside, name, line in constants(text):
            named = "::".join(scope for scope in inside if scope != tokens.UNNAMED)
            if tokens.UNNAMED not in inside:
                if path.suffix in (".h", ".cuh"):
                    headers[name].append((named, path))
            elif path.suffix == ".cpp":
                unnamed.append((f"{named}::", name, path, line))
    count = len(unnamed)
    faults = []
    for named, name, path, line in unnamed:
        found = next((header for namespace, header in headers[name] if named.startswith(f"{namespace}::") and
                      (path.parts[0] in ("tests", "bench") or header.parts[0] not in ("tests", "bench"))), None)
        if found is not None:
            faults.append(f"{path}:{line}: {name} hides that of {found}; give it another name")
    return count, faults


def main():
    root = pathlib.Path(sys.argv[1])
    paths = sorted(path for folder in tokens.FOLDERS for path in (root / folder).rglob("*")
                   if path.suffix in tokens.SUFFIXES)
    count, faults = hidden([(path.relative_to(root), path.read_text(encoding="utf-8")) for path in paths])
    if count < 500:
        faults.append(f"only {count} constants were found; the test looks in the wrong place")
    print("\n".join([*faults, f"{count} constants of unnamed namespaces, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
