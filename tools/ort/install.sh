#!/bin/sh
# install.sh DIR: makes DIR a Python environment with ONNX Runtime (requirements.txt) on top of Debian's
# python3, numpy and onnx: DIR/bin/python runs run_onnx.py. DIR/producers is a folder for PYTHONPATH with what ONNX
# Runtime's quantizer needs besides (producers.txt).
set -eu
# shellcheck source=tools/from_pypi.sh
. "$(dirname -- "$0")/../from_pypi.sh"

begin "ONNX Runtime" "CPython 3 11 x86_64" bin/python
"$python" -m venv --system-site-packages "$part_dir" >&2
pip_pinned "$part_dir" install --ignore-installed
pip_in "$part_dir" install --retries 2 --require-hashes --only-binary :all: --no-deps --target "$part_dir/producers" \
  -r "$here/producers.txt" || fail "pip could not install what the quantizer needs"
rm -rf "$part_dir/producers/onnx/backend" # 40 MB of ONNX's own tests
"$part_dir/bin/python" -c 'import numpy, onnx, onnxruntime' ||
  fail "what was installed cannot be imported"
PYTHONPATH="$part_dir/producers" "$part_dir/bin/python" -c 'import onnxruntime.quantization' ||
  fail "ONNX Runtime's quantizer cannot be imported"
# 25 MB that nothing needs from here on, and scripts that name the folder by its first name.
pip_in "$part_dir" uninstall -y pip setuptools
find "$part_dir/bin" -type f -delete
finish
