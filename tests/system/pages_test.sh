#!/usr/bin/env bash
# errors.md has every word that may follow `qsim golden`, and README shows what './dev demo' prints.
# (cli.md is generated; links, keys of reports, messages and code blocks: meta/.)
# usage: pages_test.sh REPOSITORY_ROOT QSIM
set -euo pipefail
cd "$1"
qsim=$2
failures=0

complain() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

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
echo "the words after golden and README checked"
