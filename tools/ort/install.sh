#!/bin/sh
# install.sh DIR: makes DIR a Python environment with ONNX Runtime (requirements.txt) on top of Debian's
# python3, numpy and onnx: DIR/bin/python runs run_onnx.py. Quiet. Does nothing when DIR is current; DIR is
# whole or, where something fails, not there.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

if [ $# -ne 1 ]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
requirements=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/requirements.txt
python=${QSIM_PYTHON:-/usr/bin/python3}
target_dir=$1
part_dir=$target_dir.part # renamed to DIR as the last step
stamp=installed.sha256

[ -x "$python" ] || fail "there is no $python"
found=$("$python" -c 'import platform as p; print(p.python_implementation(), *p.python_version_tuple()[:2], p.machine())')
wanted="$found $(sha256sum <"$requirements") $(sha256sum <"$0")"
if [ -f "$target_dir/$stamp" ] && [ "$(cat "$target_dir/$stamp")" = "$wanted" ] &&
  [ -x "$target_dir/bin/python" ]; then
  exit 0
fi
rm -rf "$target_dir" "$part_dir"
[ "$found" = "CPython 3 11 x86_64" ] ||
  fail "requirements.txt pins ONNX Runtime for CPython 3 11 x86_64; $python is $found"
"$python" -c 'import ensurepip' 2>/dev/null || fail "$python has no ensurepip (Debian: python3-venv)"

trap 'rm -rf "$part_dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$(dirname "$target_dir")"
"$python" -m venv --system-site-packages "$part_dir" >&2
pip() {
  "$part_dir/bin/python" -m pip --quiet --disable-pip-version-check --no-input "$@" >&2
}
pip install --retries 2 --require-hashes --only-binary :all: --no-deps --ignore-installed -r "$requirements" ||
  fail "pip could not install ONNX Runtime"
"$part_dir/bin/python" -c 'import numpy, onnx, onnxruntime' ||
  fail "what was installed cannot be imported"
# 25 MB that nothing needs from here on, and scripts that name the folder by its first name.
pip uninstall -y pip setuptools
find "$part_dir/bin" -type f -delete
printf '%s\n' "$wanted" >"$part_dir/$stamp"
mv "$part_dir" "$target_dir"
