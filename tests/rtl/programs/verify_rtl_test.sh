#!/usr/bin/env bash
# The command line of verify_rtl: what it refuses, and that --replay sees what the file holds.
# usage: verify_rtl_test.sh VERIFY_RTL
set -uo pipefail

verify_rtl=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect CODE TEXT ARGUMENTS...: exit code and a part of the output.
expect() {
  local code=$1 text=$2 output status
  shift 2
  output=$("$verify_rtl" "$@" 2>&1)
  status=$?
  if [ "$status" -ne "$code" ] || [[ $output != *"$text"* ]]; then
    echo "verify_rtl $*: exit code $status, expected $code; expected '$text' in:"
    echo "$output"
    failures=$((failures + 1))
  fi
}

expect 0 "usage: verify_rtl" --help
expect 0 "mismatches: 0" --no-rtl --cxx g++ --programs 1
expect 2 "unknown option '--program'" --program 3
expect 2 "--programs is '0'; allowed: 1 to" --programs 0
expect 2 "--seed needs a value" --seed
expect 2 "--no-rtl excludes" --no-rtl --random-dram
expect 3 "pe4x5" --configs pe4x5 --no-rtl
expect 3 "missing.repro" --replay "$folder/missing.repro" --no-rtl
expect 6 "empty: kernel" --no-rtl --programs 3 --configs pe4x4 --require-coverage \
  --reproducer "$folder"
expect 2 "--finders is '0'; allowed: 1 to" --finders 0
expect 0 "found by 0 of 12 programs" --no-rtl --programs 12 --finders 3 --reproducer "$folder"
expect 0 "12 programs" --no-rtl --programs 12 --jobs 3 --reproducer "$folder"
expect 0 "mismatches: 0" --no-rtl --programs 12 --seed 99 --reproducer "$folder"

# A job that crashes fails the run, and the program in progress has a name.
"$verify_rtl" --no-rtl --programs 100000000 --jobs 2 --reproducer "$folder" 2>"$folder/crash" &
parent=$!
sleep 1
children=$(awk -v parent="$parent" '/^Pid:/ { id = $2 } /^PPid:/ && $2 == parent { print id }' \
  /proc/[0-9]*/status 2>/dev/null)
# shellcheck disable=SC2086 # two numbers
kill -SEGV $children
wait "$parent"
status=$?
if [ "$status" -ne 1 ] || ! grep -Eq 'job 0, at pe[0-9x]+ seed [0-9]+, ended by signal 11' "$folder/crash"; then
  echo "a crashed job: exit code $status, expected 1 and the seed in:"
  cat "$folder/crash"
  failures=$((failures + 1))
fi
exit $((failures > 0))
