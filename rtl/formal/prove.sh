#!/usr/bin/env bash
# Proves the cells of rtl/src with yosys-smtbmc and z3, for every input and state.
# usage: prove.sh [--quick] [NAME...]
# NAME: fifo semaphore_bank burst_splitter requantize requantizer sum psum_sequencer
#   array_flags (default: all)
# --quick leaves out the covers of fifos with more than 8 entries, and all shapes of the psum sequencer and
# the array flags but 4x4 with all dataflows, which take minutes.
#
# A proof is: no assertion fails in the first cycles, none can fail after cycles in which all hold
# (induction), and every cover is reached, so that nothing is proven of nothing. Then each broken
# twin, the unit with one token changed, must fail an assertion, from the first cycle on. Exit 0
# when all is so, 1 when not, 77 when yosys or z3 is absent (1 if QSIM_REQUIRE lists verilator: the
# RTL's tools are then required).
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
src=$here/../src
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

require_tools() {
  local tool
  for tool in yosys yosys-smtbmc z3; do
    command -v "$tool" >/dev/null && continue
    if [[ ",${QSIM_REQUIRE:-}," == *,verilator,* ]]; then
      echo "QSIM_REQUIRE lists verilator, but there is no $tool" >&2
      exit 1
    fi
    echo "skipped: no $tool"
    exit 77
  done
}

fail() {
  echo "FAILED: $*" >&2
  [ ! -s "$work/log" ] || tail -n 20 "$work/log" >&2
  exit 1
}

