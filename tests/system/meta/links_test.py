#!/usr/bin/env python3
"""The pages hold together: links lead to files and headings that are there, paths of the repository
in backticks exist, and every page can be reached from README.md.

usage: links_test.py REPOSITORY_ROOT
"""
import os
import pathlib
import re
import sys

# Folders whose pages are not of the repository.
SKIPPED = {"build", ".git"}
LINK = re.compile(r"\]\(([^) ]+)\)|<img src=\"([^\"]+)\"")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
# Top folders, for what in backticks looks like a path of the repository.
PATH = re.compile(r"^\.?/?((?:bench|cli|cmake|compiler|configs|core|docs|examples|formats|golden|include|models|python|"
                  r"quantize|report|rtl|sim|tests|tools)/[\w./{},*-]+)$")


def pages(root):
    """Every Markdown page, without those of build folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not (
            pathlib.Path(folder) / name / "CMakeCache.txt").exists())
        for name in sorted(names):
            if name.endswith(".md") and not name.startswith("."):
                yield pathlib.Path(folder, name)


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        number = 1
        unique = anchor
        while unique in found:
            unique = f"{anchor}-{number}"
            number += 1
        found.add(unique)
    return found


def alternatives(path):
    """`a/{b,c}.h` is two paths."""
    match = re.search(r"\{([^{}]*)\}", path)
    if match is None:
        return [path]
    return [one for part in match[1].split(",")
            for one in alternatives(path[:match.start()] + part + path[match.end():])]


def is_pattern(path):
    """`tests/STAGE/...` stands for several."""
    return re.search(r"(^|[/_])[A-Z]{2,}[/_]", path) is not None


def check_page(root, page, faults):
    """Links and paths of one page; the pages that it links to."""
    text = FENCE.sub("", page.read_text())
    name = page.relative_to(root)
    linked = set()
    for match in LINK.finditer(text):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            faults.append(f"{name}: the link {target} leads nowhere")
        elif anchor and (file.suffix != ".md" or anchor not in anchors(file.read_text())):
            faults.append(f"{name}: the link {target}: no such heading in {file.relative_to(root)}")
        elif file.suffix == ".md":
            linked.add(file)
    for quoted in re.findall(r"`([^`\n]+)`", text):
        match = PATH.match(quoted)
        for path in alternatives(match[1]) if match else []:
            if not is_pattern(path) and not list(root.glob(path.rstrip("/"))):
                faults.append(f"{name}: `{path}` is not in the repository")
    return linked


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    faults = []
    links = {page: check_page(root, page, faults) for page in pages(root)}
    reached, ahead = set(), [root / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead += links.get(page, ())
    for page in sorted(set(links) - reached):
        faults.append(f"{page.relative_to(root)}: no chain of links leads from README.md to it")
    if len(links) < 25:
        faults.append(f"only {len(links)} pages found")
    print("\n".join(faults))
    print(f"{len(links)} pages, {sum(map(len, links.values()))} links between them, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
