// Bound to the psum sequencer: what rtl/formal/qsim_psum_sequencer.svh assumes of the weight sequencer and
// the execute unit.
module qsim_psum_sequencer_assertions #(
  parameter int unsigned Rows = 4,
  parameter int unsigned LaneBits = 2
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                start_i,
  input logic                starts_os_i,
  input logic                starts_is_i,
  input logic                has_blocks_i,  // the command does: it is legal
  input logic                output_stationary_i,
  input logic                fold_begin_i,
  input logic                first_fold_i,
  input logic                last_group_i,  // of the present group
  input logic                running_i,
  input logic                last_lane_i,   // the stream's last cycle
  input logic                group_end_i,
  input logic                last_i,
  input logic                draining_i,
  input logic [LaneBits-1:0] drain_lane_i
);
  localparam int unsigned Ages = Rows + 2;  // cycles from a group's end to its last psum
  localparam int unsigned CountBits = $clog2(Ages + 1);

  // A weight_stationary command that follows one of input_stationary comes by, and has no stream here.
  logic starts;
  assign starts = start_i && (starts_os_i || starts_is_i);

  logic all_have_blocks_q, active_q, group_first_q;
  logic [CountBits-1:0] row_q;    // output_stationary: cycles of the fold so far
  logic [CountBits-1:0] since_q;  // cycles since a group of output_stationary ended
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      all_have_blocks_q <= 1'b1;
      active_q <= 1'b0;
      group_first_q <= 1'b1;
      row_q <= '0;
      since_q <= CountBits'(Ages);
    end else begin
      if (start_i && !has_blocks_i) all_have_blocks_q <= 1'b0;
      active_q <= starts || (active_q && !last_i);
      if (start_i || group_end_i) group_first_q <= 1'b1;
      else if (fold_begin_i) group_first_q <= 1'b0;
      if (fold_begin_i) row_q <= CountBits'(1);
      else if (row_q != CountBits'(Rows)) row_q <= row_q + CountBits'(1);
      if (group_end_i && output_stationary_i) since_q <= '0;
      else if (since_q != CountBits'(Ages)) since_q <= since_q + CountBits'(1);
    end
  end

  fold_is_over: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fold_begin_i && all_have_blocks_q |-> !running_i)
    else $error("%m: a fold begins before the last block of the one before has ended");
  drain_is_over: assert property (@(posedge clk_i) disable iff (!rst_ni)
      group_end_i && draining_i |-> drain_lane_i == '0)
    else $error("%m: a group ends before the psums of the one before have left");
  starts_between: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i |-> !active_q || last_i)
    else $error("%m: a command starts before the last cycle of the one before");
  switches_drained: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i && starts_os_i != output_stationary_i && since_q != CountBits'(Ages) |-> !output_stationary_i)
    else $error("%m: the dataflow changes while psums drain");
  folds_follow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      (starts || (group_end_i && !last_i)) |=> fold_begin_i)
    else $error("%m: no fold begins after a start or a group's end");
  folds_of_commands: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fold_begin_i || group_end_i |-> active_q)
    else $error("%m: a fold of no command");
  first_folds: assert property (@(posedge clk_i) disable iff (!rst_ni)
      fold_begin_i |-> first_fold_i == group_first_q)
    else $error("%m: a group's first fold is taken for another, or another for it");
  fold_is_whole: assert property (@(posedge clk_i) disable iff (!rst_ni)
      group_end_i && output_stationary_i |-> row_q >= CountBits'(Rows - 1))
    else $error("%m: a group of output_stationary ends within a fold");
  stream_is_whole: assert property (@(posedge clk_i) disable iff (!rst_ni)
      group_end_i && !output_stationary_i && all_have_blocks_q && running_i |-> last_lane_i)
    else $error("%m: a group of input_stationary ends before its last channel");
  last_is_last: assert property (@(posedge clk_i) disable iff (!rst_ni)
      last_i == (group_end_i && last_group_i))
    else $error("%m: the last group is taken for another, or another for it");
endmodule

bind qsim_psum_sequencer qsim_psum_sequencer_assertions #(
  .Rows(Rows),
  .LaneBits(LaneBits)
) u_assertions (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  .start_i(start_i),
  .starts_os_i(command_i.dataflow == qsim_pkg::DataflowOutputStationary),
  .starts_is_i(command_i.dataflow == qsim_pkg::DataflowInputStationary),
  .has_blocks_i(command_i.blocks != '0),
  .output_stationary_i(output_stationary_q),
  .fold_begin_i(fold_begin_i),
  .first_fold_i(first_fold_i),
  .last_group_i(left_q <= group_pixels),
  .running_i(running_q),
  .last_lane_i(lane == LaneBits'(Cols - 1) && blocks_left == '0),
  .group_end_i(group_end_i),
  .last_i(last_i),
  .draining_i(draining_q),
  .drain_lane_i(drain_lane_q)
);
