#!/usr/bin/env bash
# Each line that README shows of `./dev demo` is printed. (cli.md is generated; links, keys of reports and code
# blocks: meta/.)
# usage: pages_test.sh REPOSITORY_ROOT QSIM
set -euo pipefail
cd "$1"
qsim=$2
failures=0

complain() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# Each line of README's fence is a line that './dev demo' prints. The golden of the CPU is everywhere.
fence=$(printf '\140\140\140')
printed=$(QSIM_GOLDEN=cpu "$qsim" --config configs/pe16x16.yaml)
lines=0
while IFS= read -r line; do
  lines=$((lines + 1))
  grep -qxF -- "$line" <<<"$printed" || complain "README.md shows what './dev demo' does not print: $line"
done < <(awk -v fence="$fence" '$0 == fence { inside = !inside; next } inside' README.md)
[ "$lines" -ge 8 ] || complain "README.md shows only $lines lines of './dev demo'"

[ "$failures" -eq 0 ] || exit 1
echo "README checked"
