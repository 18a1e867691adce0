// Proof that the functions of qsim_sum_pkg equal the formulas of docs/reference/numerics.md, computed in
// 64-bit integers, for every input: the level of a psum, the shift of a product, the sum, its rounding to 24
// significant bits, and its level with the clamp. prove.sh takes each position Top of the sum's highest bit
// apart; 23 stands for all sums of up to 24 bits.
module sum #(
  parameter int unsigned Top = 23
) (
  input logic signed [58:0]  earlier,
  input logic [54:0]         part,
  input logic                negative,
  input qsim_pkg::rounding_e rounding,
  input logic [7:0]          psum,
  input logic                plus_128,
  input logic [31:0]         magnitude,
  input logic [4:0]          shift,
  input logic signed [58:0]  total,  // rounded to 24 significant bits
  input logic signed [58:0]  any,    // becomes a level
  input logic signed [7:0]   zero_point,
  input logic signed [7:0]   lo,
  input logic signed [7:0]   hi
);
  localparam logic [63:0] Unit = 64'd1 << (Top - 23);
  localparam logic [63:0] Most = 64'h300_0000_0000_0000;  // 2^57 + 2^56: what a constant and two products reach

  wire float32 = rounding == qsim_pkg::RoundingFloat32;
  wire signed [63:0] exact = total;
  wire [63:0] size = exact < 0 ? -exact : exact;
  // Rounds to nearest, ties to even.
  wire [63:0] to_even = (Unit >> 1) - (Unit == 64'd1 ? 64'd0 : 64'd1) +
                        (Unit != 64'd1 && (size & Unit) != 64'd0 ? 64'd1 : 64'd0);
  wire [63:0] seen = float32 ? (size + to_even) & ~(Unit - 64'd1) : size;
  wire signed [63:0] expected = exact < 0 ? -$signed(seen) : $signed(seen);
  wire signed [63:0] found = qsim_sum_pkg::sum_nearest(total, rounding);

  always_comb begin
    assume (size >> Top == 64'd1 || (Top == 23 && size >> 24 == 64'd0));
    assume (size <= Most);
    assert (found == expected);
    if (Top > 24) begin
      cover (float32 && exact < 0 && seen == size + (Unit >> 1));
      cover (float32 && exact > 0 && seen + (Unit >> 1) == size);
      if (Top < 57) cover (float32 && seen >> Top == 64'd2);
      cover (float32 && exact < 0 && size == 64'd1 << Top);
    end
  end

  // What does not depend on the sum's size is proven once.
  generate
    if (Top == 23) begin : gen_other_stages
      wire signed [63:0] level_of_psum = qsim_sum_pkg::sum_level_of_psum(psum, plus_128);
      wire signed [63:0] psum_wide = $signed(psum);
      wire [63:0] shifted = qsim_sum_pkg::sum_shift(magnitude, shift);
      wire [4:0] places = shift < 5'd24 ? shift : shift - 5'd8;

      wire signed [63:0] earlier_wide = earlier;
      wire signed [63:0] part_wide = $signed({9'd0, part});
      wire signed [63:0] sum_wide = negative ? earlier_wide - part_wide : earlier_wide + part_wide;
      wire [63:0] sum_size = sum_wide < 0 ? -sum_wide : sum_wide;
      wire signed [63:0] sum = qsim_sum_pkg::sum_add(earlier, part, negative);

      always_comb begin
        assume (sum_size <= Most);
        assert (sum == sum_wide);
        cover (sum < 0 && negative && earlier > 0);
        cover (sum > 0 && negative && part > 55'd0);
      end

      always_comb begin
        assert (level_of_psum == (plus_128 ? psum_wide + 64'sd128 : psum_wide));
        assert (shifted == {32'd0, magnitude} << places);
        cover (level_of_psum == 64'sd255);
        cover (shift == 5'd31 && shifted == 64'h7f_ffff_ff80_0000);
      end

      localparam logic signed [63:0] Half = 64'sd1 <<< 38;
      wire signed [63:0] any_wide = any;
      wire signed [63:0] floor_level = any_wide >>> 39;
      wire signed [63:0] addend = rounding == qsim_pkg::RoundingFloor ? 64'sd0 :
          rounding == qsim_pkg::RoundingHalfUp ? Half : Half - 64'sd1 + $signed({63'd0, floor_level[0]});
      wire signed [63:0] q = ((any_wide + addend) >>> 39) + zero_point;
      wire signed [63:0] clamped = q < lo ? lo : q > hi ? hi : q;
      wire signed [9:0] level_floor = qsim_sum_pkg::sum_floor(any);
      wire up = qsim_sum_pkg::sum_up(any, rounding);
      wire signed [63:0] level = qsim_requantizer_pkg::requantizer_clamp(level_floor, up, zero_point, lo, hi);

      always_comb begin
        assume (lo <= hi);
        assert (level == clamped);
        cover (level == q && any < 0 && zero_point == 8'sd127 && lo < hi);
        cover (any[37:0] == '0 && any[38] && q == floor_level + zero_point && float32 && any < 0);
        cover (any_wide == -64'sd288230376151711744 && level == lo && lo < hi);
      end
    end
  endgenerate
endmodule
