// What the scratchpads read, on its way to the array, with its flags: one register after the scratchpads'
// own.
//
// Weights: the row (C weights) or channel (R weights) of the scratchpad word. Activations: the word, or
// the pad value. What streams from the left goes to `act_word_o`, what streams from above to
// `weight_word_o`, and words of activations that are transposed to a lane, a cycle earlier:
//   weight_stationary   activations from the left, weights from above
//   output_stationary   lanes, weights from above
//   input_stationary    weights from the left, lanes
module qsim_array_operands #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned Dataflows = 7,
  parameter int unsigned LaneBits = $clog2(Rows > Cols ? Rows : Cols)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                output_stationary_i,
  input  logic                input_stationary_i,
  input  logic                start_clear_i,  // output_stationary starts on an empty array, in this cycle

  // From the weight sequencer and scratchpad: a row or channel, the fold's first, and its place in the word.
  input  logic                row_valid_i,
  input  logic                row_first_i,
  input  logic [LaneBits-1:0] part_i,
  input  logic                group_last_i,
  input  logic [8*(Rows > Cols ? Rows : Cols)-1:0] weight_read_data_i,

  // From the pixel sequencer and the activation scratchpad.
  input  logic                load_valid_i,
  input  logic                load_first_i,
  input  logic                pixel_valid_i,
  input  logic                pixel_pad_i,
  input  logic [7:0]          pad_value_i,
  input  logic [LaneBits-1:0] lane_i,
  input  logic [8*Rows-1:0]   act_read_data_i,

  // To the array.
  output logic [8*Cols-1:0]   weight_word_o,
  output logic [8*Rows-1:0]   act_word_o,
  output logic                flow_o,         // what came from the left is on its way
  output logic                wave_o,
  output logic [Rows-1:0]     shift_o,
  output logic [Rows-1:0]     swap_o,
  output logic                lane_load_o,
  output logic [LaneBits-1:0] lane_o,
  output logic [8*Rows-1:0]   lane_word_o
);
  localparam int unsigned FlowBits = $clog2(Rows + Cols + 1);

  logic load_q, first_q;
  logic [LaneBits-1:0] part_q;
  logic [8*Cols-1:0] weight_row;
  logic [8*Rows-1:0] weight_channel;

  generate
    if (Rows > Cols) begin : gen_rows_in_word
      assign weight_row = weight_read_data_i[8*Cols*32'(part_q) +: 8*Cols];
      assign weight_channel = weight_read_data_i;
    end else if (Cols > Rows) begin : gen_channels_in_word
      assign weight_row = weight_read_data_i;
      assign weight_channel = weight_read_data_i[8*Rows*32'(part_q) +: 8*Rows];
    end else begin : gen_square
      assign weight_row = weight_read_data_i;
      assign weight_channel = weight_read_data_i;
    end
  endgenerate

  always_ff @(posedge clk_i) begin
    if (row_valid_i) part_q <= part_i;
    if (load_q && !input_stationary_i) weight_word_o <= weight_row;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      load_q <= 1'b0;
      first_q <= 1'b0;
    end else begin
      load_q <= input_stationary_i ? load_valid_i : row_valid_i;
      first_q <= input_stationary_i ? load_first_i : row_valid_i && row_first_i;
    end
  end

  qsim_array_flags #(
    .Rows(Rows),
    .Cols(Cols),
    .Dataflows(Dataflows)
  ) u_flags (
    .clk_i,
    .rst_ni,
    .output_stationary_i,
    .load_i(load_q),
    .first_i(first_q),
    .start_clear_i,
    .group_last_i,
    .wave_o,
    .shift_o,
    .swap_o
  );

  logic read_q, pad_q, flow_q;
  logic [7:0] pad_value_q;
  logic [8*Rows-1:0] act_word;
  logic [FlowBits-1:0] flow_left_q;

  assign act_word = pad_q ? {Rows{pad_value_q}} : act_read_data_i;
  assign flow_o = flow_q || flow_left_q != '0;

  always_ff @(posedge clk_i) begin
    if (pixel_valid_i) begin
      pad_q <= pixel_pad_i;
      pad_value_q <= pad_value_i;
      lane_o <= lane_i;
    end
    if (read_q) act_word_o <= input_stationary_i ? weight_channel : act_word;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lane_load_o <= 1'b0;
      read_q <= 1'b0;
      flow_q <= 1'b0;
      flow_left_q <= '0;
    end else begin
      lane_load_o <= pixel_valid_i;
      read_q <= input_stationary_i ? row_valid_i : pixel_valid_i && !output_stationary_i;
      flow_q <= read_q;
      if (flow_o) flow_left_q <= flow_q ? FlowBits'(Rows + Cols) : flow_left_q - FlowBits'(1);
    end
  end

  // An activation word goes to a lane as it is (output_stationary) or row R-1 first.
  always_comb begin
    for (int r = 0; r < Rows; r++) begin
      lane_word_o[8*r +: 8] = input_stationary_i ? act_word[8*(Rows-1-r) +: 8] : act_word[8*r +: 8];
    end
  end
endmodule
