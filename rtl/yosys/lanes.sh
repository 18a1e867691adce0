#!/usr/bin/env bash
# One lane of each requantizer with Yosys, mapped to gates as synthesize.sh maps the core.
#   lanes.sh check   elaborates qsim_requantizer and checks for undriven wires and loops
#   lanes.sh area    prints the gates and flip-flops of ADR 0013
set -euo pipefail
src=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../src" && pwd)
mode=${1:-}
if ! [[ $mode =~ ^(check|area)$ ]] || [ $# -ne 1 ]; then
  echo "usage: lanes.sh check|area" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The stages as modules of their own, and today's lane: three stages, each with its registers.
cat >"$work/stages.sv" <<'SV'
module magnitude (input logic signed [32:0] t, input qsim_pkg::rounding_e rounding,
                  output logic [32:0] out);
  assign out = qsim_requantizer_pkg::requantizer_magnitude(t, rounding);
endmodule
module product (input logic [32:0] magnitude, input logic [23:0] multiplier, output logic [55:0] out);
  assign out = qsim_requantizer_pkg::requantizer_product(magnitude, multiplier);
endmodule
module round (input logic [55:0] product, input logic negative, input logic [5:0] shift,
              input qsim_pkg::rounding_e rounding, output logic [8:0] out);
  assign out = qsim_requantizer_pkg::requantizer_round(product, negative, shift, rounding);
endmodule
module clamp (input logic signed [9:0] level, input logic up, input logic signed [7:0] zero_point, lo, hi,
              output logic signed [7:0] out);
  assign out = qsim_requantizer_pkg::requantizer_clamp(level, up, zero_point, lo, hi);
endmodule
module sum (input logic signed [58:0] earlier, input logic [31:0] product, input logic [4:0] shift,
            input logic negative, input qsim_pkg::rounding_e rounding, output logic signed [58:0] out);
  assign out = qsim_sum_pkg::sum_nearest(
      qsim_sum_pkg::sum_add(earlier, qsim_sum_pkg::sum_shift(product, shift), negative), rounding);
endmodule
module bias (input logic signed [31:0] acc, bias, output logic signed [32:0] out);
  assign out = qsim_requantize_pkg::requantize_add(acc, bias);
endmodule
module shift_lane (input logic clk_i, input logic signed [31:0] acc, bias,
                   input logic [qsim_pkg::ShiftBits-1:0] shift, input qsim_pkg::rounding_e rounding,
                   input logic signed [7:0] zero_point, lo, hi, output logic signed [7:0] level_q);
  logic signed [32:0] sum_q;
  logic signed [33:0] rounded_q;
  logic [qsim_pkg::ShiftBits-1:0] shift_q;
  qsim_pkg::rounding_e rounding_q;
  always_ff @(posedge clk_i) begin
    sum_q <= qsim_requantize_pkg::requantize_add(acc, bias);
    shift_q <= shift;
    rounding_q <= rounding;
    rounded_q <= qsim_requantize_pkg::requantize_shift(sum_q, shift_q, rounding_q);
    level_q <= qsim_requantize_pkg::requantize_clamp(rounded_q, zero_point, lo, hi);
  end
endmodule
SV
sources="$src/qsim_pkg.sv $src/qsim_requantize_pkg.sv $src/qsim_requantizer_pkg.sv $src/qsim_sum_pkg.sv $src/qsim_requantizer.sv"

run_yosys() {
  yosys -q -l "$work/log" -p "$1" >/dev/null 2>&1 && return
  tail -n 20 "$work/log" >&2
  exit 1
}

if [ "$mode" = check ]; then
  run_yosys "read_verilog -sv $sources; hierarchy -check -top qsim_requantizer; proc; opt_clean; check -assert"
  echo "qsim_requantizer: elaborates"
  exit 0
fi
echo "| module | gates | flip-flops |
|---|---|---|"
for top in bias magnitude product round clamp sum "qsim_requantizer 1" "qsim_requantizer 5" shift_lane; do
  read -r module cols <<<"$top"
  run_yosys "read_verilog -sv $sources $work/stages.sv; ${cols:+chparam -set Cols $cols $module;}
    hierarchy -check -top $module; proc; opt; memory_dff; memory_collect; opt; alumacc; opt
    techmap; opt -fast; abc -fast -g AND,OR,XOR,MUX; opt_clean -purge; tee -q -o $work/statistics stat"
  awk -v name="$module${cols:+, $cols lanes}" '$1 ~ /_(AND|OR|XOR|MUX|NOT)_$/ { gates += $2 } $1 ~ /DFF/ { flops += $2 }
    END { printf "| %s | %d | %d |\n", name, gates, flops }' "$work/statistics"
done
