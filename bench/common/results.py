"""The file of one run of the benchmarks, schema qsim.bench/1: written whole or not at all, read strictly."""
import json
import os
import pathlib
import tempfile

from figure import BadFigure, figure_of

SCHEMA = "qsim.bench/1"
# The fields of every file, with their types; `benches` maps a bench to "ran", or to why it was
# skipped or failed.
FIELDS = {"schema": str, "commit": str, "dirty": bool, "date": str, "machine": dict, "complete": bool,
          "benches": dict, "figures": list}
MACHINE_FIELDS = {"cpu": str, "cores": int, "vector_instructions": list, "compiler": str,
                  "build_type": str}
RAN = "ran"


class BadResults(Exception):
    """Not a results file; the text names file and reason."""


def require_fields(file, json_object, fields, what):
    for key, kind in fields.items():
        if not isinstance(json_object.get(key), kind):
            raise BadResults(f"{file}: {what} has no '{key}' ({kind.__name__})")


def load(file):
    """The object, with `figures` as a dictionary of Figure by name."""
    try:
        results = json.loads(pathlib.Path(file).read_text(encoding="utf8"))
    except OSError as error:
        raise BadResults(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise BadResults(f"{file}: not JSON: {error}") from error
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        found = results.get("schema") if isinstance(results, dict) else type(results).__name__
        raise BadResults(f"{file}: schema {found!r}, not '{SCHEMA}'")
    require_fields(file, results, FIELDS, "the file")
    require_fields(file, results["machine"], MACHINE_FIELDS, "'machine'")
    figures = {}
    for item in results["figures"]:
        try:
            figure = figure_of(item)
        except BadFigure as error:
            raise BadResults(f"{file}: {error}") from error
        if figure.name in figures:
            raise BadResults(f"{file}: the figure {figure.name} occurs twice")
        figures[figure.name] = figure
    return {**results, "figures": figures}


def text_of(results):
    """A figure a line, so that a changed baseline reads well as a diff."""
    head = {key: value for key, value in results.items() if key != "figures"}
    lines = ",\n".join("    " + json.dumps(figure.as_json()) for figure in results["figures"].values())
    body = json.dumps(head, indent=2)[:-2]
    return f'{body},\n  "figures": [\n{lines}\n  ]\n}}\n' if lines else f'{body},\n  "figures": []\n}}\n'


def save(file, results):
    """Atomic: a reader finds the old file or the new one."""
    replace_file(file, text_of(results))


def replace_file(file, text):
    file = pathlib.Path(file)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
