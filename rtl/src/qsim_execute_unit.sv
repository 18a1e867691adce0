// The execute unit: streams a tile's activations through the weight-stationary array and adds the
// psums to an accumulator half. docs/reference/timing_model.md has the times. With a command started
// in cycle s, and R rows and C columns:
//
//   s + 1       its fields are registered; weight addresses begin (qsim_weight_sequencer)
//   s + 4       the first weight word enters the array (address, scratchpad, output register)
//   s + R + 1   activation addresses begin (qsim_pixel_sequencer)
//   s + R + 4   the first activation word enters the array
//   s + 2R + C + 5   its psums leave the array; + 6 their sums are written
module qsim_execute_unit #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned ActAddrBits = 14,
  parameter int unsigned WeightAddrBits = 12,
  parameter int unsigned AccAddrBits = 9,
  localparam int unsigned WeightWordBytes = Rows > Cols ? Rows : Cols
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  input  qsim_pkg::execute_t              command_i,
  output logic                            ready_o,
  output logic                            done_o,
  output logic [qsim_pkg::Semaphores-1:0] done_mask_o,
  output logic                            idle_o,

  output logic                            act_read_o,
  output logic [ActAddrBits-1:0]          act_read_addr_o,
  input  logic [8*Rows-1:0]               act_read_data_i,

  output logic                            weight_read_o,
  output logic [WeightAddrBits-1:0]       weight_read_addr_o,
  input  logic [8*WeightWordBytes-1:0]    weight_read_data_i,

  output logic                            acc_read_o,
  output logic                            acc_read_half_o,
  output logic [AccAddrBits-1:0]          acc_read_addr_o,
  input  logic [32*Cols-1:0]              acc_read_data_i,
  output logic                            acc_write_o,
  output logic                            acc_write_half_o,
  output logic [AccAddrBits-1:0]          acc_write_addr_o,
  output logic [32*Cols-1:0]              acc_write_data_o
);
  localparam int unsigned PsumBits = 16 + $clog2(Rows);
  // Commands between their start and their done: each but the last streams for R cycles at least.
  localparam int unsigned CommandsInFlight = 3 + (Cols + qsim_pkg::ExecutePipelineCycles) / Rows + 1;
  localparam int unsigned FlowBits = $clog2(Rows + Cols + 1);
  localparam int unsigned WaveBits = $clog2(2 * Rows + Cols + 1);

  qsim_pkg::execute_t command_q;
  logic loaded, weights_busy, pixels_busy;

  always_ff @(posedge clk_i) begin
    if (start_i) command_q <= command_i;
  end

  // Weights: address, scratchpad, output register of the row.
  localparam int unsigned RowsPerWord = WeightWordBytes / Cols;
  localparam int unsigned PartBits = RowsPerWord > 1 ? $clog2(RowsPerWord) : 1;
  logic weight_row, weight_first, load_q, first_q;
  logic [PartBits-1:0] weight_part, part_q;
  logic [8*Cols-1:0] weight_row_q, weight_parts [RowsPerWord];

  qsim_weight_sequencer #(
    .Rows(Rows),
    .Cols(Cols),
    .WeightAddrBits(WeightAddrBits)
  ) u_weight_sequencer (
    .clk_i,
    .rst_ni,
    .start_i,
    .command_i,
    .ready_o,
    .loaded_o(loaded),
    .busy_o(weights_busy),
    .row_valid_o(weight_row),
    .row_first_o(weight_first),
    .row_part_o(weight_part),
    .read_o(weight_read_o),
    .read_addr_o(weight_read_addr_o)
  );

  always_comb begin
    for (int unsigned i = 0; i < RowsPerWord; i++) begin
      weight_parts[i] = weight_read_data_i[8*Cols*i +: 8*Cols];
    end
  end

  always_ff @(posedge clk_i) begin
    if (weight_row) part_q <= weight_part;
    if (load_q) weight_row_q <= RowsPerWord > 1 ? weight_parts[part_q] : weight_parts[0];
  end

  // The flags of the weights' way through the array. Row r takes part from the fold's r-th word on.
  logic [Rows-1:0] rows_loading;
  logic [Rows-2:0] rows_loading_q;
  logic [2*Rows-2:0] swap_delay_q;
  logic [WaveBits-1:0] wave_left_q;
  logic wave;

  assign rows_loading = first_q ? Rows'(1) : {rows_loading_q, 1'b1};
  assign wave = first_q || wave_left_q != '0;

  always_ff @(posedge clk_i) begin
    if (load_q) rows_loading_q <= rows_loading[Rows-2:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      load_q <= 1'b0;
      first_q <= 1'b0;
      swap_delay_q <= '0;
      wave_left_q <= '0;
    end else begin
      load_q <= weight_row;
      first_q <= weight_row && weight_first;
      if (wave) begin
        swap_delay_q <= {swap_delay_q[2*Rows-3:0], first_q};
        wave_left_q <= first_q ? WaveBits'(2 * Rows + Cols) : wave_left_q - WaveBits'(1);
      end
    end
  end

  // Activations: address, scratchpad, padding and output register.
  logic pixel_valid, pixel_pad, stream_last, overwrite, half;
  logic [7:0] pad_value, pad_value_q;
  logic [AccAddrBits-1:0] acc_addr;
  logic read_q, pad_q, flow_q;
  logic [8*Rows-1:0] act_word_q;
  logic [FlowBits-1:0] flow_left_q;
  logic flow;

  qsim_pixel_sequencer #(
    .Rows(Rows),
    .ActAddrBits(ActAddrBits),
    .AccAddrBits(AccAddrBits)
  ) u_pixel_sequencer (
    .clk_i,
    .rst_ni,
    .start_i(loaded),
    .command_i(command_q),
    .busy_o(pixels_busy),
    .pixel_valid_o(pixel_valid),
    .pixel_pad_o(pixel_pad),
    .pad_value_o(pad_value),
    .act_addr_o(act_read_addr_o),
    .last_o(stream_last),
    .overwrite_o(overwrite),
    .acc_half_o(half),
    .acc_addr_o(acc_addr)
  );

  assign act_read_o = pixel_valid && !pixel_pad;
  assign flow = flow_q || flow_left_q != '0;

  always_ff @(posedge clk_i) begin
    if (pixel_valid) begin
      pad_q <= pixel_pad;
      pad_value_q <= pad_value;
    end
    if (read_q) act_word_q <= pad_q ? {Rows{pad_value_q}} : act_read_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      flow_q <= 1'b0;
      flow_left_q <= '0;
    end else begin
      read_q <= pixel_valid;
      flow_q <= read_q;
      if (flow) flow_left_q <= flow_q ? FlowBits'(Rows + Cols) : flow_left_q - FlowBits'(1);
    end
  end

  logic [PsumBits*Cols-1:0] psum;

  qsim_systolic_array #(
    .Rows(Rows),
    .Cols(Cols)
  ) u_array (
    .clk_i,
    .flow_i(flow),
    .act_i(act_word_q),
    .psum_o(psum),
    .wave_i(wave),
    .weight_i(weight_row_q),
    .shift_i(load_q ? rows_loading : '0),
    .swap_i(swap_delay_q[2*Rows-2:Rows-1])
  );

  qsim_accumulate #(
    .Rows(Rows),
    .Cols(Cols),
    .AccAddrBits(AccAddrBits),
    .PsumBits(PsumBits)
  ) u_accumulate (
    .clk_i,
    .rst_ni,
    .pixel_valid_i(pixel_valid),
    .last_i(stream_last),
    .overwrite_i(overwrite),
    .half_i(half),
    .addr_i(acc_addr),
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

  assign idle_o = !masks_valid && !weights_busy && !pixels_busy;
endmodule
