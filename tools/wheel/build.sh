#!/bin/sh
# build.sh LIBRARY DIR: puts the wheel of the Python package qsim into DIR, with this libqsim_golden.so. The build tools
# are Debian's (tools/packages.txt, group wheel); nothing is downloaded. The same sources give the same bytes.
set -eu
[ $# -eq 2 ] || {
  echo "usage: $0 LIBRARY DIR" >&2
  exit 2
}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
python=${QSIM_PYTHON:-/usr/bin/python3}
"$python" -c 'import os, sysconfig; exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || {
  echo "build.sh: $python has no Python.h (Debian: python3-dev)" >&2
  exit 3
}
for module in pip setuptools wheel; do
  "$python" -c "import $module" 2>/dev/null || {
    echo "build.sh: $python has no $module (Debian: python3-$module)" >&2
    exit 3
  }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$root/python" "$work/python"
rm -rf "$work"/python/build "$work"/python/*.egg-info "$work"/python/qsim/*.so  # of an editable install
cp -L "$1" "$work/python/qsim/libqsim_golden.so"
cp "$root/LICENSE" "$work/python/"
cp -R "$root/include" "$work/python/include"
strip "$work/python/qsim/libqsim_golden.so"
mkdir -p "$2"
SOURCE_DATE_EPOCH=315532800 "$python" -m pip --quiet --disable-pip-version-check wheel --no-index --no-deps \
  --no-build-isolation --wheel-dir "$work/wheel" "$work/python" >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
rm -f "$2"/qsim-*.whl
cp "$work"/wheel/qsim-*.whl "$2/"
ls "$2"/qsim-*.whl
