#!/usr/bin/env python3
"""Whether the tests gave every option, and how errors look: run after them (./dev test does).

usage: provoked.py [--partial] REPOSITORY_ROOT BUILD_FOLDER
With --partial, for a machine that skips tests or runs others (a GPU's), an option that no test gave is told and
is no fault.
BUILD_FOLDER/record/record.jsonl is what tests/system/record/record.cpp wrote. Checked:
- every option of every command of qsim was run with exit code 0, and every option that takes a value
  was refused one;
- every command and option of ./dev, and every option of the other programs, was given to it;
- every qsim::Error that was thrown has a documented exit code and a text.
"""
import json
import pathlib
import re
import subprocess
import sys

# Programs beside qsim and ./dev that people start themselves, and what starts them.
TOOLS = {"verify_rtl": (), "bench/run.py": ("/usr/bin/python3", "-B")}
# What only a GPU lets end with exit code 0: gpu-test runs it.
OF_A_GPU = {("golden linear", "--device")}
EXIT_CODES = range(1, 8)  # docs/reference/cli.md
faults = []
missing = []


def complain(text):
    """One fault."""
    faults.append(text)


def miss(text):
    """Something that depends on which tests ran; a fault where all that are required did."""
    missing.append(text)


def read_record(path):
    """(errors: {(code, message)}, runs: [(exit code, argv)])"""
    errors, runs = set(), []
    # Not splitlines(), to which U+2028 in a message ends a line too.
    for line in filter(None, path.read_text(errors="replace").split("\n")):
        entry = json.loads(line)
        if "message" in entry:
            errors.add((entry["code"], entry["message"]))
        else:
            runs.append((entry["exit"], entry["argv"]))
    return errors, runs


def check_errors(errors):
    for code, message in sorted(errors):
        if code not in EXIT_CODES or not message.strip():
            complain(f"an error with exit code {code} and the text {message[:300]!r}")


def commands(qsim):
    """The commands of `qsim --help`, of one word or two."""
    text = subprocess.run([qsim, "--help"], capture_output=True, text=True, check=True).stdout
    listed = text[text.index("Commands"):text.index("Options of every command")]
    return re.findall(r"^  ([a-z-]+(?: [a-z]+)?) {2,}", listed, re.M)


def options(qsim, command):
    """{option: whether it takes a value} of `qsim COMMAND --help`."""
    help_text = subprocess.run([qsim, *command.split(), "--help"], capture_output=True, text=True,
                               check=True).stdout
    found = {}
    for match in re.finditer(r"^ +(?:-h,)?(--[a-z-]+)( \S+)?", help_text, re.M):
        found[match[1]] = bool(match[2]) and re.match(r" [A-Z{]", match[2]) is not None
    return found


def command_of(argv, known):
    """The command that argv names, as qsim reads it: `run` where it names none."""
    words = argv[1:]
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("--config", "--json"):
            at += 1
        elif words[at] != "--quiet" and "=" not in words[at]:
            break
        at += 1
    two = " ".join(words[at:at + 2])
    if two in known:
        return two
    return words[at] if at < len(words) and words[at] in known else "run"


def given(argv):
    """The options of a command line."""
    return {word.split("=")[0] for word in argv if word.startswith("--")}


def check_options(qsim, runs):
    """Every option was taken once, and every value refused once."""
    known = commands(qsim)
    taken = {command: set() for command in known}
    refused = {command: set() for command in known}
    for status, argv in runs:
        if pathlib.Path(argv[0]).name == "qsim":
            command = command_of(argv, known)
            if status == 0:
                taken[command] |= given(argv)
            elif status in (2, 3):
                refused[command] |= given(argv)
    count = 0
    for command in known:
        for option, takes_value in options(qsim, command).items():
            count += 1
            if option not in taken[command] and (command, option) not in OF_A_GPU:
                miss(f"no test runs qsim {command} with {option} to exit code 0")
            if takes_value and option not in refused[command]:
                miss(f"no test has qsim {command} refuse a value of {option}")
    return count


def check_dev(root, runs):
    """Every command and option of ./dev was given to it by a test."""
    text = subprocess.run([root / "dev", "--help"], capture_output=True, text=True, check=True).stdout
    words = set(re.findall(r"^  (--[a-z-]+|[a-z][a-z-]+)  ", text, re.M))
    words |= set(re.findall(r"^  (--[a-z-]+) [A-Z]", text, re.M))
    seen = set()
    for _, argv in runs:
        if pathlib.Path(argv[0]).name == "bash" and len(argv) > 1 and pathlib.Path(argv[1]).name in (
                "dev", "link"):
            seen |= {word.split("=")[0] for word in argv[2:]}
    for word in sorted(words - seen):
        miss(f"no test gives {word} to ./dev")
    return len(words)


def check_tools(root, build, runs):
    """Every option of the other programs that have a --help was given to one of them by a test."""
    count = 0
    for tool, command in TOOLS.items():
        program = root / tool if (root / tool).exists() else build / "bin" / tool
        if not program.exists():
            continue
        text = subprocess.run([*command, program, "--help"], capture_output=True, text=True,
                              check=True).stdout
        words = set(re.findall(r"^ +(--[a-z-]+)", text, re.M))
        seen = {word.split("=")[0] for _, argv in runs for word in argv
                if program.name in {pathlib.Path(part).name for part in argv[:4]}}
        count += len(words)
        for word in sorted(words - seen):
            miss(f"no test gives {word} to {tool}")
    return count


def main():
    is_partial = sys.argv[1] == "--partial"
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[-2:])
    record = build / "record/record.jsonl"
    if not (build / "record/environment.cmake").exists():
        print("provoked: nothing is recorded in this build folder, as its configuration said")
        return
    if not record.exists() or record.stat().st_size == 0:
        sys.exit(f"provoked: {record} holds nothing: run the tests with ./dev test")
    errors, runs = read_record(record)
    qsim = next(path for path in (build / "qsim", build / "bin/qsim") if path.exists())
    check_errors(errors)
    count = check_options(qsim, runs)
    words = check_dev(root, runs)
    others = check_tools(root, build, runs)
    if not is_partial:
        faults.extend(missing)
        missing.clear()
    for fault in faults:
        print(f"provoked: {fault}")
    for text in missing:
        print(f"provoked: on this machine: {text}")
    print(f"provoked: {len(errors)} errors, {len(runs)} command lines with "
          f"{count} options, {words} words of ./dev and {others} options of other programs: "
          f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
