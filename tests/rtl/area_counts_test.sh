#!/usr/bin/env bash
# rtl/yosys/area.csv, to which core/machine/area.h is fitted, is of today's RTL: pe4x4 is counted again. Flip-flops and
# memory bits are equal. Gates may differ by 1 in 100: ABC's result depends a little on the numbers that Yosys
# gives to cells, and these on all that it reads, also on modules that the accelerator does not use. (The array's
# 18,403 became 18,245 when POST got modules that this configuration does not have.)
# usage: area_counts_test.sh REPOSITORY_ROOT
set -euo pipefail
counts=$1/rtl/yosys/area.csv
now=$("$1/rtl/yosys/synthesize.sh" parts "$1/configs/pe4x4.yaml")
awk -F, -v OFS=, '
  NR == FNR { then[$12] = $0; next }
  FNR == 1 { if ($0 != then["part"]) { print "other columns: " $0; failed = 1 }; next }
  {
    split(then[$12], old)
    gates = $13 - old[13]
    if (old[14] != $14 || old[15] != $15 || 100 * (gates < 0 ? -gates : gates) > old[13]) {
      print "area.csv: " then[$12] "; now: " $0
      failed = 1
    }
    parts++
  }
  END { exit failed || parts != 7 }
' <(head -n 1 "$counts" && grep '^pe4x4,' "$counts") - <<<"$now" || {
  echo "area.csv is not of this RTL; count again with synthesize.sh parts, then tools/energy/area_law.py --write" >&2
  exit 1
}
echo "area.csv is of this RTL"
