"""Finds the messages of qsim::Error in the C++ sources: every call that throws one, and every `message`
that is put together before, with its literal text. A reading of the text, not a compiler: it knows
strings, comments and brackets."""
import pathlib
import re

FOLDERS = ("compiler", "core", "golden", "report", "rtl", "sim")
# main.cpp prints what others threw.
NOT_READ = ("sim/cli/main.cpp",)
# Functions that end in `throw Error`, and take (part of) the message.
CALLS = ("throw_bad_input", "throw_unsupported", "throw Error", "usage_error", "fail", "fail_at",
         "fail_word", "fail_write", "fail_count", "refuse", "refuse_shape", "malformed")
START = re.compile(r"(?<![\w:])(?:(?:" + "|".join(CALLS) + r")\(|message \+?= |std::string message =\s)")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[\w.>-]+|::|\s+|.', re.S)
ESCAPES = {"n": "\n", "t": "\t", "0": "\0"}
END_OF_ARGUMENT = "\n"


class Site:
    """One message: where it is thrown, and its literal pieces in order."""

    def __init__(self, where, pieces, pattern):
        self.where = where
        self.pieces = pieces
        self.pattern = pattern

    def is_in(self, text):
        """Whether `text` holds the pieces in this order."""
        at = 0
        for piece in self.pieces:
            found = text.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True


def literal(token):
    """The text of a string literal."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(1)), token[1:-1])


def expression(text, start):
    """(token, depth) from `start` to the bracket or semicolon that ends the expression there."""
    depth = 0
    tokens = []
    for match in TOKEN.finditer(text, start):
        token = match.group()
        if token.isspace() or token.startswith(("//", "/*")):
            continue
        if token in ")]}" or (token == ";" and depth == 0):
            depth -= 1
            if depth < 0:
                break
        if token in "([{":
            depth += 1
        tokens.append((token, depth))
    return tokens


def without_choices(tokens):
    """Drops the halves of `a ? "b" : "c"`: either may stand in the message, so neither must. A choice
    ends with the bracket or the argument that it stands in."""
    kept = []
    inside = None
    for token, depth in tokens:
        if inside is not None and (depth < inside or (depth == inside and token == ",")):
            inside = None
        if inside is None and token == "?":
            inside = depth
        if inside is None:
            kept.append((token, depth))
    return kept


def message_of(tokens):
    """The message with {name} for what is computed; a line for each argument."""
    pattern = ""
    before = ""
    for token, depth in without_choices(tokens):
        is_compared = before.endswith("==")
        before = before[-1:] + token
        if is_compared:
            continue
        if token.startswith('"'):
            pattern += literal(token).replace("\n", " ")
        elif token == "," and depth == 0:
            pattern += END_OF_ARGUMENT
        elif re.match(r"[A-Za-z_]", token) and token not in ("std", "string", "to_string", "Error"):
            pattern = re.sub(r"\{\w*\}$", "", pattern) + "{" + re.split(r"[.>]", token)[-1] + "}"
    return pattern


def pieces_of(pattern):
    """The literal pieces, without the colon after a place, which the page leaves out."""
    pieces = [piece for piece in re.split(r"\{\w*\}|\n", pattern) if re.search(r"[A-Za-z]{2}", piece)]
    return [re.sub(r"^(\.yaml)?:(\d+:)* ", "", piece) for piece in pieces[:1]] + pieces[1:]


def is_declaration(text, start, tokens):
    """`void fail(const std::string& message)` is no call."""
    before = text[max(0, start - 40):start]
    return bool(re.search(r"(void|std::string)\s+(\w+::)*$", before)) or any(
        token == "const" for token, depth in tokens if depth == 0)


def sites(root, folders=FOLDERS):
    """Every message below `root`, in the folders that users' errors come from."""
    root = pathlib.Path(root)
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix not in (".cpp", ".h", ".cu") or name in NOT_READ:
                continue
            text = path.read_text()
            for match in START.finditer(text):
                tokens = expression(text, match.end())
                is_internal = "throw InternalError(message)" in text and "message =" in match.group()
                if is_internal or is_declaration(text, match.start(), tokens):
                    continue
                pattern = message_of(tokens)
                pieces = pieces_of(pattern)
                if pieces:
                    line = text.count("\n", 0, match.start()) + 1
                    yield Site(f"{name}:{line}", pieces, pattern.replace(END_OF_ARGUMENT, " | "))
