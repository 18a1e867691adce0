"""Finds the messages of qsim::Error in the C++ sources: every call that throws one, and every `message`
that is put together before, with its literal text; of `a ? "b" : "c"` one message each. A reading of the
text, not a compiler: it knows strings, comments, brackets and choices."""
import pathlib
import re

FOLDERS = ("analysis", "cli", "compiler", "core", "files", "golden", "quantize", "report", "rtl", "sim")
# main.cpp prints what others threw.
NOT_READ = ("cli/main.cpp",)
# Functions that end in `throw Error`, and take (part of) the message.
CALLS = ("throw_bad_input", "throw_bad_file", "throw_unsupported", "usage_error", "fail", "fail_at", "fail_word",
         "fail_write", "fail_count", "refuse", "refuse_shape", "malformed")
THROW = r"throw\s+(?:::)?(?:qsim::)?(?:Memory)?Error\s*[({]"
START = re.compile(r"(?<![\w:])(?:" + THROW + r"|(?:::)?(?:qsim::)?(?:" + "|".join(CALLS) +
                   r")\(|message \+?= |std::string message =\s)")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[\w.>-]+|::|[=!<>]=|&&|\s+|.', re.S)
ESCAPES = {"n": "\n", "t": "\t", "0": "\0"}
END_OF_ARGUMENT = "\n"
# The message of functions that take two parts of it (NodeReader, TextLine).
JOINED = {"refuse(": "{0}; supported: {1}", "malformed(": "{0}; expected {1}",
          "fail_word(": "found {{word}}; expected {1}"}
# Fewer letters than these say little: such a message must fit its row from end to end.
FEW_LETTERS = 12


class Site:
    """One message: where it is thrown, and its literal pieces in order."""

    def __init__(self, where, pieces, pattern):
        self.where = where
        self.pieces = pieces
        self.pattern = pattern

    def stands_on(self, row):
        """Whether a row of the page describes the message: the row has its pieces, or fits it as a whole."""
        whole = self.pattern.replace(" | ", " ")
        return (not self.is_weak() and self.is_in(row.text)) or not row.is_catch_all and any(
            row.matches(re.sub(r"\{\w*\}", sample, whole)) for sample in ("x", "7"))

    def is_weak(self):
        """Whether its own words are too few to tell it from others."""
        return sum(len(word) for piece in self.pieces for word in re.findall(r"[A-Za-z]{2,}", piece)) < FEW_LETTERS

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


def end_of_choice(tokens, at):
    """Where the choice whose `?` is at `at` ends: with the bracket or the argument that it is in."""
    inside = tokens[at][1]
    for index in range(at + 1, len(tokens)):
        token, depth = tokens[index]
        if depth < inside or (depth == inside and token == ","):
            return index
    return len(tokens)


def start_of_condition(tokens, at):
    """Where the condition before the `?` at `at` begins."""
    inside = tokens[at][1]
    for index in range(at - 1, -1, -1):
        token, depth = tokens[index]
        if depth < inside or (depth == inside and token in ("+", ",", "=", "return", "(", "{")):
            return index + 1
    return 0


def alternatives(tokens, taken=()):
    """The tokens of each message that `a ? "b" : "c"` makes: one for each half. The same condition a second
    time takes the same half; `taken` has the conditions so far."""
    at = next((index for index, (token, _) in enumerate(tokens) if token == "?"), None)
    if at is None:
        return [tokens]
    end = end_of_choice(tokens, at)
    nested = 0
    for middle in range(at + 1, end):
        token, depth = tokens[middle]
        if depth == tokens[at][1] and token in ("?", ":"):
            nested += 1 if token == "?" else -1
            if nested < 0:
                break
    else:
        raise SystemExit("cpp_messages.py: a choice without its second half: " +
                         " ".join(token for token, _ in tokens))
    start = start_of_condition(tokens, at)
    condition = "".join(token for token, _ in tokens[start:at])
    halves = (tokens[at + 1:middle], tokens[middle + 1:end])
    numbers = [number for known, number in taken if known == condition] or (0, 1)
    return [whole for number in numbers
            for whole in alternatives(tokens[:start] + halves[number] + tokens[end:], (*taken, (condition, number)))]


def message_of(tokens):
    """The message with {name} for what is computed; a line for each argument."""
    pattern = ""
    before = ""
    for token, depth in tokens:
        is_compared = before.endswith("==")
        before = before[-1:] + token
        if is_compared:
            continue
        if token.startswith('"'):
            pattern += literal(token).replace("\n", " ")
        elif token == "," and depth == 0:
            pattern += END_OF_ARGUMENT
        elif re.match(r"[A-Za-z_]", token) and token not in ("std", "string", "to_string", "Error"):
            pattern = re.sub(r"\{\w*\}\Z", "", pattern) + "{" + re.split(r"[.>]", token)[-1] + "}"
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
                line = text.count("\n", 0, match.start()) + 1
                for half in alternatives(tokens):
                    pattern = message_of(half)
                    if pattern.count(END_OF_ARGUMENT) == 1:
                        joined = JOINED.get(match.group(), "{0}" + END_OF_ARGUMENT + "{1}")
                        pattern = joined.format(*pattern.split(END_OF_ARGUMENT))
                    yield Site(f"{name}:{line}", pieces_of(pattern), pattern.replace(END_OF_ARGUMENT, " | "))
