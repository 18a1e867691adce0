#!/usr/bin/env bash
# Every command and option is on cli.md, and README shows what './dev demo' prints. (Links, keys of
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

# The row of errors.md that says what may follow `qsim golden` has every word that may.
row=$(grep -F 'qsim golden needs one more word' docs/reference/errors.md)
listed=$("$qsim" golden 2>&1 || true)
listed=${listed#*needs one more word: }
listed=${listed%%;*}
[[ $listed == *,* ]] || complain "qsim golden lists no words"
for word in ${listed//,/ }; do
  [[ ${row##*| give} =~ (\ |\`)$word\` ]] || complain "errors.md does not have 'qsim golden $word'"
done

# without_time: how long the simulation took is the machine's. So is which golden: the CPU's is everywhere.
without_time() { sed 's/the simulation took .*/the simulation took TIME/'; }
fence=$(printf '\140\140\140')
shown=$(awk -v fence="$fence" '$0 == fence { inside = !inside; next } inside' README.md | without_time)
if [ "$shown" != "$(QSIM_GOLDEN=cpu "$qsim" --config configs/pe16x16.yaml | without_time)" ]; then
  complain "README.md does not show what './dev demo' prints"
fi

[ "$failures" -eq 0 ] || exit 1
echo "$commands commands, $options options checked"
