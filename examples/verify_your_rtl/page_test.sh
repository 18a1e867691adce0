#!/usr/bin/env bash
# What run.sh prints of its own network is what docs/guide/verify_your_rtl.md shows.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
page=$here/../../docs/guide/verify_your_rtl.md
status=0
printed=$("$here/run.sh") || status=$?
echo "$printed"
[ "$status" -eq 0 ] || exit "$status"
shown=$(awk '/^```$/ { inside = !inside; next } inside' "$page")
if [ "$(tail -n 2 <<<"$printed")" != "$shown" ]; then
  echo "$page shows other text than run.sh prints: $shown" >&2
  exit 1
fi
