// Bound to the array flags: what rtl/formal/qsim_array_flags.svh assumes of the execute unit around them.
module qsim_array_flags_assertions #(
  parameter int unsigned Rows = 4,
  parameter int unsigned Cols = 4
) (
  input logic clk_i,
  input logic rst_ni,
  input logic output_stationary_i,
  input logic load_i,
  input logic first_i,
  input logic start_clear_i,
  input logic group_last_i
);
  localparam int unsigned Quiet = 2 * Rows + Cols + 3;  // cycles without a word, at least
  localparam int unsigned CountBits = $clog2(Quiet + 1);

  logic [CountBits-1:0] to_come_q;  // words of the fold after those that were here
  logic [CountBits-1:0] quiet_q;    // cycles since the last word, Quiet at most
  logic [2:0] start_clear_q;        // bit i: i + 1 cycles ago

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      to_come_q <= '0;
      quiet_q <= CountBits'(Quiet);
      start_clear_q <= '0;
    end else begin
      if (first_i) to_come_q <= CountBits'(Rows - 1);
      else if (to_come_q != '0) to_come_q <= to_come_q - CountBits'(1);
      if (load_i) quiet_q <= '0;
      else if (quiet_q != CountBits'(Quiet)) quiet_q <= quiet_q + CountBits'(1);
      start_clear_q <= {start_clear_q[1:0], start_clear_i};
    end
  end

  words_without_gap: assert property (@(posedge clk_i) disable iff (!rst_ni)
      load_i == (first_i || to_come_q != '0) && !(first_i && to_come_q != '0))
    else $error("%m: the words of a fold do not come in R cycles");
  group_ends_with_a_word: assert property (@(posedge clk_i) disable iff (!rst_ni)
      output_stationary_i && group_last_i |=> load_i && to_come_q == CountBits'(1))
    else $error("%m: a group ends, but not with a fold's last word");
  clear_leads_by_three: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_clear_q != '0 |-> output_stationary_i && first_i == start_clear_q[2])
    else $error("%m: the words of a start on an empty array do not begin three cycles later");
  clears_quiet: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_clear_i |-> quiet_q == CountBits'(Quiet) && start_clear_q == '0)
    else $error("%m: a start on an empty array, %0d cycles after the last word", quiet_q);
  switches_quiet: assert property (@(posedge clk_i) disable iff (!rst_ni)
      $stable(output_stationary_i) || quiet_q == CountBits'(Quiet))
    else $error("%m: the dataflow changes while words still move");
endmodule

bind qsim_array_flags qsim_array_flags_assertions #(
  .Rows(Rows),
  .Cols(Cols)
) u_assertions (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  .output_stationary_i(output_stationary_i),
  .load_i(load_i),
  .first_i(first_i),
  .start_clear_i(start_clear_i),
  .group_last_i(group_last_i)
);
