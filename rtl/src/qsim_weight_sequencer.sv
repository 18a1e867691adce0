// Reads the weights of an EXECUTE, a row of the array (C weights of an element) or a channel (R weights)
// a cycle, as rows of a scratchpad word of max(R, C) bytes, which is read once for all that it holds:
//   weight_stationary   for each fold R rows, R-1 first, from the fold's first cycle on
//   output_stationary   for each pixel group and fold R rows, 0 first
//   input_stationary    for each pixel group and fold `blocks` * C channels
// Then it idles to the end of the fold's period (docs/reference/timing_model.md).
//
// With `start_i` in cycle s, fold f of a command or group begins in cycle s + 1 + f * period.
module qsim_weight_sequencer #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned Dataflows = 7,
  parameter int unsigned WeightAddrBits = 12,
  parameter int unsigned LaneBits = $clog2(Rows > Cols ? Rows : Cols)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      start_i,
  input  qsim_pkg::execute_t        command_i,
  output logic                      ready_o,       // may start in this cycle
  output logic                      loaded_o,      // the command's first fold ends its preload
  output logic                      busy_o,
  // What the present cycle is, for the psums' addresses.
  output logic                      fold_begin_o,
  output logic                      first_fold_o,  // of a pixel group
  output logic                      group_end_o,   // the group's last cycle
  output logic                      last_o,        // the command's last cycle
  // Registered: for the scratchpad and the way to the array.
  output logic                      row_valid_o,   // a row or channel is taken
  output logic                      row_first_o,   // the fold's first
  output logic                      group_last_o,  // the group's last
  output logic                      read_o,        // from the next word
  output logic [WeightAddrBits-1:0] read_addr_o,
  output logic [LaneBits-1:0]       part_o         // of the word
);
  localparam int unsigned RowBits = $clog2(Rows);
  localparam int unsigned PixelBits = qsim_pkg::ExecuteOutRowsWidth + qsim_pkg::ExecuteOutColsWidth;
  localparam int unsigned FoldWords = Rows < Cols ? Rows : Cols;
  localparam bit Os = Dataflows[1];
  localparam bit Is = Dataflows[2];
  // Rows of C weights, and channels of R, in a word: each but one is 1.
  localparam int unsigned RowsInWord = Rows > Cols ? Rows / Cols : 1;
  localparam int unsigned ChannelsInWord = Cols > Rows ? Cols / Rows : 1;

  logic busy_q;
  logic first_fold_q;
  logic [PixelBits-1:0] period_q;  // of a fold, less one
  logic [PixelBits-1:0] cycle_q;   // within the fold
  // Folds to come after this one, as nested counts.
  logic [qsim_pkg::ExecutePlanesWidth-1:0] planes_left_q, planes_q;
  logic [qsim_pkg::ExecuteKernelHWidth-1:0] rows_left_q, kernel_h_q;
  logic [qsim_pkg::ExecuteKernelWWidth-1:0] cols_left_q, kernel_w_q;
  // weight_stationary: the fold's first word. Else: the next word.
  logic [WeightAddrBits-1:0] fold_addr_q, first_addr_q;
  // For output_stationary and input_stationary.
  logic output_stationary_q, input_stationary_q, by_group;
  logic group_first_q;
  logic [PixelBits-1:0] channels_q;     // of a fold, in all blocks
  logic [PixelBits-1:0] pixels_left_q;  // in this group and after it

  logic fold_end;
  logic last_fold, last_group;
  logic preload, row_valid;
  logic [PixelBits-1:0] pixels, channels, least;
  logic [RowBits-1:0] row;
  logic [LaneBits-1:0] part;
  logic word_begin, word_end;

  assign by_group = (Os && output_stationary_q) || (Is && input_stationary_q);
  assign fold_end = cycle_q == period_q;
  assign last_fold = planes_left_q == '0 && rows_left_q == '0 && cols_left_q == '0;
  assign last_group = !by_group ||
      pixels_left_q <= (Is && input_stationary_q ? PixelBits'(Cols) : PixelBits'(Rows));
  assign preload = cycle_q < PixelBits'(Rows);
  assign row_valid = Is && input_stationary_q ? cycle_q < channels_q : preload;
  assign ready_o = !busy_q || last_o;
  assign loaded_o = busy_q && first_fold_q && cycle_q == PixelBits'(Rows - 1);
  assign busy_o = busy_q;
  assign fold_begin_o = busy_q && cycle_q == '0;
  assign first_fold_o = group_first_q;
  assign group_end_o = busy_q && fold_end && last_fold;
  assign last_o = group_end_o && last_group;

  // Which row or channel, and its place in the word.
  always_comb begin
    row = RowBits'(Rows - 1) - cycle_q[RowBits-1:0];
    if (Is && input_stationary_q) begin
      part = LaneBits'(cycle_q) & LaneBits'(ChannelsInWord - 1);
      word_begin = part == '0;
      word_end = part == LaneBits'(ChannelsInWord - 1);
    end else if (Os && output_stationary_q) begin
      part = LaneBits'(cycle_q) & LaneBits'(RowsInWord - 1);
      word_begin = part == '0;
      word_end = part == LaneBits'(RowsInWord - 1);
    end else begin
      part = LaneBits'(row) & LaneBits'(RowsInWord - 1);
      word_begin = part == LaneBits'(RowsInWord - 1);
      word_end = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      pixels = PixelBits'(command_i.out_rows) * PixelBits'(command_i.out_cols);
      channels = PixelBits'(command_i.blocks) * PixelBits'(Cols);
      least = Is && command_i.dataflow == qsim_pkg::DataflowInputStationary ? channels :
              Os && command_i.dataflow == qsim_pkg::DataflowOutputStationary ? PixelBits'(Rows) : pixels;
      period_q <= (least > PixelBits'(Rows) ? least : PixelBits'(Rows)) - 1'b1;
      channels_q <= channels;
      output_stationary_q <= command_i.dataflow == qsim_pkg::DataflowOutputStationary;
      input_stationary_q <= command_i.dataflow == qsim_pkg::DataflowInputStationary;
      pixels_left_q <= pixels;
      kernel_h_q <= command_i.kernel_h;
      kernel_w_q <= command_i.kernel_w;
      planes_q <= command_i.planes - 1'b1;
      planes_left_q <= command_i.planes - 1'b1;
      rows_left_q <= command_i.kernel_h - 1'b1;
      cols_left_q <= command_i.kernel_w - 1'b1;
      first_addr_q <= WeightAddrBits'(command_i.weight_addr);
      fold_addr_q <= WeightAddrBits'(command_i.weight_addr);
      first_fold_q <= 1'b1;
      group_first_q <= 1'b1;
      cycle_q <= '0;
    end else if (busy_q) begin
      cycle_q <= fold_end ? '0 : cycle_q + 1'b1;
      if (by_group && row_valid && word_end) fold_addr_q <= fold_addr_q + WeightAddrBits'(1);
      if (fold_end) begin
        first_fold_q <= 1'b0;
        group_first_q <= 1'b0;
        if (!by_group) fold_addr_q <= fold_addr_q + WeightAddrBits'(FoldWords);
        cols_left_q <= cols_left_q == '0 ? kernel_w_q - 1'b1 : cols_left_q - 1'b1;
        if (cols_left_q == '0) begin
          rows_left_q <= rows_left_q == '0 ? kernel_h_q - 1'b1 : rows_left_q - 1'b1;
          if (rows_left_q == '0) planes_left_q <= planes_left_q - 1'b1;
        end
        if (by_group && last_fold) begin
          planes_left_q <= planes_q;
          fold_addr_q <= first_addr_q;
          group_first_q <= 1'b1;
          pixels_left_q <= pixels_left_q -
              (Is && input_stationary_q ? PixelBits'(Cols) : PixelBits'(Rows));
        end
      end
    end
    if (busy_q && row_valid) begin
      read_addr_o <= by_group ? fold_addr_q : fold_addr_q + (WeightAddrBits'(row) >> $clog2(RowsInWord));
      row_first_o <= cycle_q == '0;
      part_o <= part;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      row_valid_o <= 1'b0;
      read_o <= 1'b0;
      group_last_o <= 1'b0;
    end else begin
      busy_q <= start_i || (busy_q && !ready_o);
      row_valid_o <= busy_q && row_valid;
      read_o <= busy_q && row_valid && word_begin;
      group_last_o <= group_end_o;
    end
  end
endmodule
