// The requantizer of C columns for any scale: clamp(round((psum + bias) * multiplier / 2^shift) +
// zero_point), one word of psums a cycle. A word given in cycle s is in these stages:
//
//   s      bias                                   s + 3  shift and round
//   s + 1  magnitude; its rounding to float32     s + 4  zero_point and clamp
//   s + 2  product                                s + 5  levels_o
//
// With add_i, two words become one: first operand b, then a (second_i). They have the same stages, with
// these differences: the level of a psum in place of its sum with the bias; the operand's multiplier in
// place of the channel's; in s + 3 the product is shifted left and added to fixed_i, or, of the second
// word, to the first one's sum; in s + 4 the sum is rounded to a level. levels_o of the first word mean
// nothing.
module qsim_requantizer #(
  parameter int unsigned Cols = 16,
  parameter int unsigned TagBits = 1
) (
  input  logic                                                       clk_i,
  input  logic                                                       rst_ni,
  input  logic                                                       valid_i,
  input  logic [TagBits-1:0]                                         tag_i,
  input  logic [32*Cols-1:0]                                         psums_i,
  input  logic [32*Cols-1:0]                                         biases_i,
  input  logic [qsim_requantizer_pkg::MultiplierBits*Cols-1:0]       multipliers_i,
  input  logic [qsim_requantizer_pkg::RequantizerShiftBits*Cols-1:0] shifts_i,
  input  qsim_pkg::rounding_e                                        rounding_i,
  input  qsim_requantize_pkg::levels_t                               range_i,
  input  logic                                                       add_i,
  input  logic                                                       second_i,
  input  logic                                                       plus_128_i,
  input  logic [qsim_sum_pkg::LeftShiftBits-1:0]                     left_shift_i,
  input  logic [qsim_requantizer_pkg::MultiplierBits-1:0]            multiplier_i,
  input  logic signed [qsim_sum_pkg::FixedBits-1:0]                  fixed_i,
  output logic                                                       valid_o,
  output logic [TagBits-1:0]                                         tag_o,
  output logic signed [7:0]                                          lo_o,
  output logic [8*Cols-1:0]                                          levels_o
);
  localparam int unsigned Multiplier = qsim_requantizer_pkg::MultiplierBits;
  localparam int unsigned Shift = qsim_requantizer_pkg::RequantizerShiftBits;

  // sum_q: the word's sums are there; magnitude_q: their magnitudes; and so on.
  logic sum_q, magnitude_q, product_q, round_q, level_q;
  qsim_pkg::rounding_e sum_rounding_q, magnitude_rounding_q, product_rounding_q;
  qsim_requantize_pkg::levels_t sum_range_q, magnitude_range_q, product_range_q, round_range_q;
  logic [TagBits-1:0] sum_tag_q, magnitude_tag_q, product_tag_q, round_tag_q;
  logic [Multiplier*Cols-1:0] sum_multipliers_q, magnitude_multipliers_q;
  logic [Shift*Cols-1:0] sum_shifts_q, magnitude_shifts_q, product_shifts_q;
  logic [Cols-1:0] magnitude_negative_q, product_negative_q, round_negative_q;
  logic signed [32:0] sums_q [Cols];
  logic [32:0] magnitudes_q [Cols];
  logic [55:0] products_q [Cols];
  logic [8:0] rounded_q [Cols];

  // For words that are added.
  logic sum_add_q, magnitude_add_q, product_add_q, round_add_q;
  logic sum_second_q, magnitude_second_q, product_second_q;
  qsim_pkg::rounding_e round_rounding_q;
  logic [qsim_sum_pkg::LeftShiftBits-1:0] sum_left_q, magnitude_left_q, product_left_q;
  logic signed [qsim_sum_pkg::FixedBits-1:0] sum_fixed_q, magnitude_fixed_q, product_fixed_q;
  logic signed [qsim_sum_pkg::SumBits-1:0] added_q [Cols];

  for (genvar c = 0; c < Cols; c++) begin : gen_lane
    always_ff @(posedge clk_i) begin
      if (valid_i) begin
        sums_q[c] <= add_i ? qsim_sum_pkg::sum_level_of_psum(psums_i[32*c +: 8], plus_128_i)
                           : qsim_requantize_pkg::requantize_add($signed(psums_i[32*c +: 32]),
                                                                 $signed(biases_i[32*c +: 32]));
      end
      if (sum_q) begin
        magnitudes_q[c] <= qsim_requantizer_pkg::requantizer_magnitude(sums_q[c], sum_rounding_q);
        magnitude_negative_q[c] <= sums_q[c][32];
      end
      if (magnitude_q) begin
        products_q[c] <= qsim_requantizer_pkg::requantizer_product(
            magnitudes_q[c], magnitude_multipliers_q[Multiplier*c +: Multiplier]);
      end
      if (product_q) begin
        rounded_q[c] <= qsim_requantizer_pkg::requantizer_round(
            products_q[c], product_negative_q[c], product_shifts_q[Shift*c +: Shift],
            product_rounding_q);
        if (product_add_q) begin
          added_q[c] <= qsim_sum_pkg::sum_nearest(
              qsim_sum_pkg::sum_add(
                  product_second_q ? added_q[c] : qsim_sum_pkg::sum_constant(product_fixed_q),
                  qsim_sum_pkg::sum_shift(products_q[c][31:0], product_left_q), product_negative_q[c]),
              product_rounding_q);
        end
      end
      if (round_q) begin
        levels_o[8*c +: 8] <= qsim_requantizer_pkg::requantizer_clamp(
            round_add_q ? qsim_sum_pkg::sum_floor(added_q[c])
                        : qsim_requantizer_pkg::requantizer_signed(rounded_q[c], round_negative_q[c]),
            round_add_q ? qsim_sum_pkg::sum_up(added_q[c], round_rounding_q) : round_negative_q[c],
            round_range_q.zero_point, round_range_q.lo, round_range_q.hi);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      sum_multipliers_q <= add_i ? {Cols{multiplier_i}} : multipliers_i;
      sum_add_q <= add_i;
      sum_second_q <= second_i;
      sum_left_q <= left_shift_i;
      sum_fixed_q <= fixed_i;
      sum_shifts_q <= shifts_i;
      sum_rounding_q <= rounding_i;
      sum_tag_q <= tag_i;
      sum_range_q <= range_i;
    end
    if (sum_q) begin
      magnitude_multipliers_q <= sum_multipliers_q;
      magnitude_add_q <= sum_add_q;
      magnitude_second_q <= sum_second_q;
      magnitude_left_q <= sum_left_q;
      magnitude_fixed_q <= sum_fixed_q;
      magnitude_shifts_q <= sum_shifts_q;
      magnitude_rounding_q <= sum_rounding_q;
      magnitude_tag_q <= sum_tag_q;
      magnitude_range_q <= sum_range_q;
    end
    if (magnitude_q) begin
      product_negative_q <= magnitude_negative_q;
      product_add_q <= magnitude_add_q;
      product_second_q <= magnitude_second_q;
      product_left_q <= magnitude_left_q;
      product_fixed_q <= magnitude_fixed_q;
      product_shifts_q <= magnitude_shifts_q;
      product_rounding_q <= magnitude_rounding_q;
      product_tag_q <= magnitude_tag_q;
      product_range_q <= magnitude_range_q;
    end
    if (product_q) begin
      round_negative_q <= product_negative_q;
      round_rounding_q <= product_rounding_q;
      round_add_q <= product_add_q;
      round_tag_q <= product_tag_q;
      round_range_q <= product_range_q;
    end
    if (round_q) begin
      tag_o <= round_tag_q;
      lo_o <= round_range_q.lo;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sum_q <= 1'b0;
      magnitude_q <= 1'b0;
      product_q <= 1'b0;
      round_q <= 1'b0;
      level_q <= 1'b0;
    end else begin
      sum_q <= valid_i;
      magnitude_q <= sum_q;
      product_q <= magnitude_q;
      round_q <= product_q;
      level_q <= round_q;
    end
  end

  assign valid_o = level_q;
endmodule
