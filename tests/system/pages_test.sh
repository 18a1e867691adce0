#!/usr/bin/env bash
# Every command and option is on cli.md, and each line that README shows of './dev demo' is printed. (Links, keys of
# reports, messages and code blocks: meta/.)
# usage: pages_test.sh REPOSITORY_ROOT QSIM
set -euo pipefail
cd "$1"
qsim=$2
failures=0

complain() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# help_of COMMAND, which may be two words
help_of() {
  local words
  read -ra words <<<"$1"
  "$qsim" "${words[@]}" --help
}

options=0
commands=0
while read -r command; do
  commands=$((commands + 1))
  grep -q "qsim $command" docs/reference/cli.md || complain "cli.md does not have 'qsim $command'"
  while read -r option; do
    grep -qE -- "\`$option( [^\`]*)?\`" docs/reference/cli.md ||
      complain "cli.md does not have $option of qsim $command"
    options=$((options + 1))
  done < <(help_of "$command" | grep -oE '^ +(-h,)?--[a-z-]+' | grep -oE -- '--[a-z-]+')
done < <("$qsim" --help | sed -n '/^Commands/,/^Options/s/^  \([a-z-]*\( [a-z]*\)\{0,1\}\)   *[a-z].*/\1/p')
[ "$commands" -ge 9 ] || complain "only $commands commands found"
[ "$options" -ge 60 ] || complain "only $options options found"

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
echo "$commands commands, $options options checked"
