// Bound to the semaphore bank: a unit starts only with every token it waits for, and no count leaves
// 0..15 once the signals and waits of a cycle are netted.
module qsim_semaphore_assertions (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        init_valid_i,
  input logic [63:0] wait_mask_i,
  input logic [3:0]  start_i,
  input logic [63:0] signal_mask_i,
  input logic [3:0]  done_i,
  input logic [15:0] available_i,
  input logic [63:0] count_i
);
  // The count after this cycle, in integers.
  function automatic int netted(input int unsigned index);
    netted = 32'(count_i[4*index +: 4]);
    for (int unsigned u = 0; u < 4; u++) begin
      if (done_i[u] && signal_mask_i[16*u+index]) netted = netted + 1;
      if (start_i[u] && wait_mask_i[16*u+index]) netted = netted - 1;
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni && !init_valid_i && (start_i != '0 || done_i != '0)) begin
      for (int unsigned s = 0; s < 16; s++) begin
        no_overflow: assert (netted(s) <= 15)
          else $error("%m: semaphore %0d overflows", s);
        no_underflow: assert (netted(s) >= 0)
          else $error("%m: semaphore %0d underflows", s);
      end
      for (int unsigned u = 0; u < 4; u++) begin
        tokens_there: assert (!start_i[u] || (wait_mask_i[16*u +: 16] & ~available_i) == '0)
          else $error("%m: unit %0d starts without its tokens", u);
      end
    end
  end
endmodule

bind qsim_semaphore_bank qsim_semaphore_assertions u_assertions (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  .init_valid_i(init_valid_i),
  .wait_mask_i(wait_mask_i),
  .start_i(start_i),
  .signal_mask_i(signal_mask_i),
  .done_i(done_i),
  .available_i(available_o),
  .count_i(count_q)
);
