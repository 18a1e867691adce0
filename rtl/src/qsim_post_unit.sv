// The post unit: takes psums through bias, rounding shift, zero_point, clamp and max-pool to the output
// scratchpad, one psum word a cycle. With a command started in cycle s, beat i is in these stages:
//
//   s + 1 + i  accumulator and parameter memory read     s + 4 + i  zero_point and clamp
//   s + 2 + i  bias                                      s + 5 + i  maximum over the window
//   s + 3 + i  round and shift                           s + 6 + i  output scratchpad written
module qsim_post_unit #(
  parameter int unsigned Cols = 16,
  parameter int unsigned AccAddrBits = 9,
  parameter int unsigned OutAddrBits = 10
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,
  input  qsim_pkg::post_t                     command_i,
  output logic                                ready_o,
  output logic                                done_o,
  output logic [qsim_pkg::Semaphores-1:0]     done_mask_o,
  output logic                                idle_o,

  output logic                                acc_read_o,
  output logic                                acc_read_half_o,
  output logic [AccAddrBits-1:0]              acc_read_addr_o,
  input  logic [32*Cols-1:0]                  acc_read_data_i,
  output logic                                param_read_o,
  output logic                                param_read_slot_o,
  input  logic [32*Cols-1:0]                  biases_i,
  input  logic [qsim_pkg::ShiftBits*Cols-1:0] shifts_i,
  output logic                                out_write_o,
  output logic [OutAddrBits-1:0]              out_write_addr_o,
  output logic [8*Cols-1:0]                   out_write_data_o
);
  // Commands between their start and their done, at a beat each.
  localparam int unsigned CommandsInFlight = qsim_pkg::PostPipelineCycles + 2;

  localparam int unsigned ShiftBits = qsim_pkg::ShiftBits;
  // A beat's flags and addresses, handed from stage to stage.
  localparam int unsigned TagBits = OutAddrBits + 4;

  logic beat, present, window_first, window_last, first, last;
  logic [OutAddrBits-1:0] out_addr;
  qsim_pkg::rounding_e rounding;
  qsim_requantize_pkg::levels_t levels;

  qsim_post_sequencer #(
    .AccAddrBits(AccAddrBits),
    .OutAddrBits(OutAddrBits)
  ) u_sequencer (
    .clk_i,
    .rst_ni,
    .start_i,
    .command_i,
    .ready_o,
    .beat_o(beat),
    .present_o(present),
    .window_first_o(window_first),
    .window_last_o(window_last),
    .first_o(first),
    .last_o(last),
    .half_o(acc_read_half_o),
    .acc_addr_o(acc_read_addr_o),
    .out_addr_o(out_addr),
    .param_slot_o(param_read_slot_o),
    .rounding_o(rounding),
    .levels_o(levels)
  );

  assign acc_read_o = beat && present;
  assign param_read_o = beat && first;

  // bias_q: the beat has its psums and biases; shift_q: their sums; and so on.
  logic bias_q, shift_q, clamp_q, max_q, write_q;
  logic [TagBits-1:0] bias_tag_q, shift_tag_q, clamp_tag_q, max_tag_q;
  qsim_pkg::rounding_e bias_rounding_q, shift_rounding_q;
  qsim_requantize_pkg::levels_t bias_levels_q, shift_levels_q, clamp_levels_q;
  logic signed [7:0] max_lo_q;
  logic [ShiftBits*Cols-1:0] shift_shifts_q;
  logic signed [32:0] sum_q [Cols];
  logic signed [33:0] rounded_q [Cols];
  logic signed [7:0] level_q [Cols];
  logic [8*Cols-1:0] best_q;
  logic signed [7:0] best;
  logic max_present, max_first, max_window_last, max_last, write_last_q;
  logic [OutAddrBits-1:0] max_out_addr, write_addr_q;

  assign {max_present, max_first, max_window_last, max_last, max_out_addr} = max_tag_q;

  always_ff @(posedge clk_i) begin
    if (beat) begin
      bias_tag_q <= {present, window_first, window_last, last, out_addr};
      bias_rounding_q <= rounding;
      bias_levels_q <= levels;
    end
    if (bias_q) begin
      for (int c = 0; c < Cols; c++) begin
        sum_q[c] <= qsim_requantize_pkg::requantize_add($signed(acc_read_data_i[32*c +: 32]),
                                                        $signed(biases_i[32*c +: 32]));
      end
      shift_shifts_q <= shifts_i;
      shift_tag_q <= bias_tag_q;
      shift_rounding_q <= bias_rounding_q;
      shift_levels_q <= bias_levels_q;
    end
    if (shift_q) begin
      for (int c = 0; c < Cols; c++) begin
        rounded_q[c] <= qsim_requantize_pkg::requantize_shift(
            sum_q[c], shift_shifts_q[ShiftBits*c +: ShiftBits], shift_rounding_q);
      end
      clamp_tag_q <= shift_tag_q;
      clamp_levels_q <= shift_levels_q;
    end
    if (clamp_q) begin
      for (int c = 0; c < Cols; c++) begin
        level_q[c] <= qsim_requantize_pkg::requantize_clamp(
            rounded_q[c], clamp_levels_q.zero_point, clamp_levels_q.lo, clamp_levels_q.hi);
      end
      max_tag_q <= clamp_tag_q;
      max_lo_q <= clamp_levels_q.lo;
    end
    if (max_q) begin
      for (int c = 0; c < Cols; c++) begin
        best = max_first ? max_lo_q : $signed(best_q[8*c +: 8]);
        best_q[8*c +: 8] <= max_present && level_q[c] > best ? level_q[c] : best;
      end
      write_addr_q <= max_out_addr;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bias_q <= 1'b0;
      shift_q <= 1'b0;
      clamp_q <= 1'b0;
      max_q <= 1'b0;
      write_q <= 1'b0;
      write_last_q <= 1'b0;
    end else begin
      bias_q <= beat;
      shift_q <= bias_q;
      clamp_q <= shift_q;
      max_q <= clamp_q;
      write_q <= max_q && max_window_last;
      write_last_q <= max_q && max_last;
    end
  end

  assign out_write_o = write_q;
  assign out_write_addr_o = write_addr_q;
  assign out_write_data_o = best_q;
  assign done_o = write_last_q;

  logic masks_valid;

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

  assign idle_o = !masks_valid;
endmodule
