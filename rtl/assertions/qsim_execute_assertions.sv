// Bound to the execute unit: the rules that its sequencers, its flags and the array keep among themselves
// when the three dataflows follow one another.
module qsim_execute_assertions #(
  parameter int unsigned Rows = 4,
  parameter int unsigned Cols = 4,
  parameter int unsigned LaneBits = 2,
  parameter int unsigned CommandsInFlight = 6
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                start_i,
  input logic                may_start_i,
  input logic                has_blocks_i,  // the command does: it is legal
  input logic                under_way_i,  // a command is
  input logic                output_stationary_i,
  input logic                input_stationary_i,
  input logic                weights_busy_i,
  input logic                lane_load_i,
  input logic [LaneBits-1:0] lane_i,
  input logic                flow_i,
  input logic [Rows-1:0]     shift_i,
  input logic [Rows-1:0]     swap_i,
  input logic                psum_read_i,  // a psum word leaves the array with this cycle
  input qsim_pkg::execute_t  command_i,
  input logic                starts_os_i,
  input logic                starts_is_i,
  input logic                acc_write_i,
  input logic                done_i
);
  // No command without blocks has started: such a command has psum addresses and no stream.
  logic all_have_blocks_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) all_have_blocks_q <= 1'b1;
    else if (start_i && !has_blocks_i) all_have_blocks_q <= 1'b0;
  end

  // How many psum words each command under way writes, oldest first: one for each pixel and column block,
  // in each fold (output_stationary adds the folds up in the array). A pixel too many is written where
  // nothing need be that a later command reads, so no ofmap shows it for sure.
  localparam int unsigned SlotBits = $clog2(CommandsInFlight);
  logic [63:0] due_q [CommandsInFlight];
  logic [63:0] written_q, pixels, folds, due, oldest_due;
  logic [SlotBits-1:0] first_q, free_q;
  logic legal, all_legal_q;

  assign legal = command_i.out_rows != '0 && command_i.out_cols != '0 && command_i.planes != '0 &&
                 command_i.kernel_h != '0 && command_i.kernel_w != '0 && command_i.blocks != '0;
  assign pixels = 64'(command_i.out_rows) * 64'(command_i.out_cols);
  assign folds = 64'(command_i.planes) * 64'(command_i.kernel_h) * 64'(command_i.kernel_w);
  assign oldest_due = due_q[first_q];
  assign due = starts_os_i ? pixels : pixels * folds * (starts_is_i ? 64'(command_i.blocks) : 64'd1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      written_q <= '0;
      first_q <= '0;
      free_q <= '0;
      all_legal_q <= 1'b1;
    end else begin
      written_q <= done_i ? '0 : written_q + 64'(acc_write_i);
      if (done_i) first_q <= first_q == SlotBits'(CommandsInFlight - 1) ? '0 : first_q + 1'b1;
      if (start_i) begin
        due_q[free_q] <= due;
        free_q <= free_q == SlotBits'(CommandsInFlight - 1) ? '0 : free_q + 1'b1;
        if (!legal) all_legal_q <= 1'b0;
      end
    end
  end

  writes_what_is_due: assert property (@(posedge clk_i) disable iff (!rst_ni)
      done_i && all_legal_q |-> written_q + 64'(acc_write_i) == oldest_due)
    else $error("%m: an EXECUTE writes %0d psum words, and should write %0d",
                written_q + 64'(acc_write_i), oldest_due);
  one_dataflow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      !(output_stationary_i && input_stationary_i))
    else $error("%m: the array has two dataflows");
  switches_empty: assert property (@(posedge clk_i) disable iff (!rst_ni) start_i |-> may_start_i)
    else $error("%m: an EXECUTE of another dataflow starts before the array is empty");
  dataflow_stays: assert property (@(posedge clk_i) disable iff (!rst_ni)
      under_way_i |=> !under_way_i ||
      ($stable(output_stationary_i) && $stable(input_stationary_i)))
    else $error("%m: the dataflow changes while a command is under way");
  sequencers_have_a_command: assert property (@(posedge clk_i) disable iff (!rst_ni)
      weights_busy_i |-> under_way_i)
    else $error("%m: weights are read for no command");
  lane_in_range: assert property (@(posedge clk_i) disable iff (!rst_ni)
      lane_load_i |-> 32'(lane_i) < (input_stationary_i ? Cols : Rows) ||
      !(output_stationary_i || input_stationary_i))
    else $error("%m: pixel %0d of a group is loaded into a lane that no row or column reads", lane_i);
  drain_before_capture: assert property (@(posedge clk_i) disable iff (!rst_ni)
      output_stationary_i |-> (shift_i & swap_i) == '0)
    else $error("%m: finished sums meet the psums of the group before");
  psum_moves: assert property (@(posedge clk_i) disable iff (!rst_ni)
      psum_read_i && all_have_blocks_q |-> flow_i)
    else $error("%m: a psum word leaves an array that stands still");
endmodule

bind qsim_execute_unit qsim_execute_assertions #(
  .Rows(Rows),
  .Cols(Cols),
  .LaneBits(LaneBits),
  .CommandsInFlight(CommandsInFlight)
) u_assertions (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  .start_i(start_i),
  .may_start_i(may_start_o),
  .has_blocks_i(command_i.blocks != '0),
  .under_way_i(masks_valid),
  .output_stationary_i(output_stationary_q),
  .input_stationary_i(input_stationary_q),
  .weights_busy_i(weights_busy),
  .lane_load_i(lane_load),
  .lane_i(lane),
  .flow_i(output_stationary_q ? wave : flow),
  .shift_i(shift),
  .swap_i(swap),
  .psum_read_i(u_accumulate.read_valid),
  .command_i(command_i),
  .starts_os_i(starts_os),
  .starts_is_i(starts_is),
  .acc_write_i(acc_write_o),
  .done_i(done_o)
);
