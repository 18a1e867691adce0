// Properties of qsim_semaphore_bank, in its scope, for semaphore number Chosen: its count is that
// of a model in wider integers which nets all starts and dones of a cycle, and a count that leaves
// 0..15 is the only way for the two to part.
parameter int unsigned Chosen = 0;
logic signed [7:0] model_q = '0;
logic overflowed_q = 1'b0;
logic in_reset_q = 1'b1;

wire [3:0] waits = start_i & {wait_mask_i[3 * Count + Chosen], wait_mask_i[2 * Count + Chosen],
                              wait_mask_i[Count + Chosen], wait_mask_i[Chosen]};
wire [3:0] signals = done_i & {signal_mask_i[3 * Count + Chosen], signal_mask_i[2 * Count + Chosen],
                               signal_mask_i[Count + Chosen], signal_mask_i[Chosen]};
// Ones of four bits, by table.
function automatic logic signed [7:0] ones(input logic [3:0] bits);
  case (bits)
    4'b0000: ones = 0;
    4'b0001, 4'b0010, 4'b0100, 4'b1000: ones = 1;
    4'b0111, 4'b1011, 4'b1101, 4'b1110: ones = 3;
    4'b1111: ones = 4;
    default: ones = 2;
  endcase
endfunction
wire signed [7:0] model_d = model_q + ones(signals) - ones(waits);
wire leaves_range = !init_valid_i && (model_d < 0 || model_d > 15);
wire [Bits-1:0] count = count_q[Bits * Chosen +: Bits];

always_ff @(posedge clk_i or negedge rst_ni) begin
  if (!rst_ni) begin
    model_q <= '0;
    overflowed_q <= 1'b0;
  end else if (init_valid_i) begin
    model_q <= {{(8 - Bits){1'b0}}, init_i[Bits * Chosen +: Bits]};
    overflowed_q <= 1'b0;
  end else begin
    model_q <= model_d;
    overflowed_q <= overflowed_q || leaves_range;
  end
end

always_ff @(posedge clk_i) in_reset_q <= 1'b0;

always_comb begin
  if (in_reset_q) assume (!rst_ni);
  if (rst_ni) begin
    assert (count == model_q[3:0]);
    if (!overflowed_q) begin
      assert (model_q >= 0 && model_q <= 15);
      assert (available_o[Chosen] == (model_q > 0));
    end
    // What induction needs of the registers.
    assert (available_o[Chosen] == (count != 0));
    // Overflow and underflow by one; four units at once; netting at both ends.
    cover (!overflowed_q && model_d == 16);
    cover (!overflowed_q && model_d == -1);
    cover (waits == 4'b1111 && signals == 4'b1111 && model_q == 5);
    cover (model_q == 15 && ones(waits) == 2 && ones(signals) == 2 && !overflowed_q);
    cover (model_q == 0 && ones(waits) == 1 && ones(signals) == 2 && !overflowed_q);
  end
end