# build PARAMETERS TOP FILE...: $work/model.smt2 of TOP with `Name=Value` parameters. Properties of
# a unit that lie in its scope, rtl/formal/UNIT.svh, are put before its endmodule.
build() {
  local parameters=$1 top=$2 file parameter sets=() copies=()
  shift 2
  for file in "$@"; do
    local name=${file##*/}
    local properties=$here/${name%.sv}.svh
    if [ -f "$properties" ]; then
      sed "s|^endmodule|\`include \"$properties\"\nendmodule|" "$file" >"$work/bound_$name"
      file=$work/bound_$name
    fi
    copies+=("$file")
  done
  for parameter in $parameters; do sets+=(-chparam "${parameter%=*}" "${parameter#*=}"); done
  yosys -q -p "read_verilog -sv -formal ${copies[*]}
    hierarchy -check -top $top ${sets[*]}
    prep -flatten -top $top
    memory_map
    async2sync
    opt -full
    dffunmap
    check -assert
    write_smt2 -wires $work/model.smt2" >"$work/log" 2>&1 || fail "$top $parameters: yosys"
}

# solve OPTION...: the status that yosys-smtbmc ends with, "passed" or "failed".
solve() {
  yosys-smtbmc --noprogress -s z3 --unroll --presat "$@" "$work/model.smt2" \
    >"$work/log" 2>&1 || true
  grep -oP 'Status: \K\w+' "$work/log" | tail -n 1 | tr '[:upper:]' '[:lower:]'
}

# proof NAME UNIT_FILE TOP STEPS INDUCTION PARAMETERS FILE...: UNIT_FILE is the one that twins
# break; STEPS is how far covers and twins go; INDUCTION is its depth, or 0 without state.
proof() {
  name=$1 unit=$2 top=$3 steps=$4 induction=$5 files=("${@:7}")
  build "$6" "$top" "${files[@]}"
  [ "$(solve -t $((induction + 2)))" = passed ] || fail "$name $6: not proven"
  if [ "$induction" -gt 0 ]; then
    [ "$(solve -i -t "$induction")" = passed ] || fail "$name $6: not proven by induction"
  fi
  if [ "$quick" = yes ] && [ "$steps" -gt 22 ]; then
    echo "$name${6:+ $6}: proven, covers left out"
    return
  fi
  [ "$(solve -c -t "$steps")" = passed ] || fail "$name $6: a cover is not reached"
  covers=$(grep -c 'Reached cover' "$work/log") || fail "$name $6: no covers"
  echo "$name${6:+ $6}: proven, $covers covers reached"
}

# twin PARAMETERS SED: the unit of the last proof with one token changed must fail.
twin() {
  local file broken=$work/$unit twins=()
  : >"$work/log"
  sed "$2" "$src/$unit" >"$broken"
  cmp -s "$broken" "$src/$unit" && fail "$name: twin '$2' changes nothing"
  for file in "${files[@]}"; do
    [ "${file##*/}" != "$unit" ] || file=$broken
    twins+=("$file")
  done
  build "$1" "$top" "${twins[@]}"
  [ "$(solve -t "$steps")" = failed ] || fail "$name $1: the broken twin '$2' passes"
  grep -q 'Assert failed' "$work/log" || fail "$name $1: twin '$2' fails no assertion"
  echo "$name${1:+ $1}: broken twin noticed: $2"
}

prove_fifo() {
  local depth
  for depth in 1 2 3 4 7 8 16 17; do
    proof fifo qsim_fifo.sv qsim_fifo $((2 * depth + 6)) 2 "Width=3 Depth=$depth" \
      "$src/qsim_fifo.sv"
  done
  twin "Width=3 Depth=3" 's/push = push_i && !full_o/push = push_i/'
  twin "Width=3 Depth=3" 's/pop = pop_i && valid_o/pop = pop_i/'
  twin "Width=3 Depth=3" "s/PointerBits'(Depth - 1)/PointerBits'(Depth)/"
  twin "Width=3 Depth=3" 's/if (push \&\& !pop) count_q/if (push) count_q/'
  twin "Width=3 Depth=3" 's/storage_q\[read_pointer_q\]/storage_q[write_pointer_q]/'
}

prove_semaphore_bank() {
  local chosen
  for chosen in {0..15}; do
    proof semaphore_bank qsim_semaphore_bank.sv qsim_semaphore_bank 4 1 "Chosen=$chosen" \
      "$src/qsim_pkg.sv" "$src/qsim_semaphore_bank.sv"
  done
  twin "Chosen=15" "s/Bits'(raised\[2\]) + Bits'(raised\[3\])/Bits'(raised[2]) + Bits'(raised[2])/"
  twin "Chosen=0" "s/- Bits'(lowered\[3\])/+ Bits'(lowered[3])/"
  twin "Chosen=3" "s/wait_mask_i\[Count \* u + s\]/wait_mask_i[Count * u]/"
  twin "Chosen=7" 's/<= next_count != /<= count_q[Bits * s +: Bits] != /'
  twin "Chosen=9" "s/|| done_i != '0/|| done_i[0]/"
}

prove_burst_splitter() {
  local files=("$src/qsim_pkg.sv" "$here/burst_splitter.sv" "$src/qsim_burst_splitter.sv") parameters size
  for parameters in "BoundaryBytes=0" "BoundaryBytes=4096 BeatsWidth=9" "MaxBeats=7" \
    "MaxBeats=256"; do
    for size in {0..7}; do
      proof burst_splitter qsim_burst_splitter.sv burst_splitter 5 1 "$parameters Size=$size" \
        "${files[@]}"
    done
  done
  twin "Size=2" 's/) >> size_i;/) >> 1;/'
  twin "Size=5" 's/to_boundary) < MaxBeats ?/to_boundary) > MaxBeats ?/'
  twin "Size=4 BoundaryBytes=0" 's/beats_i <= BeatsWidth/beats_i < BeatsWidth/'
  twin "Size=4" "s/(AddrWidth'(burst_beats_o) << size_i)/AddrWidth'(burst_beats_o)/"
}

prove_requantize() {
  local files=("$src/qsim_pkg.sv" "$src/qsim_requantize_pkg.sv" "$here/requantize.sv") shift
  for shift in {0..31}; do
    proof requantize qsim_requantize_pkg.sv requantize 1 0 "Shift=$shift" "${files[@]}"
  done
  twin "Shift=0" "s/logic signed \\[33:0\\] doubled/logic signed [32:0] doubled/"
  twin "Shift=0" 's/{bias\[31\], bias}/{1'"'b0"', bias}/'
  twin "Shift=31" 's/doubled >>> shift/doubled >> shift/'
  twin "Shift=9" 's/(halves\[1\] ||/(!halves[1] ||/'
  twin "Shift=1" "s/up = halves\[0\];/up = 1'b0;/"
  twin "Shift=0" 's/most = {{27{hi\[7\]}}, hi}/most = {27'"'b0"', hi}/'
  twin "Shift=0" 's/requantize_clamp = lo;/requantize_clamp = q[7:0];/'
}

prove_requantizer() {
  local files=("$src/qsim_pkg.sv" "$src/qsim_requantizer_pkg.sv" "$here/requantizer.sv") shift shifts=({0..63})
  [ "$quick" = no ] || shifts=(0 8 11 25 33 40 56 63)
  for shift in "${shifts[@]}"; do
    proof requantizer qsim_requantizer_pkg.sv requantizer 1 0 "Shift=$shift" "${files[@]}"
  done
  twin "Shift=33" 's/size\[24 + i\]/size[25 + i]/'
  twin "Shift=33" 's/half : {1.b0, dropped\[8:1\]}/half : dropped/'
  twin "Shift=33" 's/size\[9:1\] & half/size[8:0] \& half/'
  twin "Shift=33" 's/ + {32.d0, t\[32\]}//'
  twin "Shift=40" 's/by_0\[31:25\]/by_0[31:26]/'
  twin "Shift=8" 's/by_8\[39:36\] !=/by_8[39:37] !=/'
  twin "Shift=33" 's/up = near ? units\[0\] : half/up = half/'
  twin "Shift=33" 's/half_unit} \&\& !below/half_unit}/'
  twin "Shift=33" "s/== {15'd0, half_unit}/== {16'd0, half_unit[8:1]}/"
  twin "Shift=33" "s/near = (rest | {16'd0, unseen}) == '1/near = 1'b0/"
  twin "Shift=33" 's/up = half \&\& (!negative || !tie)/up = half/'
  twin "Shift=33" 's/up = negative \&\& (half || !tie)/up = negative \&\& half/'
  twin "Shift=33" 's/up = half \&\& (units\[0\] || !tie)/up = half \&\& (!units[0] || !tie)/'
  twin "Shift=33" "s/if (above) requantizer_round\[8\] = 1'b1/if (above) requantizer_round[8] = units[0]/"
  twin "Shift=33" 's/logic signed \[10:0\] q;/logic signed [8:0] q;/'
  twin "Shift=33" 's/requantizer_clamp = lo;/requantizer_clamp = hi;/'
  twin "Shift=33" 's/{negative, level ^/{1'"'b0"', level ^/'
  twin "Shift=11" 's/(~differ\[54:0\] \& x/(x/'
  twin "Shift=8" 's/digit\[0\] ? triple/digit[0] ? {1'"'b0"', magnitude, 1'"'b0"'}/'
  twin "Shift=8" 's/<< (2 \* place)/<< place/'
  twin "Shift=11" 's/i < MultiplierBits \/ 2/i < MultiplierBits \/ 2 - 1/'
}

prove_sum() {
  local files=("$src/qsim_pkg.sv" "$src/qsim_requantizer_pkg.sv" "$src/qsim_sum_pkg.sv" "$here/sum.sv") top tops=({23..57})
  [ "$quick" = no ] || tops=(23 40 57)
  for top in "${tops[@]}"; do
    proof sum qsim_sum_pkg.sv sum 1 0 "Top=$top" "${files[@]}"
  done
  twin "Top=40" 's/size\[24 + i\]/size[23 + i]/'
  twin "Top=57" 's/i = 33;/i = 32;/'
  twin "Top=40" 's/size = sum\[57:0\] ^ .*;/size = sum[57:0];/'
  twin "Top=40" 's/sum\[34:1\] & half/sum[33:0] \& half/'
  twin "Top=40" "s/{26'd0, dropped\[33:1\]}/{25'd0, dropped}/"
  # shellcheck disable=SC2016 # $signed is Verilog's
  twin "Top=23" 's/ + $signed({58.d0, negative})//'
  twin "Top=23" 's/if (shift\[4\])/if (shift[4] \&\& !shift[3])/'
  twin "Top=23" 's/~psum\[7\], psum/psum[7], psum/'
  twin "Top=23" 's/(sum\[FractionBits\] ||/(!sum[FractionBits] ||/'
  twin "Top=23" 's/Top = FractionBits + 9/Top = FractionBits + 8/'
  twin "Top=23" 's/{9{!sum\[SumBits-1\]}}/{9{sum[SumBits-1]}}/'
}

prove_psum_sequencer() {
  local files=("$src/qsim_pkg.sv" "$src/qsim_psum_sequencer.sv") shape
  for shape in "${shapes[@]}"; do
    proof psum_sequencer qsim_psum_sequencer.sv qsim_psum_sequencer 22 1 "AccAddrBits=5 $shape" "${files[@]}"
  done
  shape="AccAddrBits=5 Rows=4 Cols=4"
  twin "$shape" "s/draining_q && PixelBits'(drain_lane_q) < drain_pixels_q/draining_q/"
  twin "$shape" 's/drain_pixels_q <= left_q/drain_pixels_q <= left_q - group_pixels/'
  twin "$shape" 's/drain_half_q <= half_q/drain_half_q <= command_i.acc_half/'
  twin "$shape" 's/block_addr + pixels_q/block_addr + group_addr_q/'
  twin "$shape" "s/PixelBits'(lane) < left_q/PixelBits'(lane) <= left_q/"
  twin "$shape" 's/overwrite_o <= first_fold_i && !accumulate_q/overwrite_o <= !accumulate_q/'
  twin "$shape" "s/ && blocks_left == '0);/);/"
}

prove_array_flags() {
  local files=("$src/qsim_array_flags.sv") shape
  for shape in "${shapes[@]}"; do
    proof array_flags qsim_array_flags.sv qsim_array_flags 22 1 "$shape" "${files[@]}"
  done
  shape="Rows=4 Cols=4"
  twin "$shape" "s/{{(Rows-1){1'b1}}, 1'b0}/{{(Rows-2){1'b1}}, 2'b0}/"
  twin "$shape" 's/os ? swap_delay_q\[Rows:1\]/os ? swap_delay_q[Rows-1:0]/'
  twin "$shape" 's/clear_q || group_last_q/group_last_q/'
  twin "$shape" 's/os \&\& load_i ? WaveBits/os \&\& first_i ? WaveBits/'
  twin "$shape" 's/load_i ? rows_loading :/load_i ? rows_loading_q :/'
  twin "$shape" 's/if (load_i) rows_loading_q/if (first_i) rows_loading_q/'
}

require_tools
quick=no
if [ "${1:-}" = --quick ]; then
  quick=yes
  shift
fi
# The shapes for which psum_sequencer and array_flags are proven.
shapes=("Rows=4 Cols=4 Dataflows=7")
[ "$quick" = yes ] || shapes+=("Rows=4 Cols=4 Dataflows=3" "Rows=4 Cols=4 Dataflows=5" "Rows=4 Cols=8 Dataflows=7"
  "Rows=8 Cols=4 Dataflows=7")
[ $# -gt 0 ] || set -- fifo semaphore_bank burst_splitter requantize requantizer sum psum_sequencer array_flags
for chosen in "$@"; do
  declare -F "prove_$chosen" >/dev/null || fail "no proof '$chosen'"
  "prove_$chosen"
done
