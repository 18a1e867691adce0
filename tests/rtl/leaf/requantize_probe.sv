// The requantize functions in a row.
module requantize_probe (
  input  logic signed [31:0] acc_i,
  input  logic signed [31:0] bias_i,
  input  logic [qsim_pkg::ShiftBits-1:0] shift_i,
  input  qsim_pkg::rounding_e rounding_i,
  input  logic signed [7:0]  zero_point_i,
  input  logic signed [7:0]  lo_i,
  input  logic signed [7:0]  hi_i,
  output logic signed [7:0]  q_o
);
  logic signed [32:0] t;
  logic signed [33:0] rounded;
  assign t = qsim_requantize_pkg::requantize_add(acc_i, bias_i);
  assign rounded = qsim_requantize_pkg::requantize_shift(t, shift_i, rounding_i);
  assign q_o = qsim_requantize_pkg::requantize_clamp(rounded, zero_point_i, lo_i, hi_i);
endmodule
