#!/usr/bin/env bash
# with_tool.sh TOOL COMMAND...: runs the command where TOOL is installed; elsewhere the test is skipped,
# or fails where QSIM_REQUIRE asks for Verilator and its companions.
set -euo pipefail
tool=$1
shift
if command -v "$tool" >/dev/null; then
  exec "$@"
fi
echo "skipped: no $tool"
[[ ",${QSIM_REQUIRE:-}," != *,verilator,* ]] || exit 1
exit 77
