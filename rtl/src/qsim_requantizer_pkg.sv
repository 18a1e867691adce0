// From an int32 psum to an int8 activation with any scale: the functions of core/numerics/requantizer.h, each the
// work of one pipeline stage of qsim_requantizer. docs/reference/numerics.md has formulas, widths and
// proofs. Values are sign and magnitude from the first stage on, because float32 and half_even treat
// both signs alike.
package qsim_requantizer_pkg;
  localparam int unsigned MultiplierBits = 24;
  localparam int unsigned RequantizerShiftBits = 6;

  // |t|; for float32, its 24 highest significant bits, rounded to nearest, ties to even. At most 2^32.
  // The significant bits of |t| are those of ~t = |t| - 1 for a negative t, but for powers of two, which
  // no rounding moves. So one addition negates and rounds.
  function automatic logic [32:0] requantizer_magnitude(
    input logic signed [32:0]  t,
    input qsim_pkg::rounding_e rounding
  );
    logic [32:0] size;    // |t|, or |t| - 1
    logic [8:0] dropped;  // of the lowest 9 bits, those below the 24 highest significant ones
    logic [8:0] half;     // the highest of those
    logic significant, lowest_kept;
    size = t ^ {33{t[32]}};
    significant = 1'b0;
    for (int i = 8; i >= 0; i--) begin
      significant = significant || size[24 + i];
      dropped[i] = rounding == qsim_pkg::RoundingFloat32 && significant;
    end
    half = dropped & ~{1'b0, dropped[8:1]};
    lowest_kept = (size[9:1] & half) != 9'd0;
    requantizer_magnitude = (size + {24'd0, lowest_kept ? half : {1'b0, dropped[8:1]}} + {32'd0, t[32]}) &
                            ~{24'd0, dropped};
  endfunction

  // The two numbers that sums holds, and 0 to 3 times a magnitude at bit 2 place, as two numbers with the
  // same sum: a row of full adders, {carries, sums}.
  function automatic logic [111:0] requantizer_row(
    input logic [111:0] sums,
    input logic [32:0]  magnitude,
    input logic [34:0]  triple,
    input logic [1:0]   digit,
    input int unsigned  place
  );
    logic [55:0] x, y, z, differ;
    {y, x} = sums;
    z = {21'd0, digit[1] ? (digit[0] ? triple : {1'b0, magnitude, 1'b0})
                         : (digit[0] ? {2'd0, magnitude} : 35'd0)} << (2 * place);
    differ = x ^ y;
    // Where the two bits are equal, they are the carry; else it is the third bit.
    requantizer_row = {(differ[54:0] & z[54:0]) | (~differ[54:0] & x[54:0]), 1'b0, differ ^ z};
  endfunction

  // 2^32 times 24 bits is below 2^56. A row for each two bits of the multiplier, then one addition: Yosys
  // makes almost twice the gates of `*` (ADR 0013).
  function automatic logic [55:0] requantizer_product(
    input logic [32:0]               magnitude,
    input logic [MultiplierBits-1:0] multiplier
  );
    logic [34:0] triple;
    logic [111:0] sums;
    triple = {2'd0, magnitude} + {1'b0, magnitude, 1'b0};
    sums = '0;
    for (int unsigned i = 0; i < MultiplierBits / 2; i++) begin
      sums = requantizer_row(sums, magnitude, triple, multiplier[2*i +: 2], i);
    end
    requantizer_product = sums[111:56] + sums[55:0];
  endfunction

  // product / 2^shift rounded to an integer; from 256 on, which saturates all levels, any number from
  // 256 on. floor and half_up are those of the signed number.
  function automatic logic [8:0] requantizer_round(
    input logic [55:0]                     product,
    input logic                            negative,
    input logic [RequantizerShiftBits-1:0] shift,
    input qsim_pkg::rounding_e             rounding
  );
    // The units, the half, 24 bits below it, and whether anything lies above or below those. Each step
    // of the shifter keeps the bits that the later steps can still bring into these.
    logic [80:0] by_0;
    logic [63:0] by_32;
    logic [47:0] by_16;
    logic [39:0] by_8;
    logic [35:0] by_4;
    logic [33:0] by_2;
    logic [32:0] by_1;
    logic above, below;
    logic [7:0] units;
    logic half;
    logic [23:0] rest;
    logic [7:0] unseen;  // the bits of the rest that are below half a unit of float32
    logic [8:0] half_unit;
    logic tie, near, up;

    by_0 = {product, 25'd0};
    by_32 = shift[5] ? {15'd0, by_0[80:32]} : by_0[63:0];
    by_16 = shift[4] ? by_32[63:16] : by_32[47:0];
    by_8 = shift[3] ? by_16[47:8] : by_16[39:0];
    by_4 = shift[2] ? by_8[39:4] : by_8[35:0];
    by_2 = shift[1] ? by_4[35:2] : by_4[33:0];
    by_1 = shift[0] ? by_2[33:1] : by_2[32:0];
    above = (!shift[5] && by_0[80:64] != '0) || (!shift[4] && by_32[63:48] != '0) ||
            (!shift[3] && by_16[47:40] != '0) || (!shift[2] && by_8[39:36] != '0) ||
            (!shift[1] && by_4[35:34] != '0) || (!shift[0] && by_2[33]);
    below = (shift[5] && by_0[31:25] != '0) || (shift[4] && by_32[15:0] != '0) ||
            (shift[3] && by_16[7:0] != '0) || (shift[2] && by_8[3:0] != '0) ||
            (shift[1] && by_4[1:0] != '0) || (shift[0] && by_2[0]);
    {units, half, rest} = by_1;

    tie = rest == '0 && !below;
    unseen[7] = units[7];
    for (int i = 6; i >= 0; i--) unseen[i] = unseen[i+1] || units[i];
    half_unit = {unseen, 1'b1} & ~{1'b0, unseen};
    // Rounded to float32, the product is a tie between two levels: it is at most half a unit away.
    if (half) begin
      near = (rest & ~{16'd0, unseen}) == '0 || (rest == {15'd0, half_unit} && !below);
    end else begin
      near = (rest | {16'd0, unseen}) == '1;
    end
    if (rounding == qsim_pkg::RoundingFloor) begin
      up = negative && (half || !tie);
    end else if (rounding == qsim_pkg::RoundingHalfEven) begin
      up = half && (units[0] || !tie);
    end else if (rounding == qsim_pkg::RoundingHalfUp) begin
      up = half && (!negative || !tie);
    end else begin
      up = near ? units[0] : half;
    end
    requantizer_round = {above, units} + {8'd0, up};
    if (above) requantizer_round[8] = 1'b1;
  endfunction

  // -level of a negative number: as the level less one that requantizer_clamp adds again.
  function automatic logic signed [9:0] requantizer_signed(input logic [8:0] level, input logic negative);
    requantizer_signed = {negative, level ^ {9{negative}}};
  endfunction

  // level, 1 where `up`, and the zero_point, clamped to [lo, hi]; lo <= hi.
  function automatic logic signed [7:0] requantizer_clamp(
    input logic signed [9:0]  level,
    input logic               up,
    input logic signed [7:0]  zero_point,
    input logic signed [7:0]  lo,
    input logic signed [7:0]  hi
  );
    logic signed [10:0] q;
    logic signed [10:0] least;
    logic signed [10:0] most;
    q = {level[9], level} + {{3{zero_point[7]}}, zero_point} + {10'd0, up};
    least = {{3{lo[7]}}, lo};
    most = {{3{hi[7]}}, hi};
    if (q < least) begin
      requantizer_clamp = lo;
    end else if (q > most) begin
      requantizer_clamp = hi;
    end else begin
      requantizer_clamp = q[7:0];
    end
  endfunction
endpackage
