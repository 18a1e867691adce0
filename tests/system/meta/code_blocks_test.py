#!/usr/bin/env python3
"""The commands that the pages show run as they are, and print what the pages show.

usage: code_blocks_test.py [--write] REPOSITORY_ROOT QSIM
--write puts what the commands print into the pages where they show other text; review it as code.
An indented block that begins with a command is run, in order, from a work folder that looks like the
repository's root; its exit code must be 0. A ``` block next after it is all that it prints, but for
times. A page that shows --report links to where the chart library comes from. A block after the comment `<!-- not run: REASON -->` is neither run nor compared. These must carry
one: what builds, tests or installs (./dev); a fence of sh or python, or one that begins with a command;
a block that begins with `$ `, which has commands and what they print in one.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import links_test
import times

COMMAND = re.compile(r"^(\./|build/|qsim |git |sed |for \w+ in |echo |examples/|rtl/|bench/|tools/|tests/|"
                     r"golden_cuda_check |DIR/|cmake |ctest |python3 )")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
NEVER_RUN = re.compile(r"^(\./dev|git|sudo|apt-get|DIR/)\b")
# Fences of these kinds are commands or a program.
SCRIPTS = ("sh", "bash", "console", "shell", "python")
# What a formula, a table or a sentence has in its first line, and a command has not.
NO_COMMAND = re.compile(r" [=*+] |\S {2,}[^ #]|^\S+ (\(|of |is |the )")


class Block:
    """Commands of a page, and what they print if the page shows it."""

    def __init__(self, page, line, reason, fenced=False):
        self.where = f"{page}:{line}"
        self.reason = reason
        self.fenced = fenced
        self.commands = []
        self.shown = None
        self.shown_from = 0  # index of its first line on the page
        self.printed = None  # where that is other text


def is_command(line):
    """Whether the first line of a block is a command: one of ours, or of whatever is on PATH."""
    if COMMAND.match(line) or line.startswith("$ "):
        return True
    if line.startswith(" ") or NO_COMMAND.search(line):
        return False
    return bool(shutil.which(line.split(" ")[0])) or bool(re.search(r"^[\w./-]+ (.* )?--?[a-z]", line))


def blocks(text, name):
    """The command blocks of a page, in order; `name` is the page's."""
    found, block, fence, reason, after_code, after_blank = [], None, None, "", False, True
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if fence is None:
                fence = []
                shows = after_code and line == "```"
                is_script = line[3:].strip() in SCRIPTS
            else:
                if shows and found:
                    found[-1].shown = fence
                    found[-1].shown_from = number - 1 - len(fence)
                elif fence and (is_script or is_command(fence[0])):
                    found.append(Block(name, number - len(fence), reason, fenced=True))
                    found[-1].commands = fence
                fence, block, after_code, reason = None, None, False, ""
        elif fence is not None:
            fence.append(line)
        elif line.startswith("    ") and (block or after_blank and (reason or is_command(line[4:]))):
            if block is None:
                block = Block(name, number, reason)
                found.append(block)
                reason, after_code = "", True
            block.commands.append(line[4:])
        else:
            block = None
            if NOT_RUN.match(line):
                reason = NOT_RUN.match(line)[1]
            elif line.strip():
                reason = ""
        after_blank = not line.strip() or NOT_RUN.match(line) is not None
    return found


def work_folder(root, qsim, folder):
    """A folder in which the repository's paths lead to it, and `build` and new files do not."""
    for entry in root.iterdir():
        if entry.name != "build" and not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    for place in (folder / "build/release", folder / "bin"):
        place.mkdir(parents=True)
        (place / "qsim").symlink_to(qsim)
    (folder / "build/release/bin").symlink_to(qsim.parent / "bin")
    # What README calls yours.
    model = root / "models/resnet14-cifar10/resnet14-float"
    shutil.copy(f"{model}.onnx", folder / "my_float.onnx")
    shutil.copy(f"{model}.yaml", folder / "my_float.yaml")
    cat = root / "models/pictures/chelsea-32x32.png"
    shutil.copy(cat, folder / "cat.jpg")
    (folder / "pictures").mkdir()
    shutil.copy(cat, folder / "pictures/cat.png")
    records = [bytes([index % 10]) + bytes((index * k + k // 7) % 256 for k in range(3072))
               for index in range(40)]
    (folder / "test_batch.bin").write_bytes(b"".join(records))


def comparable(lines):
    """Lines without times and without blanks at their ends."""
    text = times.without_times("\n".join(line.rstrip() for line in lines))
    return text.strip("\n").splitlines()


def run(block, folder):
    """A fault's text, or nothing."""
    if block.fenced or any(NEVER_RUN.match(line) or line.startswith("$ ") for line in block.commands):
        return f"{block.where}: needs <!-- not run: REASON --> in front: {block.commands[0]}"
    script = [line for line in block.commands
              if shutil.which("verilator") or "rtl" not in line]
    environment = dict(os.environ, QSIM_GOLDEN="cpu", PATH=f"{folder}/bin:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-e", "-c", "\n".join(script)], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=120)
    printed = done.stdout.decode()
    if done.returncode != 0:
        return f"{block.where}: exit code {done.returncode}:\n{printed[-500:]}"
    if block.shown is None:
        return ""
    # Progress is for those who wait; qsim's own begins after a second, which a slow machine may need.
    lines = [line for line in printed.splitlines() if not re.match(r"  \[|\r|qsim: (?!error:)", line)]
    if comparable(lines) == comparable(block.shown):
        return ""
    block.printed = lines
    return f"{block.where}: shows other text than it prints, which is:\n{printed}"


def write(page, found):
    """Puts what the blocks printed where the page shows other text; the last block first, so that line numbers hold."""
    lines = page.read_text().splitlines()
    for block in reversed(found):
        if block.printed is not None:
            lines[block.shown_from:block.shown_from + len(block.shown)] = [line.rstrip() for line in block.printed]
            print(f"{block.where}: written")
    page.write_text("\n".join(lines) + "\n")


def missing_library(page, found):
    """A fault where a page's reader gives --report without knowing what `./dev demo` does not install."""
    text = page.read_text()
    # The report of quantize has no charts that need it.
    shows = any(" --report " in line and "qsim quantize " not in line
                for block in found for line in block.commands)
    if not shows or "#the-chart-library" in text or "## The chart library" in text:
        return ""
    return f"{page}: shows --report, but no link to output.md#the-chart-library"


def main():
    writes = sys.argv[1:2] == ["--write"]
    root, qsim = (pathlib.Path(argument).resolve() for argument in sys.argv[1 + writes:])
    faults, ran, compared = [], 0, 0
    for page in links_test.pages(root):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            work_folder(root, qsim, folder)
            found = blocks(page.read_text(), page.relative_to(root))
            faults += filter(None, [missing_library(page, found)])
            for block in found:
                if block.reason:
                    print(f"{block.where}: not run: {block.reason}")
                    continue
                fault = run(block, folder)
                ran += 1
                compared += block.shown is not None
                if fault:
                    faults.append(fault)
            if writes and any(block.printed is not None for block in found):
                write(page, found)
    print("\n".join(faults))
    if ran < 8 or compared < 3:
        faults.append("too few")
    print(f"{ran} blocks of commands ran, {compared} outputs compared, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
