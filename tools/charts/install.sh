#!/bin/sh
# install.sh DIR: puts DIR/vega.js there, the chart library of the report's page, made by the package that
# requirements.txt pins. Quiet. Does nothing when DIR is current; DIR is whole or, where something fails, not there.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

if [ $# -ne 1 ]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
python=${QSIM_PYTHON:-/usr/bin/python3}
target_dir=$1
part_dir=$target_dir.part # renamed to DIR as the last step
stamp=installed.sha256

wanted=$(cat "$here/requirements.txt" "$here/bundle.py" "$0" | sha256sum)
if [ -f "$target_dir/$stamp" ] && [ "$(cat "$target_dir/$stamp")" = "$wanted" ] && [ -f "$target_dir/vega.js" ]; then
  exit 0
fi
[ -x "$python" ] || fail "there is no $python"
rm -rf "$target_dir" "$part_dir"
found=$("$python" -c 'import platform as p; print(p.python_implementation(), p.machine(), p.system())')
[ "$found" = "CPython x86_64 Linux" ] ||
  fail "requirements.txt pins vl-convert-python for CPython x86_64 Linux; $python is $found"
"$python" -c 'import ensurepip' 2>/dev/null || fail "$python has no ensurepip (Debian: python3-venv)"

trap 'rm -rf "$part_dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$part_dir"
"$python" -m venv "$part_dir/venv" >&2
"$part_dir/venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input install --retries 2 \
  --require-hashes --only-binary :all: --no-deps -r "$here/requirements.txt" >&2 ||
  fail "pip could not install vl-convert-python"
"$part_dir/venv/bin/python" "$here/bundle.py" "$part_dir/vega.js" || fail "vl-convert made no bundle"
rm -rf "$part_dir/venv"
printf '%s\n' "$wanted" >"$part_dir/$stamp"
mv "$part_dir" "$target_dir"
