"""Reads docs/reference/errors.md: its rows, as patterns that messages are compared with."""
import os
import pathlib
import re

PAGE = "docs/reference/errors.md"
PYTHON = "## The Python package"
ROW = re.compile(r"^\| (?:`` ?(?P<ticks>.*?) ?``|`(?P<plain>[^`]*)`) \| (?P<codes>[0-9, ]+) \| (?P<advice>.*) \|$")
# What the system says of a failed call: in words of ours (files/descriptor.cpp), or in its own.
SYSTEM_REASONS = ("no such file", "no such folder", "a part of the path is a file, not a folder", "no permission",
                  "the disk is full", "the disk quota is used up", "the file system is read-only",
                  *(os.strerror(number) for number in range(1, 134)))
# Of NodeReader::require_attribute and of zero points.
ATTRIBUTES = ("allowzero", "b_zero_point", "block_size", "group", "saturate", "storage_order", "training_mode", "transA",
              "transB", "w_zero_point")
# Placeholders that do not stand for anything at all.
PLACEHOLDERS = {"{line}": r"\d+", "{column}": r"\d+", "{words}": r"[A-Za-z ,-]+", "{number}": r"-?[\dx]+", "{keyword}": "[a-z_]+",
                "{window}": "(?:strides|kernel_shape|x)",
                "{errno}": "(?:" + "|".join(map(re.escape, SYSTEM_REASONS)) + "|x)",
                "{dyadic}": r"(?: \(--config [\w-]+\)|, in a copy of the configuration|x)", "{snap}": "(?:, or --snap|)",
                "{hint}": r"(?:|\.|; (?:did you mean|is) .*\?)",
                "{no_gpu}": r"(?:no driver|driver .*|no device of compute capability 8\.0 or later|"
                            r"built without nvcc|x)",
                "{attribute}": "(?:" + "|".join(ATTRIBUTES) + "|x)"}
NOT_PROVOKED = "*Not provoked: "


class Row:
    """One message of the page. `{...}` in it stands for anything."""

    def __init__(self, number, match):
        self.where = f"{PAGE}:{number}"
        self.text = (match["ticks"] or match["plain"]).replace("\\|", "|")
        self.codes = {int(code) for code in match["codes"].split(",")}
        reason = match["advice"].partition(NOT_PROVOKED)[2]
        self.not_provoked = bool(reason)
        # On another machine it may be, or early in the record.
        self.may_be_met = bool(re.search("GPU|driver|processor|file sizes", reason))
        # A message may begin with its place, which the page leaves out.
        parts = re.split(r"(\{[^{}]*\})", self.text)
        text = "".join(PLACEHOLDERS.get(part, ".*") if part.startswith("{") else re.escape(part)
                       for part in parts)
        self.regex = re.compile("(?:.*[:,] )?" + text)
        # What a parser of others says has no words of ours.
        self.is_catch_all = not re.search(r"[A-Za-z]{2}", "".join(parts[::2]))

    def matches(self, message):
        """Whether the row describes the message."""
        return self.regex.fullmatch(re.sub(r"\s+", " ", message)) is not None


def rows(root):
    """All rows of qsim's messages; a table line that is none is an error. tests/python checks those of the Python package."""
    found = []
    section = ""
    for number, line in enumerate((pathlib.Path(root) / PAGE).read_text().splitlines(), 1):
        section = line if line.startswith("## ") else section
        if section == PYTHON or not line.startswith("| ") or line.startswith("| message |"):
            continue
        match = ROW.match(line)
        if match is None:
            raise SystemExit(f"{PAGE}:{number}: not `message` | exit code | what to do |: {line}")
        found.append(Row(number, match))
    return found
