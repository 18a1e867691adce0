#!/bin/sh
# install.sh DIR: puts ONNX Runtime for node and run_onnx.mjs into DIR (about 290 MB). Quiet; does
# nothing when DIR already holds what package-lock.json and the runner say.
set -eu

if [ $# -ne 1 ]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target_dir=$1
stamp=$target_dir/installed.sha256
wanted=$(cd "$source_dir" && sha256sum package.json package-lock.json run_onnx.mjs)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
  echo "install.sh: npm not found; ONNX Runtime is installed with npm" >&2
  exit 1
fi
mkdir -p "$target_dir"
rm -f "$stamp"
cp "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/run_onnx.mjs" "$target_dir/"
# The package's own install script would fetch GPU libraries; the CPU library is in the package.
(cd "$target_dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2

set -- "$target_dir"/node_modules/onnxruntime-node/bin/napi-v*/linux/"$(node -p process.arch)"/onnxruntime_binding.node
if [ ! -f "$1" ]; then
  echo "install.sh: onnxruntime-node came without its native library for this machine" >&2
  exit 1
fi
printf '%s\n' "$wanted" > "$stamp"
