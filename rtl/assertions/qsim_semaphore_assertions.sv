// Bound to the semaphore bank: a unit starts only with every token that it waits for, and no count
// leaves 0..15 once the signals and waits of a cycle are netted.
module qsim_semaphore_assertions #(
  parameter int unsigned Count = 1,
  parameter int unsigned Bits = 1,
  parameter int unsigned Units = 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   init_valid_i,
  input  logic [Count*Units-1:0] wait_mask_i,
  input  logic [Units-1:0]       start_i,
  input  logic [Count*Units-1:0] signal_mask_i,
  input  logic [Units-1:0]       done_i,
  input  logic [Count-1:0]       available_i,
  input  logic [Bits*Count-1:0]  count_i
);
  // The count after this cycle, in integers.
  function automatic int netted(input int unsigned index);
    netted = 32'(count_i[Bits*index +: Bits]);
    for (int unsigned u = 0; u < Units; u++) begin
      if (done_i[u] && signal_mask_i[Count*u+index]) netted = netted + 1;
      if (start_i[u] && wait_mask_i[Count*u+index]) netted = netted - 1;
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni && !init_valid_i && (start_i != '0 || done_i != '0)) begin
      for (int unsigned s = 0; s < Count; s++) begin
        no_overflow: assert (netted(s) < (1 << Bits))
          else $error("%m: semaphore %0d overflows", s);
        no_underflow: assert (netted(s) >= 0)
          else $error("%m: semaphore %0d underflows", s);
      end
      for (int unsigned u = 0; u < Units; u++) begin
        tokens_there: assert (!start_i[u] || (wait_mask_i[Count*u +: Count] & ~available_i) == '0)
          else $error("%m: unit %0d starts without its tokens", u);
      end
    end
  end
endmodule

bind qsim_semaphore_bank qsim_semaphore_assertions #(
  .Count(Count),
  .Bits(Bits),
  .Units(Units)
) u_assertions (
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
