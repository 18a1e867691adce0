// From two int8 levels to one: the functions of core/numerics/adder.h, in units of 2^-39. qsim_requantizer says which
// pipeline stage computes which; the clamp is qsim_requantizer_pkg's. docs/reference/numerics.md has
// formulas, widths and proofs.
package qsim_sum_pkg;
  localparam int unsigned LeftShiftBits = 5;
  localparam int unsigned SumBits = 59;
  localparam int unsigned FixedBits = 58;
  localparam int unsigned FractionBits = 39;

  // The level that a psum carries.
  function automatic logic signed [32:0] sum_level_of_psum(
    input logic [7:0] psum,
    input logic       plus_128
  );
    sum_level_of_psum = plus_128 ? {25'd0, ~psum[7], psum[6:0]} : {{25{psum[7]}}, psum};
  endfunction

  // The constant that the first operand is added to.
  function automatic logic signed [SumBits-1:0] sum_constant(input logic signed [FixedBits-1:0] fixed);
    sum_constant = {fixed[FixedBits-1], fixed};
  endfunction

  // magnitude << shift; shifts of 24 to 31 mean 16 to 23.
  function automatic logic [54:0] sum_shift(
    input logic [31:0]              magnitude,
    input logic [LeftShiftBits-1:0] shift
  );
    logic [38:0] by_7;
    by_7 = {7'd0, magnitude} << shift[2:0];
    if (shift[4]) sum_shift = {by_7, 16'd0};
    else if (shift[3]) sum_shift = {8'd0, by_7, 8'd0};
    else sum_shift = {16'd0, by_7};
  endfunction

  // earlier + or - part.
  function automatic logic signed [SumBits-1:0] sum_add(
    input logic signed [SumBits-1:0] earlier,
    input logic [54:0]               part,
    input logic                      negative
  );
    sum_add = earlier + $signed({4'd0, part} ^ {SumBits{negative}}) + $signed({58'd0, negative});
  endfunction

  // sum; for float32, its 24 highest significant bits, rounded to nearest, ties to even. The significant
  // bits of a negative number n are those of ~n = |n| - 1, but for powers of two, which no rounding moves.
  function automatic logic signed [SumBits-1:0] sum_nearest(
    input logic signed [SumBits-1:0] sum,
    input qsim_pkg::rounding_e       rounding
  );
    logic [57:0] size;     // |sum|, or |sum| - 1
    logic [33:0] dropped;  // of the lowest 34 bits, those below the 24 highest significant ones
    logic [33:0] half;     // the highest of those
    logic significant, lowest_kept;
    size = sum[57:0] ^ {58{sum[SumBits-1]}};
    significant = 1'b0;
    for (int i = 33; i >= 0; i--) begin
      significant = significant || size[24 + i];
      dropped[i] = rounding == qsim_pkg::RoundingFloat32 && significant;
    end
    half = dropped & ~{1'b0, dropped[33:1]};
    lowest_kept = (sum[34:1] & half) != '0;
    sum_nearest = (sum + $signed({26'd0, dropped[33:1]}) + $signed({58'd0, lowest_kept})) &
                  $signed(~{25'd0, dropped});
  endfunction

  // floor(sum / 2^39); outside -512..511, which saturates all levels, one of these two.
  function automatic logic signed [9:0] sum_floor(input logic signed [SumBits-1:0] sum);
    localparam int unsigned Top = FractionBits + 9;
    logic saturated;
    saturated = sum[SumBits-1:Top] != {(SumBits-Top){sum[SumBits-1]}};
    sum_floor = saturated ? {sum[SumBits-1], {9{!sum[SumBits-1]}}} : sum[Top:FractionBits];
  endfunction

  // Whether sum / 2^39 is rounded up from its floor.
  function automatic logic sum_up(input logic signed [SumBits-1:0] sum, input qsim_pkg::rounding_e rounding);
    if (rounding == qsim_pkg::RoundingFloor) begin
      sum_up = 1'b0;
    end else if (rounding == qsim_pkg::RoundingHalfUp) begin
      sum_up = sum[FractionBits-1];
    end else begin
      sum_up = sum[FractionBits-1] && (sum[FractionBits] || sum[FractionBits-2:0] != '0);
    end
  endfunction
endpackage
