"""Every message that the Python package raises itself is a row of docs/reference/errors.md, section "The Python package".

usage: messages_test.py REPOSITORY_ROOT
"""
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
ERRORS = {"BadInput", "Unsupported", "ImportError", "TypeError", "FileNotFoundError"}


def text_of(node):
    """A string with {} for what it is told at run time; None for another expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def raised(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        name = node.exc.func.attr if isinstance(node.exc.func, ast.Attribute) else getattr(node.exc.func, "id", "")
        if name in ERRORS and node.exc.args:
            yield file, node.lineno, text_of(node.exc.args[0])


def documented():
    page = (ROOT / "docs/reference/errors.md").read_text()
    section = page.split("\n## The Python package\n")[1].split("\n## ")[0]
    return {re.sub(r"\{[^}]*\}", "{}", row) for row in
            re.findall(r"^\| `+ ?(.*?) ?`+ \| ", section, re.MULTILINE)}


def main():
    rows, found, faults = documented(), set(), 0
    for file in sorted((ROOT / "python/qsim").rglob("*.py")):
        for place, line, text in raised(file):
            found.add(text)
            if text not in rows:
                print(f"{place.relative_to(ROOT)}:{line}: not in docs/reference/errors.md: {text!r}")
                faults += 1
    for row in sorted(rows - found):
        print(f"docs/reference/errors.md: nothing raises {row!r}")
        faults += 1
    print(f"{len(found)} messages, {faults} faults")
    return faults > 0 or not found


sys.exit(main())
