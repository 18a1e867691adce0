#!/usr/bin/env bash
# Makes the network families at a size and compares qsim with ONNX Runtime on each: a table for those
# that ONNX Runtime has quantized, and one for those that `qsim quantize` has.
# usage: run.sh [small|full]    environment: QSIM, the executable (default: build/release/qsim);
# QSIM_ORT_DIR, what tools/ort/install.sh made (default: build/release/ort)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
size=${1:-small}
qsim=${QSIM:-$here/../../build/release/qsim}
ort=${QSIM_ORT_DIR:-$here/../../build/release/ort}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [ ! -x "$ort/bin/python" ]; then
  echo "skipped: no ONNX Runtime (./dev test installs it)"
  case ",${QSIM_REQUIRE:-}," in *,onnxruntime,*) exit 1 ;; *) exit 77 ;; esac
fi
export PYTHONDONTWRITEBYTECODE=1
/usr/bin/python3 "$here/make.py" --size "$size" --only export all "$folder"
PYTHONPATH=$ort/producers "$ort/bin/python" "$here/make.py" --size "$size" --only quantize all "$folder"
echo "quantized by ONNX Runtime's quantize_static"
"$ort/bin/python" "$here/check.py" --qsim "$qsim" "$folder"/*.int8.onnx
for file in "$folder"/*.float.onnx; do
  name=${file%.float.onnx}
  "$qsim" quantize "$file" --calibrate "$name.x.npy" -o "$name.int8.onnx" --quiet >/dev/null
done
echo "quantized by qsim quantize"
"$ort/bin/python" "$here/check.py" --qsim "$qsim" --sums deit_tiny "$folder"/*.int8.onnx
