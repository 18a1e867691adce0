// Bound to every qsim_fifo: its callers never lose an entry and never take one that is not there.
module qsim_fifo_assertions #(
  parameter int unsigned CountBits = 1,
  parameter int unsigned Depth = 1
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 push_i,
  input logic                 full_i,
  input logic                 pop_i,
  input logic                 valid_i,
  input logic [CountBits-1:0] count_i
);
  no_overflow: assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> !full_i)
    else $error("%m: a push while full");
  no_underflow: assert property (@(posedge clk_i) disable iff (!rst_ni) pop_i |-> valid_i)
    else $error("%m: a pop while empty");
  count_in_range: assert property (@(posedge clk_i) disable iff (!rst_ni) 32'(count_i) <= Depth)
    else $error("%m: more entries than places");
endmodule

bind qsim_fifo qsim_fifo_assertions #(
  .CountBits(CountBits),
  .Depth(Depth)
) u_assertions (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  .push_i(push_i),
  .full_i(full_o),
  .pop_i(pop_i),
  .valid_i(valid_o),
  .count_i(count_q)
);
