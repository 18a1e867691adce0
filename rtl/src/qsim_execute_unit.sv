// The execute unit: takes a tile's activations and weights through the array and adds the psums to an
// accumulator half. docs/reference/timing_model.md has the times. With a weight_stationary command
// started in cycle s, and R rows and C columns:
//
//   s + 1       its fields are registered; weight addresses begin (qsim_weight_sequencer)
//   s + 4       the first weight word enters the array (address, scratchpad, output register)
//   s + R + 1   activation addresses begin (qsim_pixel_sequencer)
//   s + R + 4   the first activation word enters the array
//   s + 2R + C + 5   its psums leave the array; + 6 their sums are written
//
// In an input_stationary command activations and weights change places, in the same cycles. In an
// output_stationary one weight addresses begin in s + 1, activation addresses in s + 2, and both words enter in
// s + 4 and s + 5. A command of another dataflow waits until the one before is done: `may_start_o`.
module qsim_execute_unit #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned Dataflows = 7,
  parameter int unsigned ActAddrBits = 14,
  parameter int unsigned WeightAddrBits = 12,
  parameter int unsigned AccAddrBits = 9
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  input  qsim_pkg::execute_t              command_i,
  output logic                            ready_o,
  output logic                            may_start_o,  // for `command_i`, once the unit is ready
  output logic                            done_o,
  output logic [qsim_pkg::Semaphores-1:0] done_mask_o,
  output logic                            idle_o,

  output logic                            act_read_o,
  output logic [ActAddrBits-1:0]          act_read_addr_o,
  input  logic [8*Rows-1:0]               act_read_data_i,

  output logic                            weight_read_o,
  output logic [WeightAddrBits-1:0]       weight_read_addr_o,
  input  logic [8*(Rows > Cols ? Rows : Cols)-1:0] weight_read_data_i,

  output logic                            acc_read_o,
  output logic                            acc_read_half_o,
  output logic [AccAddrBits-1:0]          acc_read_addr_o,
  input  logic [32*Cols-1:0]              acc_read_data_i,
  output logic                            acc_write_o,
  output logic                            acc_write_half_o,
  output logic [AccAddrBits-1:0]          acc_write_addr_o,
  output logic [32*Cols-1:0]              acc_write_data_o
);
  localparam bit Os = Dataflows[1];
  localparam bit Is = Dataflows[2];
  // A psum of one fold, or of a whole command.
  localparam int unsigned PsumBits = Os ? 32 : 16 + $clog2(Rows);
  localparam int unsigned LaneBits = $clog2(Rows > Cols ? Rows : Cols);
  // Commands between their start and their done: each but the last streams for R cycles at least.
  localparam int unsigned CommandsInFlight = 3 + (Cols + qsim_pkg::OutputStationaryPipelineCycles) / Rows + 1;

  // The dataflow of all commands under way.
  qsim_pkg::execute_t command_q;
  logic output_stationary_q, input_stationary_q, starts_os, starts_is, start_q, masks_valid;
  logic loaded, weights_ready, weights_loaded, weights_busy, pixels_ready, pixels_loaded, pixels_busy;

  assign starts_os = Os && command_i.dataflow == qsim_pkg::DataflowOutputStationary;
  assign starts_is = Is && command_i.dataflow == qsim_pkg::DataflowInputStationary;
  assign may_start_o = !masks_valid || (starts_os == output_stationary_q && starts_is == input_stationary_q);

  always_ff @(posedge clk_i) begin
    if (start_i) command_q <= command_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      output_stationary_q <= 1'b0;
      input_stationary_q <= 1'b0;
      start_q <= 1'b0;
    end else begin
      start_q <= start_i && starts_os;
      if (start_i) begin
        output_stationary_q <= starts_os;
        input_stationary_q <= starts_is;
      end
    end
  end

  // One sequencer begins with the command, and the other follows: with the stream R cycles later,
  // or with the activations of output_stationary one cycle later.
  logic weights_start, pixels_start;
  qsim_pkg::execute_t weights_command, pixels_command;

  assign ready_o = input_stationary_q ? pixels_ready : weights_ready;
  assign loaded = input_stationary_q ? pixels_loaded : weights_loaded;
  assign weights_start = (start_i && !starts_is) || (input_stationary_q && loaded);
  assign weights_command = start_i && !starts_is ? command_i : command_q;
  assign pixels_start = (start_i && starts_is) || start_q ||
                        (!input_stationary_q && !output_stationary_q && loaded);
  assign pixels_command = start_i && starts_is ? command_i : command_q;

  // Addresses of weights.
  logic fold_begin, first_fold, group_end, weights_last, row_valid, row_first, group_last;
  logic [LaneBits-1:0] part;

  qsim_weight_sequencer #(
    .Rows(Rows),
    .Cols(Cols),
    .Dataflows(Dataflows),
    .WeightAddrBits(WeightAddrBits)
  ) u_weight_sequencer (
    .clk_i,
    .rst_ni,
    .start_i(weights_start),
    .command_i(weights_command),
    .ready_o(weights_ready),
    .loaded_o(weights_loaded),
    .busy_o(weights_busy),
    .fold_begin_o(fold_begin),
    .first_fold_o(first_fold),
    .group_end_o(group_end),
    .last_o(weights_last),
    .row_valid_o(row_valid),
    .row_first_o(row_first),
    .group_last_o(group_last),
    .read_o(weight_read_o),
    .read_addr_o(weight_read_addr_o),
    .part_o(part)
  );

  // Addresses of activations, and of weight_stationary's psums.
  logic pixel_valid, pixel_pad, load_valid, load_first, stream_last, overwrite, half;
  logic [7:0] pad_value;
  logic [AccAddrBits-1:0] acc_addr, psum_addr;
  logic [LaneBits-1:0] pixel_lane, lane, psum_lane, column;

  qsim_pixel_sequencer #(
    .Rows(Rows),
    .Cols(Cols),
    .Dataflows(Dataflows),
    .ActAddrBits(ActAddrBits),
    .AccAddrBits(AccAddrBits)
  ) u_pixel_sequencer (
    .clk_i,
    .rst_ni,
    .start_i(pixels_start),
    .command_i(pixels_command),
    .ready_o(pixels_ready),
    .loaded_o(pixels_loaded),
    .busy_o(pixels_busy),
    .pixel_valid_o(pixel_valid),
    .pixel_pad_o(pixel_pad),
    .pad_value_o(pad_value),
    .act_addr_o(act_read_addr_o),
    .lane_o(pixel_lane),
    .load_valid_o(load_valid),
    .load_first_o(load_first),
    .last_o(stream_last),
    .overwrite_o(overwrite),
    .acc_half_o(half),
    .acc_addr_o(acc_addr)
  );

  assign act_read_o = pixel_valid && !pixel_pad;

  // The operands and their flags.
  logic flow, wave, lane_load;
  logic [8*Cols-1:0] weight_word;
  logic [8*Rows-1:0] act_word, lane_word;
  logic [Rows-1:0] shift, swap;

  qsim_array_operands #(
    .Rows(Rows),
    .Cols(Cols),
    .Dataflows(Dataflows)
  ) u_operands (
    .clk_i,
    .rst_ni,
    .output_stationary_i(output_stationary_q),
    .input_stationary_i(input_stationary_q),
    .start_clear_i(start_i && starts_os && !masks_valid),
    .row_valid_i(row_valid),
    .row_first_i(row_first),
    .part_i(part),
    .group_last_i(group_last),
    .weight_read_data_i,
    .load_valid_i(load_valid),
    .load_first_i(load_first),
    .pixel_valid_i(pixel_valid),
    .pixel_pad_i(pixel_pad),
    .pad_value_i(pad_value),
    .lane_i(pixel_lane),
    .act_read_data_i,
    .weight_word_o(weight_word),
    .act_word_o(act_word),
    .flow_o(flow),
    .wave_o(wave),
    .shift_o(shift),
    .swap_o(swap),
    .lane_load_o(lane_load),
    .lane_o(lane),
    .lane_word_o(lane_word)
  );

  // Psums: their addresses travel beside the array.
  logic by_group, psum_valid, psum_last, psum_overwrite, psum_half;
  logic [PsumBits*Cols-1:0] psum;

  assign by_group = output_stationary_q || input_stationary_q;

  generate
    if (Os || Is) begin : gen_psum_sequencer
      qsim_psum_sequencer #(
        .Rows(Rows),
        .Cols(Cols),
        .Dataflows(Dataflows),
        .AccAddrBits(AccAddrBits)
      ) u_psum_sequencer (
        .clk_i,
        .rst_ni,
        .start_i(weights_start && (input_stationary_q || starts_os)),
        .command_i(weights_command),
        .fold_begin_i(by_group && fold_begin),
        .first_fold_i(first_fold),
        .group_end_i(by_group && group_end),
        .last_i(by_group && weights_last),
        .valid_o(psum_valid),
        .last_o(psum_last),
        .overwrite_o(psum_overwrite),
        .half_o(psum_half),
        .lane_o(psum_lane),
        .addr_o(psum_addr)
      );
    end else begin : gen_no_psum_sequencer
      assign {psum_valid, psum_last, psum_overwrite, psum_half, psum_lane, psum_addr} = '0;
    end
  endgenerate

  qsim_systolic_array #(
    .Rows(Rows),
    .Cols(Cols),
    .Dataflows(Dataflows),
    .PsumBits(PsumBits)
  ) u_array (
    .clk_i,
    .output_stationary_i(output_stationary_q),
    .input_stationary_i(input_stationary_q),
    .flow_i(output_stationary_q ? wave : flow),
    .act_i(act_word),
    .column_i(column),
    .psum_o(psum),
    .wave_i(wave),
    .weight_i(weight_word),
    .shift_i(shift),
    .swap_i(swap),
    .lane_load_i(lane_load),
    .lane_i(lane),
    .lane_word_i(lane_word)
  );

  qsim_accumulate #(
    .Rows(Rows),
    .Cols(Cols),
    .AccAddrBits(AccAddrBits),
    .PsumBits(PsumBits),
    .LaneBits(LaneBits)
  ) u_accumulate (
    .clk_i,
    .rst_ni,
    .pixel_valid_i(by_group ? psum_valid : pixel_valid),
    .last_i(by_group ? psum_last : stream_last),
    .overwrite_i(by_group ? psum_overwrite : overwrite),
    .half_i(by_group ? psum_half : half),
    .addr_i(by_group ? psum_addr : acc_addr),
    .lane_i(psum_lane),
    .lane_o(column),
    .psum_i(psum),
    .acc_read_o,
    .acc_read_half_o,
    .acc_read_addr_o,
    .acc_read_data_i,
    .acc_write_o,
    .acc_write_half_o,
    .acc_write_addr_o,
    .acc_write_data_o,
    .done_o
  );

  // What is signalled when the oldest command is done.
  qsim_fifo #(
    .Width(qsim_pkg::SignalMaskWidth),
    .Depth(CommandsInFlight)
  ) u_masks (
    .clk_i,
    .rst_ni,
    .push_i(start_i),
    .data_i(command_i.signal_mask),
    .full_o(),
    .pop_i(done_o),
    .data_o(done_mask_o),
    .valid_o(masks_valid)
  );

  assign idle_o = !masks_valid && !weights_busy && !pixels_busy;
endmodule
