#!/usr/bin/env bash
# qsim_gen --check must see a changed and a missing page, and writing must mend both.
# usage: stale_page_test.sh QSIM_GEN REPOSITORY_ROOT
set -euo pipefail
gen=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/core/machine/isa" "$copy/docs/reference" "$copy/rtl/src"
cp "$2/core/machine/isa/commands.h" "$copy/core/machine/isa/"

expect_stale() {
  local status=0
  "$gen" --check "$copy" 2>"$copy/log" || status=$?
  [ "$status" -eq 1 ] || { echo "exit $status, expected 1"; exit 1; }
  grep -qF "$1" "$copy/log" || { echo "no '$1' in:"; cat "$copy/log"; exit 1; }
}

expect_stale "docs/reference/isa.md: missing"
"$gen" "$copy" >/dev/null
"$gen" --check "$copy"
sed -i '3s/$/ /' "$copy/docs/reference/config.md"
expect_stale "docs/reference/config.md:3: differs"
sed -i 's/LoadDramAddrWidth = 32;/LoadDramAddrWidth = 33;/' "$copy/rtl/src/qsim_pkg.sv"
expect_stale "rtl/src/qsim_pkg.sv:"
"$gen" "$copy" >/dev/null
sed -i 's/^struct Post {/struct Posted {/' "$copy/core/machine/isa/commands.h"
status=0
"$gen" --check "$copy" 2>"$copy/log" || status=$?
[ "$status" -eq 3 ] || { echo "exit $status without the pseudo-code, expected 3"; exit 1; }
echo "stale, missing and unreadable pages are noticed"
