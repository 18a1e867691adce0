// The accumulator addresses of output_stationary and input_stationary, whose psums leave the array in
// another order than activations enter it. It follows the weight sequencer, whose present cycle it gets.
//
// input_stationary: in the fold's first blocks * C cycles lane c of block b, in cycle b * C + c, has the
// psums of the group's pixel c: word acc_addr + b * pixels + first pixel of the group + c.
// output_stationary: in the R cycles after the third after a group's last one, the psums of the group's pixels,
// last first.
// The outputs are registered. A lane without a pixel is not valid.
module qsim_psum_sequencer #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned Dataflows = 7,
  parameter int unsigned AccAddrBits = 9,
  parameter int unsigned LaneBits = $clog2(Rows > Cols ? Rows : Cols)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,       // of the weight sequencer
  input  qsim_pkg::execute_t     command_i,
  input  logic                   fold_begin_i,
  input  logic                   first_fold_i,
  input  logic                   group_end_i,
  input  logic                   last_i,
  output logic                   valid_o,
  output logic                   last_o,        // the command's last cycle
  output logic                   overwrite_o,
  output logic                   half_o,
  output logic [LaneBits-1:0]    lane_o,
  output logic [AccAddrBits-1:0] addr_o
);
  localparam int unsigned PixelBits = qsim_pkg::ExecuteOutRowsWidth + qsim_pkg::ExecuteOutColsWidth;
  localparam int unsigned BlockBits = qsim_pkg::ExecuteBlocksWidth;
  localparam bit Os = Dataflows[1];
  localparam bit Is = Dataflows[2];

  // The command, and what is left of it.
  logic output_stationary_q, accumulate_q, half_q;
  logic [AccAddrBits-1:0] pixels_q, group_addr_q;
  logic [PixelBits-1:0] left_q;  // pixels of this group and those after it
  logic [BlockBits-1:0] blocks_q;
  logic [PixelBits-1:0] group_pixels, pixels;

  assign group_pixels = Os && output_stationary_q ? PixelBits'(Rows) : PixelBits'(Cols);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      output_stationary_q <= command_i.dataflow == qsim_pkg::DataflowOutputStationary;
      accumulate_q <= command_i.accumulate;
      half_q <= command_i.acc_half;
      pixels = PixelBits'(command_i.out_rows) * PixelBits'(command_i.out_cols);
      pixels_q <= AccAddrBits'(pixels);
      left_q <= pixels;
      group_addr_q <= AccAddrBits'(command_i.acc_addr);
      blocks_q <= command_i.blocks - 1'b1;
    end else if (group_end_i) begin
      left_q <= left_q - group_pixels;
      group_addr_q <= group_addr_q + AccAddrBits'(group_pixels);
    end
  end

  // input_stationary: the present cycle's lane and block.
  logic running_q, stream_valid;
  logic [LaneBits-1:0] lane_q, lane;
  logic [BlockBits-1:0] blocks_left_q, blocks_left;
  logic [AccAddrBits-1:0] block_addr_q, block_addr;

  assign lane = fold_begin_i ? '0 : lane_q;
  assign blocks_left = fold_begin_i ? blocks_q : blocks_left_q;
  assign block_addr = fold_begin_i ? group_addr_q : block_addr_q;
  assign stream_valid = (fold_begin_i || running_q) && !(Os && output_stationary_q) &&
                        PixelBits'(lane) < left_q;

  always_ff @(posedge clk_i) begin
    if (fold_begin_i || running_q) begin
      lane_q <= lane == LaneBits'(Cols - 1) ? '0 : lane + LaneBits'(1);
      blocks_left_q <= lane == LaneBits'(Cols - 1) ? blocks_left - 1'b1 : blocks_left;
      block_addr_q <= lane == LaneBits'(Cols - 1) ? block_addr + pixels_q : block_addr;
    end
  end

  // output_stationary: the group that drains, a cycle later than the sums move into the psum registers
  // asks for, since its end is known that much earlier.
  logic draining_q, drain_last_q, drain_overwrite_q, drain_half_q;
  logic [LaneBits-1:0] drain_lane_q;
  logic [PixelBits-1:0] drain_pixels_q;
  logic [AccAddrBits-1:0] drain_addr_q;
  logic early_valid_q, early_last_q, early_overwrite_q, early_half_q;
  logic [AccAddrBits-1:0] early_addr_q;

  always_ff @(posedge clk_i) begin
    if (group_end_i) begin
      drain_last_q <= last_i;
      drain_overwrite_q <= !accumulate_q;
      drain_half_q <= half_q;
      drain_lane_q <= LaneBits'(Rows - 1);
      drain_pixels_q <= left_q;
      drain_addr_q <= group_addr_q + AccAddrBits'(Rows - 1);
    end else if (draining_q) begin
      drain_lane_q <= drain_lane_q - LaneBits'(1);
      drain_addr_q <= drain_addr_q - AccAddrBits'(1);
    end
    if (draining_q) begin
      early_overwrite_q <= drain_overwrite_q;
      early_half_q <= drain_half_q;
      early_addr_q <= drain_addr_q;
    end
    if (Os && output_stationary_q) begin
      overwrite_o <= early_overwrite_q;
      half_o <= early_half_q;
      addr_o <= early_addr_q;
    end else begin
      overwrite_o <= first_fold_i && !accumulate_q;
      half_o <= half_q;
      addr_o <= block_addr + AccAddrBits'(lane);
    end
    lane_o <= lane;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      draining_q <= 1'b0;
      early_valid_q <= 1'b0;
      early_last_q <= 1'b0;
      valid_o <= 1'b0;
      last_o <= 1'b0;
    end else begin
      running_q <= Is && !(Os && output_stationary_q) && (fold_begin_i || running_q) &&
                   !(lane == LaneBits'(Cols - 1) && blocks_left == '0);
      draining_q <= Os && output_stationary_q && (group_end_i || (draining_q && drain_lane_q != '0));
      early_valid_q <= draining_q && PixelBits'(drain_lane_q) < drain_pixels_q;
      early_last_q <= draining_q && drain_last_q && drain_lane_q == '0;
      valid_o <= Os && output_stationary_q ? early_valid_q : stream_valid;
      last_o <= Os && output_stationary_q ? early_last_q : last_i;
    end
  end
endmodule
