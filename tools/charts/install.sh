#!/bin/sh
# install.sh DIR: puts DIR/vega.js there, the chart library of the report's page, made by the package that
# requirements.txt pins.
set -eu
# shellcheck source=tools/from_pypi.sh
. "$(dirname -- "$0")/../from_pypi.sh"

begin "vl-convert-python" "CPython 3 * x86_64" vega.js
mkdir -p "$part_dir"
"$python" -m venv "$part_dir/venv" >&2
pip_pinned "$part_dir/venv" install
"$part_dir/venv/bin/python" "$here/bundle.py" "$part_dir/vega.js" || fail "vl-convert made no bundle"
rm -rf "$part_dir/venv"
finish
