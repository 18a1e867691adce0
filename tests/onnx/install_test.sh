#!/usr/bin/env bash
# tools/ort/install.sh where it fails, without a network: nothing is left, and one line says why.
# usage: install_test.sh REPOSITORY_ROOT
set -euo pipefail
install=$1/tools/ort/install.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect NAME STATUS PATTERN COMMAND...: exit status, the last line, and nothing left of the folder.
expect() {
  local name=$1 wanted=$2 pattern=$3 status=0
  shift 3
  "$@" >"$scratch/output" 2>&1 || status=$?
  if [ "$status" -ne "$wanted" ] || ! [[ $(tail -n 1 "$scratch/output") =~ $pattern ]] ||
    [ -n "$(find "$scratch/build" -mindepth 1)" ]; then
    echo "FAILED: $name: exit $status (expected $wanted), expected /$pattern/ and no file left:"
    sed 's/^/  | /' "$scratch/output"
    find "$scratch/build" -mindepth 1 -maxdepth 2
    failures=$((failures + 1))
  fi
}

# python NAME: an interpreter from stdin's script.
python() {
  { echo '#!/bin/sh' && cat; } >"$scratch/$1"
  chmod +x "$scratch/$1"
}

mkdir "$scratch/build"
target=$scratch/build/ort
expect "no folder named" 2 '^usage: .*install.sh DIR$' "$install"
expect "no interpreter" 1 '^install.sh: there is no /no/such/python$' env QSIM_PYTHON=/no/such/python "$install" "$target"
python newer <<'FAKE'
echo CPython 3 13 x86_64
FAKE
mkdir "$target" && echo "of before" >"$target/installed.sha256"
expect "another Python, and an old environment" 1 \
  '^install.sh: requirements.txt pins ONNX Runtime for CPython 3 11 x86_64; .*/newer is CPython 3 13 x86_64$' \
  env QSIM_PYTHON="$scratch/newer" "$install" "$target"

# An interpreter that makes an environment with a pip of ours, which notes what it is asked for.
python fake <<'FAKE'
case $* in
  "-c import platform"*) echo CPython 3 11 x86_64 ;;
  "-m venv"*)
    mkdir -p "$4/bin"
    ln -s "$0" "$4/bin/python"
    [ -z "$DIES" ] || kill -TERM $PPID
    ;;
  *" install "*)
    echo "$*" >>"$LOG"
    exit "${PIP_FAILS:-0}"
    ;;
  "-c import numpy"*) exit "${IMPORT_FAILS:-0}" ;;
  "-c import ensurepip") exit "${NO_ENSUREPIP:-0}" ;;
esac
FAKE
run=(env QSIM_PYTHON="$scratch/fake" LOG="$scratch/log" DIES=)
expect "no ensurepip" 1 'has no ensurepip \(Debian: python3-venv\)$' "${run[@]}" NO_ENSUREPIP=1 "$install" "$target"
expect "pip fails" 1 '^install.sh: pip could not install ONNX Runtime$' "${run[@]}" PIP_FAILS=1 "$install" "$target"
expect "what came cannot be imported" 1 '^install.sh: what was installed cannot be imported$' \
  "${run[@]}" IMPORT_FAILS=1 "$install" "$target"
expect "ended from outside" 143 '' "${run[@]}" DIES=1 "$install" "$target"
grep -q -- '--require-hashes --only-binary :all: --no-deps' "$scratch/log" || {
  echo "FAILED: pip is not asked for hashes" && failures=$((failures + 1))
}

# What is whole stays; a second call does nothing. Each installation asks pip twice.
: >"$scratch/log"
"${run[@]}" "$install" "$target" && "${run[@]}" "$install" "$target"
if [ "$(wc -l <"$scratch/log")" -ne 2 ] || [ ! -f "$target/installed.sha256" ] || [ -e "$target.part" ]; then
  echo "FAILED: installing once and again" && failures=$((failures + 1))
fi
# Without its interpreter it is no longer whole, and is made again.
rm -f "$target/bin/python" && "${run[@]}" "$install" "$target"
[ "$(wc -l <"$scratch/log")" -eq 4 ] || { echo "FAILED: an interpreter that is gone" && failures=$((failures + 1)); }
[ "$failures" -eq 0 ] || exit 1
echo "all checks of install.sh passed"
