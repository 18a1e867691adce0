#!/usr/bin/env bash
# The pages for people agree with what is there: relative links resolve, every option of the
# command line is on cli.md, every key of the run's JSON on stats.md, and README shows real output.
# usage: pages_test.sh REPOSITORY_ROOT QSIM
set -euo pipefail
cd "$1"
qsim=$2
failures=0

complain() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# check_links PAGE
check_links() {
  local target
  while read -r target; do
    case $target in http*://* | '#'*) continue ;; esac
    [ -e "$(dirname "$1")/${target%%#*}" ] || complain "$1: link to $target, which is not there"
  done < <(grep -oE '\]\([^) ]+\)' "$1" | sed -E 's/^\]\((.*)\)$/\1/')
}

pages=0
while read -r page; do
  check_links "$page"
  pages=$((pages + 1))
done < <(find . -name '*.md' -not -path './build/*' -not -path './.*/*')
[ "$pages" -ge 10 ] || complain "only $pages pages found"

# help_of COMMAND, which may be two words
help_of() {
  local words
  read -ra words <<<"$1"
  "$qsim" "${words[@]}" --help
}

options=0
for command in run verify compile inspect export-vectors 'golden info' 'golden run' 'golden bench' \
  doctor; do
  grep -q "qsim $command" docs/reference/cli.md || complain "cli.md does not have 'qsim $command'"
  while read -r option; do
    grep -qE -- "\`$option( [^\`]*)?\`" docs/reference/cli.md ||
      complain "cli.md does not have $option of qsim $command"
    options=$((options + 1))
  done < <(help_of "$command" | grep -oE '^ +(-h,)?--[a-z-]+' | grep -oE -- '--[a-z-]+')
done
[ "$options" -ge 60 ] || complain "only $options options found"

keys=0
while read -r key; do
  grep -qE "\`([a-z_.]*(\[\])?\.)?$key(\[\])?\`" docs/reference/stats.md ||
    complain "stats.md does not have the key '$key'"
  keys=$((keys + 1))
done < <("$qsim" --layers fc3 --quiet --json - | /usr/bin/python3 -c '
import json, sys

# Keys that are names of parts, semaphores, units or config fields stand in their own tables.
NAMED = {"stalls", "array_time_pe_cycles", "units", "config"}

def keys(value):
    if isinstance(value, list):
        for item in value:
            yield from keys(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in NAMED:
                yield from keys(item)

print("\n".join(sorted(set(keys(json.load(sys.stdin))))))')
[ "$keys" -ge 25 ] || complain "only $keys keys found"

# without_time: how long the simulation took is the machine's. So is which golden: the CPU's is everywhere.
without_time() { sed 's/the simulation took .*/the simulation took TIME/'; }
fence=$(printf '\140\140\140')
shown=$(awk -v fence="$fence" '$0 == fence { inside = !inside; next } inside' README.md | without_time)
if [ "$shown" != "$(QSIM_GOLDEN=cpu "$qsim" --config configs/pe16x16.yaml | without_time)" ]; then
  complain "README.md does not show what './dev demo' prints"
fi

[ "$failures" -eq 0 ] || exit 1
echo "$pages pages, $options options and $keys keys checked"
