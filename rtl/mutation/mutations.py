"""The single-token faults that can be planted in a SystemVerilog source of rtl/src.

Left alone: comments, strings, declarations (ports, parameters, signals, genvars), sensitivity lists,
instance headers, and what the lint pragmas mark as unused; a fault there is no fault of behaviour, or
does not compile.
"""

import re
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src/qsim_pkg.sv"

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*")
  | (?P<literal>\d*'s?[bdh][0-9a-fA-F_]+|'[01])
  | (?P<cast>[A-Za-z_0-9:]+'(?=\())
  | (?P<word>[$A-Za-z_][A-Za-z_0-9]*(?:::[A-Za-z_0-9]+)*)
  | (?P<number>\d+)
  | (?P<op><<<|>>>|<=|>=|==|!=|&&|\|\||<<|>>|\+:|-:|\+\+|--|\+=|-=|[-+*/%&|^~!<>=?:;,.(){}\[\]@\#])
""", re.X | re.S)

SWAPS = {
    "+": ["-"], "-": ["+"], "==": ["!="], "!=": ["=="], "<": ["<="], "<=": ["<"], ">": [">="],
    ">=": [">"], "&&": ["||"], "||": ["&&"], "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"],
    ">>>": [">>"], "<<<": [">>>"],
}
OPERATOR_NAMES = {
    "+": "+ -", "-": "+ -", "==": "== !=", "!=": "== !=", "<": "< <=", "<=": "< <=", ">": "< <=",
    ">=": "< <=", "&&": "&& ||", "||": "&& ||", "&": "& |", "|": "& |", "<<": "shift", ">>": "shift",
    ">>>": "shift", "<<<": "shift",
}
DECLARES = {"logic", "input", "output", "parameter", "localparam", "genvar", "module", "package",
            "function", "typedef"}
TYPE = re.compile(r"(\w+::)?\w+_[te]")  # qsim_pkg::execute_t, memory_e
STRUCT = re.compile(r"struct packed \{(.*?)\} (\w+);", re.S)
MEMBER = re.compile(r"^\s*(\S.*?) (\w+);$", re.M)
OF_TYPE = re.compile(r"\b(?:\w+::)?(\w+_t)\s+(\w+(?:, \w+)*)\s*[;,\n]")
OPEN = {"(": ")", "[": "]", "{": "}"}
UNUSED = re.compile(r"// verilator lint_off UNUSEDSIGNAL.*?// verilator lint_on UNUSEDSIGNAL", re.S)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mutation:
    """Bytes [start, end) of `file` become `text`; `operator` is the kind of fault."""
    file: str
    operator: str
    start: int
    end: int
    text: str

    def apply(self, source):
        return source[:self.start] + self.text + source[self.end:]


def structs_of(source):
    """Of each packed struct: member name -> its type as it is written."""
    return {name: {member: kind for kind, member in MEMBER.findall(body)}
            for body, name in STRUCT.findall(source)}


def tokens_of(source):
    tokens, at = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        if match is None:
            at += 1
            continue
        if match.lastgroup != "skip":
            tokens.append(Token(match.lastgroup, match.group(), at, match.end()))
        at = match.end()
    return tokens


class Source:
    """A file as tokens, with what each bracket closes and which tokens may be changed."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.tokens = tokens_of(text)
        self.closes = self._match_brackets()
        self.siblings = {}
        self.members = self._find_members()
        self.live = [True] * len(self.tokens)
        self.assigns = set()  # indices of the <= that are assignments
        self.left_sides = set()
        self._mark_dead()
        self._find_assignments()

    def _find_members(self):
        """Of each variable that is a struct: member name -> its type."""
        structs = {**structs_of(PACKAGE.read_text()), **structs_of(self.text)}
        return {name: structs[kind] for kind, names in OF_TYPE.findall(self.text) if kind in structs
                for name in names.split(", ")}

    def _match_brackets(self):
        closes, stack = {}, []
        for i, token in enumerate(self.tokens):
            if token.text in OPEN:
                stack.append(i)
            elif token.text in OPEN.values() and stack:
                closes[stack.pop()] = i
        return closes

    def _kill(self, first, last):
        for i in range(first, last + 1):
            self.live[i] = False

    def _end_of_statement(self, i):
        while self.tokens[i].text != ";":
            i = self.closes.get(i, i) + 1
        return i

    def _mark_dead(self):
        for match in UNUSED.finditer(self.text):
            for i, token in enumerate(self.tokens):
                if match.start() <= token.start < match.end():
                    self.live[i] = False
        for i, token in enumerate(self.tokens):
            before = self.tokens[i - 1].text if i else ";"
            if not self.live[i]:
                continue
            if token.text == "@" and self.tokens[i + 1].text == "(":
                self._kill(i, self.closes[i + 1])
            elif token.text == "#" and self.tokens[i + 1].text == "(":
                self._kill(i, self.closes[i + 1])
            elif self._declares(i, before):
                end = self._end_of_statement(i)
                if token.text == "logic" or TYPE.fullmatch(token.text):
                    self._note_siblings(i, end)
                self._kill(i, end)
            elif token.text == "for" and self.tokens[i + 1].text == "(":
                self._kill(i, i + 2)  # the keyword and the first word within

    def _declares(self, i, before):
        if self.tokens[i].text in DECLARES:
            return before != "("
        return (before in (";", "begin", "end", ")") and TYPE.fullmatch(self.tokens[i].text)
                and self.tokens[i + 1].kind == "word")

    def _note_siblings(self, first, end):
        names, i = [], first + 1
        while i < end:
            token = self.tokens[i]
            if token.text == "[":
                i = self.closes[i]
            elif token.kind == "word" and token.text not in ("signed", "automatic", "unsigned"):
                names.append(token.text)
            i += 1
        for name in names:
            self.siblings[name] = [other for other in names if other != name]

    def _find_assignments(self):
        start, assigned, i = 0, False, 0
        depth_end = []
        for i, token in enumerate(self.tokens):
            while depth_end and i >= depth_end[-1]:
                depth_end.pop()
            if token.text in (";", "begin", "end", "else", "always_comb", "always_ff", "assign"):
                start, assigned = i + 1, False
            if not depth_end and token.text in ("<=", "=") and not assigned:
                assigned = True
                if token.text == "<=":
                    self.assigns.add(i)
                # The target: back to the statement's start or to an if's or label's end.
                j = i - 1
                while j >= start and self.tokens[j].text not in (")", ":", ";"):
                    opening = self._opening(j)
                    self.left_sides.update(range(opening, j + 1))
                    j = opening - 1
            if i in self.closes:
                depth_end.append(self.closes[i])

    def _opening(self, i):
        for opening, closing in self.closes.items():
            if closing == i:
                return opening
        return i

    def text_of(self, first, last):
        return self.text[self.tokens[first].start:self.tokens[last].end]


def is_operand_end(token):
    return token.kind in ("word", "number", "literal") or token.text in (")", "]", "}")


def is_one(source, i):
    """The last token of an operand that is the constant one, starting at i; None otherwise."""
    token = source.tokens[i]
    if token.kind in ("literal", "number"):
        return i if re.fullmatch(r"(\d+'[bdh])?0*1", token.text) else None
    if token.kind == "cast" and source.tokens[i + 2].text == "1" and source.closes[i + 1] == i + 3:
        return i + 3
    if token.text == "(" and source.closes[i] in range(i, i + 6):  # ((OffsetBits + 1)'(...)): no
        return None
    return None


def operator_faults(source, i):
    token, before = source.tokens[i], source.tokens[i - 1]
    at = (token.start, token.end)
    if i in source.assigns:
        end = source._end_of_statement(i)
        first = i
        while first - 1 in source.left_sides:
            first -= 1
        span = (source.tokens[i + 1].start, source.tokens[end - 1].end)
        yield ("<= old", *span, source.text_of(first, i - 1))
        if source.text_of(i + 1, end - 1) not in ("'0", "1'b0"):
            yield ("<= 0", *span, "'0")
        return
    if token.text in SWAPS and is_operand_end(before):
        for other in SWAPS[token.text]:
            yield (OPERATOR_NAMES[token.text], *at, other)
        if token.text in "+-":
            end = is_one(source, i + 1)
            if end is not None:
                yield ("+-1 removed", token.start, source.tokens[end].end, "")
    if token.text in ("!", "~"):
        yield ("! removed", *at, "")
    if token.text == "?":
        yield from swapped_choice(source, i)
    if token.text == "[" and is_operand_end(before):
        yield from shifted_range(source, i)


def swapped_choice(source, i):
    """cond ? a : b becomes cond ? b : a."""
    colon, nested, j = None, 0, i + 1
    while True:
        text = source.tokens[j].text
        if text == "?":
            nested += 1
        elif text == ":" and nested:
            nested -= 1
        elif text == ":" and colon is None:
            colon = j
        elif text in (";", ",", ")", "}", "]", ":"):
            break
        j = source.closes.get(j, j) + 1
    one, other = source.text_of(i + 1, colon - 1), source.text_of(colon + 1, j - 1)
    yield ("?: swapped", source.tokens[i + 1].start, source.tokens[j - 1].end, f"{other} : ({one})")


def shifted_range(source, i):
    close = source.closes[i]
    split = next((j for j in range(i + 1, close) if source.tokens[j].text in (":", "+:")
                  and not any(a < j < b and a > i for a, b in source.closes.items())), None)
    if split is None:
        high = source.text_of(i + 1, close - 1)
        yield ("range shifted", source.tokens[i].end, source.tokens[close].start, f"({high})+1")
        return
    high, low = source.text_of(i + 1, split - 1), source.text_of(split + 1, close - 1)
    if source.tokens[split].text == ":":
        text = f"({high})+1:({low})+1"
    else:
        text = f"({high})+1 +: {low}"
    yield ("range shifted", source.tokens[i].end, source.tokens[close].start, text)


def constant_faults(source, i):
    token = source.tokens[i]
    if token.kind == "number":
        values = [str(int(token.text) + 1)] + ([str(int(token.text) - 1)] if token.text != "0" else [])
    elif token.text in ("'0", "'1"):
        values = ["'1" if token.text == "'0" else "'0"]
    else:
        width, base, digits = re.fullmatch(r"(\d*)'s?([bdh])([0-9a-fA-F_]+)", token.text).groups()
        value = int(digits, {"b": 2, "d": 10, "h": 16}[base])
        most = (1 << int(width)) - 1 if width else value + 1
        values = [f"{width}'d{v}" for v in (value + 1, value - 1) if 0 <= v <= most]
    for value in values:
        yield ("constant", token.start, token.end, value)


def word_faults(source, i):
    token = source.tokens[i]
    if token.text == "if" and source.tokens[i + 1].text == "(":
        close = source.closes[i + 1]
        span = (source.tokens[i + 2].start, source.tokens[close - 1].end)
        yield ("if (1)", *span, "1'b1")
        yield ("if (0)", *span, "1'b0")
    if i in source.left_sides:
        return
    if source.tokens[i - 1].text == ".":
        yield from other_fields(source, i)
        return
    for other in source.siblings.get(token.text, []):
        yield ("sibling", token.start, token.end, other)


def other_fields(source, i):
    """Another member of the same type, of a variable that is a struct."""
    members = source.members.get(source.tokens[i - 2].text, {})
    token = source.tokens[i]
    for other, kind in members.items():
        if other != token.text and kind == members.get(token.text):
            yield ("other field", token.start, token.end, other)


def mutations_of(name, text):
    """For each token that can be changed, the list of faults it can get."""
    source = Source(name, text)
    sites = []
    for i, token in enumerate(source.tokens):
        if not source.live[i]:
            continue
        if token.kind == "op":
            faults = operator_faults(source, i)
        elif token.kind in ("literal", "number"):
            faults = constant_faults(source, i)
        elif token.kind == "word":
            faults = word_faults(source, i)
        else:
            continue
        found = [Mutation(name, *fault) for fault in faults]
        if found:
            sites.append(found)
    return sites
