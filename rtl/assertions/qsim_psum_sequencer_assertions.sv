// Bound to the psum sequencer: a pixel group has all its cycles.
module qsim_psum_sequencer_assertions #(
  parameter int unsigned LaneBits = 2
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                start_i,
  input logic                has_blocks_i,  // the command does: it is legal
  input logic                fold_begin_i,
  input logic                running_i,
  input logic                group_end_i,
  input logic                draining_i,
  input logic [LaneBits-1:0] drain_lane_i
);
  logic all_have_blocks_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) all_have_blocks_q <= 1'b1;
    else if (start_i && !has_blocks_i) all_have_blocks_q <= 1'b0;
  end

  fold_is_over: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fold_begin_i && all_have_blocks_q |-> !running_i)
    else $error("%m: a fold begins before the last block of the one before has ended");
  drain_is_over: assert property (@(posedge clk_i) disable iff (!rst_ni)
      group_end_i && draining_i |-> drain_lane_i == '0)
    else $error("%m: a group ends before the psums of the one before have left");
endmodule

bind qsim_psum_sequencer qsim_psum_sequencer_assertions #(
  .LaneBits(LaneBits)
) u_assertions (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  .start_i(start_i),
  .has_blocks_i(command_i.blocks != '0),
  .fold_begin_i(fold_begin_i),
  .running_i(running_q),
  .group_end_i(group_end_i),
  .draining_i(draining_q),
  .drain_lane_i(drain_lane_q)
);
