// Proof that each function of qsim_requantize_pkg equals the formula of docs/reference/numerics.md,
// computed in 64-bit integers, for every input; together they are the requantization. prove.sh
// takes each of the 32 shifts apart, which leaves the solver no shifter to reason about.
module requantize #(
  parameter int unsigned Shift = 0
) (
  input logic signed [31:0] acc,
  input logic signed [31:0] bias,
  input logic signed [32:0] t,
  input qsim_pkg::rounding_e rounding,
  input logic signed [33:0] rounded,
  input logic signed [7:0]  zero_point,
  input logic signed [7:0]  lo,
  input logic signed [7:0]  hi
);
  localparam int unsigned ShiftBits = qsim_pkg::ShiftBits;

  // Any t that the sum of two int32 can be, and any that a shift makes of it.
  localparam logic signed [63:0] LeastT = -64'sh1_0000_0000;
  localparam logic signed [63:0] MostT = 64'sh0_ffff_fffe;

  wire signed [63:0] t_wide = t;
  wire signed [63:0] acc_wide = acc;
  wire signed [63:0] bias_wide = bias;
  wire signed [63:0] sum_wide = acc_wide + bias_wide;
  wire signed [63:0] sum = qsim_requantize_pkg::requantize_add(acc, bias);

  always_comb begin
    assume (rounding == qsim_pkg::RoundingFloor || rounding == qsim_pkg::RoundingHalfEven ||
            rounding == qsim_pkg::RoundingHalfUp);
    assume (t_wide >= LeastT && t_wide <= MostT);
    assert (sum == sum_wide);
    cover (sum == LeastT);
    cover (sum == MostT);
  end

  localparam logic signed [63:0] Half = Shift == 0 ? 64'sd0 : 64'sd1 <<< (Shift - 1);
  wire signed [63:0] t_floor = t_wide >>> Shift;
  wire signed [63:0] to_even = Half - 64'sd1 + (t_floor[0] ? 64'sd1 : 64'sd0);
  wire signed [63:0] addend = Shift == 0 || rounding == qsim_pkg::RoundingFloor ? 64'sd0 :
                              rounding == qsim_pkg::RoundingHalfEven ? to_even : Half;
  wire signed [63:0] expected = (t_wide + addend) >>> Shift;
  wire signed [63:0] found = qsim_requantize_pkg::requantize_shift(t, ShiftBits'(Shift), rounding);
  wire signed [63:0] dropped = t_wide - (t_floor <<< Shift);

  always_comb begin
    assert (found == expected);
    cover (rounding == qsim_pkg::RoundingFloor && found == t_floor && t == LeastT);
    cover (rounding == qsim_pkg::RoundingHalfUp && t_wide + addend == MostT + Half);
    if (Shift > 0) begin
      cover (rounding == qsim_pkg::RoundingHalfEven && dropped == Half && found == t_floor && t < 0);
      cover (rounding == qsim_pkg::RoundingHalfEven && dropped == Half && found == t_floor + 64'sd1 && t < 0);
      cover (rounding == qsim_pkg::RoundingHalfUp && dropped == Half && found == t_floor + 64'sd1);
    end
  end

  wire signed [63:0] rounded_wide = rounded;
  wire signed [63:0] zero_point_wide = zero_point;
  wire signed [63:0] lo_wide = lo;
  wire signed [63:0] hi_wide = hi;
  wire signed [63:0] q_wide = rounded_wide + zero_point_wide;
  wire signed [63:0] clamped = q_wide < lo_wide ? lo_wide : q_wide > hi_wide ? hi_wide : q_wide;
  wire signed [63:0] q = qsim_requantize_pkg::requantize_clamp(rounded, zero_point, lo, hi);

  always_comb begin
    assume (lo <= hi);
    assert (q == clamped);
    cover (q_wide < lo_wide && q == lo_wide && lo < hi && lo > 0);
    cover (q_wide > hi_wide && q == hi_wide && lo < hi && hi < 0);
    cover (q == q_wide && q == -64'sd128 && zero_point == 8'sd127);
  end
endmodule
