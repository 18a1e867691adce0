// Walks the activations of an EXECUTE: folds (plane, kernel row, kernel column), and in each the
// tile's pixels, one a cycle, then bubbles up to the fold's period. For each cycle of the stream it
// gives the activation word to read, or that it lies on a pad, and the accumulator word to update.
//
// `start_i` comes R cycles after the command started, when the first fold's weights are in place, and
// the outputs for the stream's cycle i are registered: they come i + 2 cycles later.
module qsim_pixel_sequencer #(
  parameter int unsigned Rows = 16,
  parameter int unsigned ActAddrBits = 14,
  parameter int unsigned AccAddrBits = 9
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_i,
  input  logic [qsim_pkg::CommandBits-1:0] command_i,
  output logic                             busy_o,
  output logic                             pixel_valid_o,
  output logic                             pixel_pad_o,
  output logic [7:0]                       pad_value_o,
  output logic [ActAddrBits-1:0]           act_addr_o,
  output logic                             last_o,       // the stream's last cycle, pixel or bubble
  output logic                             overwrite_o,  // this pixel's psum replaces the accumulator's
  output logic                             acc_half_o,
  output logic [AccAddrBits-1:0]           acc_addr_o
);
  // A position of the ifmap: 4,095 outputs at stride 7, a kernel row and an origin, signed.
  localparam int unsigned PositionBits = 17;

  logic busy_q;
  logic pixels_left_q;  // of this fold
  logic first_fold_q;

  // The command's fields.
  logic [ActAddrBits-1:0] row_words_q, plane_words_q, row_step_q;
  logic [11:0] in_rows_q, in_cols_q, out_rows_q, out_cols_q;
  logic [3:0] kernel_h_q, kernel_w_q;
  logic [2:0] stride_h_q, stride_w_q;
  logic signed [6:0] origin_row_q, origin_col_q;
  logic [AccAddrBits-1:0] acc_first_q;
  logic accumulate_q, half_q;
  logic [7:0] pad_value_q;
  logic [23:0] period_q;

  // Where the walk is. Counts of what is left after the present one; addresses of the first pixel of
  // the plane, of the fold and of the output row.
  logic [11:0] planes_left_q;
  logic [3:0] kernel_rows_left_q, kernel_cols_left_q;
  logic [11:0] rows_left_q, cols_left_q;
  logic [23:0] cycle_q;
  logic [ActAddrBits-1:0] plane_addr_q, kernel_row_addr_q, fold_addr_q, row_addr_q, addr_q;
  logic signed [PositionBits-1:0] fold_row_q, fold_col_q, row_q, col_q;
  logic [AccAddrBits-1:0] acc_addr_q;

  logic fold_end, last_fold, kernel_row_end, plane_end, pad;
  logic [ActAddrBits-1:0] next_fold_addr;
  logic signed [PositionBits-1:0] next_fold_row, next_fold_col;
  logic [ActAddrBits-1:0] first_addr;
  logic [23:0] pixels;

  assign fold_end = cycle_q == period_q;
  assign kernel_row_end = kernel_cols_left_q == '0;
  assign plane_end = kernel_row_end && kernel_rows_left_q == '0;
  assign last_fold = plane_end && planes_left_q == '0;
  assign pad = row_q < 0 || row_q >= $signed(PositionBits'(in_rows_q)) ||
               col_q < 0 || col_q >= $signed(PositionBits'(in_cols_q));
  assign busy_o = busy_q;

  always_comb begin
    if (plane_end) begin
      next_fold_addr = plane_addr_q + plane_words_q;
      next_fold_row = PositionBits'(origin_row_q);
      next_fold_col = PositionBits'(origin_col_q);
    end else if (kernel_row_end) begin
      next_fold_addr = kernel_row_addr_q + row_words_q;
      next_fold_row = fold_row_q + PositionBits'(1);
      next_fold_col = PositionBits'(origin_col_q);
    end else begin
      next_fold_addr = fold_addr_q + ActAddrBits'(1);
      next_fold_row = fold_row_q;
      next_fold_col = fold_col_q + PositionBits'(1);
    end
  end

  // The fields that a command keeps.
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      row_words_q <= ActAddrBits'(command_i[qsim_pkg::ExecuteActRowWordsLsb +: qsim_pkg::ExecuteActRowWordsWidth]);
      plane_words_q <=
          ActAddrBits'(command_i[qsim_pkg::ExecuteActPlaneWordsLsb +: qsim_pkg::ExecuteActPlaneWordsWidth]);
      row_step_q <=
          ActAddrBits'(command_i[qsim_pkg::ExecuteActRowWordsLsb +: qsim_pkg::ExecuteActRowWordsWidth]) *
          ActAddrBits'(command_i[qsim_pkg::ExecuteStrideHLsb +: qsim_pkg::ExecuteStrideHWidth]);
      in_rows_q <= command_i[qsim_pkg::ExecuteInRowsLsb +: qsim_pkg::ExecuteInRowsWidth];
      in_cols_q <= command_i[qsim_pkg::ExecuteInColsLsb +: qsim_pkg::ExecuteInColsWidth];
      out_rows_q <= command_i[qsim_pkg::ExecuteOutRowsLsb +: qsim_pkg::ExecuteOutRowsWidth] - 12'd1;
      out_cols_q <= command_i[qsim_pkg::ExecuteOutColsLsb +: qsim_pkg::ExecuteOutColsWidth] - 12'd1;
      kernel_h_q <= command_i[qsim_pkg::ExecuteKernelHLsb +: qsim_pkg::ExecuteKernelHWidth] - 4'd1;
      kernel_w_q <= command_i[qsim_pkg::ExecuteKernelWLsb +: qsim_pkg::ExecuteKernelWWidth] - 4'd1;
      stride_h_q <= command_i[qsim_pkg::ExecuteStrideHLsb +: qsim_pkg::ExecuteStrideHWidth];
      stride_w_q <= command_i[qsim_pkg::ExecuteStrideWLsb +: qsim_pkg::ExecuteStrideWWidth];
      origin_row_q <= $signed(command_i[qsim_pkg::ExecuteOriginRowLsb +: qsim_pkg::ExecuteOriginRowWidth]);
      origin_col_q <= $signed(command_i[qsim_pkg::ExecuteOriginColLsb +: qsim_pkg::ExecuteOriginColWidth]);
      acc_first_q <= AccAddrBits'(command_i[qsim_pkg::ExecuteAccAddrLsb +: qsim_pkg::ExecuteAccAddrWidth]);
      accumulate_q <= command_i[qsim_pkg::ExecuteAccumulateLsb];
      half_q <= command_i[qsim_pkg::ExecuteAccHalfLsb];
      pad_value_q <= command_i[qsim_pkg::ExecutePadValueLsb +: qsim_pkg::ExecutePadValueWidth];
      pixels = 24'(command_i[qsim_pkg::ExecuteOutRowsLsb +: qsim_pkg::ExecuteOutRowsWidth]) *
               24'(command_i[qsim_pkg::ExecuteOutColsLsb +: qsim_pkg::ExecuteOutColsWidth]);
      period_q <= (pixels > 24'(Rows) ? pixels : 24'(Rows)) - 24'd1;
    end
  end

  // The walk.
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      // Addresses wrap: those before the tile are never read.
      first_addr =
          ActAddrBits'(command_i[qsim_pkg::ExecuteActAddrLsb +: qsim_pkg::ExecuteActAddrWidth]) +
          ActAddrBits'($signed(command_i[qsim_pkg::ExecuteOriginRowLsb +: qsim_pkg::ExecuteOriginRowWidth])) *
          ActAddrBits'(command_i[qsim_pkg::ExecuteActRowWordsLsb +: qsim_pkg::ExecuteActRowWordsWidth]) +
          ActAddrBits'($signed(command_i[qsim_pkg::ExecuteOriginColLsb +: qsim_pkg::ExecuteOriginColWidth]));
      plane_addr_q <= first_addr;
      kernel_row_addr_q <= first_addr;
      fold_addr_q <= first_addr;
      row_addr_q <= first_addr;
      addr_q <= first_addr;
      fold_row_q <=
          PositionBits'($signed(command_i[qsim_pkg::ExecuteOriginRowLsb +: qsim_pkg::ExecuteOriginRowWidth]));
      row_q <= PositionBits'($signed(command_i[qsim_pkg::ExecuteOriginRowLsb +: qsim_pkg::ExecuteOriginRowWidth]));
      fold_col_q <=
          PositionBits'($signed(command_i[qsim_pkg::ExecuteOriginColLsb +: qsim_pkg::ExecuteOriginColWidth]));
      col_q <= PositionBits'($signed(command_i[qsim_pkg::ExecuteOriginColLsb +: qsim_pkg::ExecuteOriginColWidth]));
      planes_left_q <= command_i[qsim_pkg::ExecutePlanesLsb +: qsim_pkg::ExecutePlanesWidth] - 12'd1;
      kernel_rows_left_q <= command_i[qsim_pkg::ExecuteKernelHLsb +: qsim_pkg::ExecuteKernelHWidth] - 4'd1;
      kernel_cols_left_q <= command_i[qsim_pkg::ExecuteKernelWLsb +: qsim_pkg::ExecuteKernelWWidth] - 4'd1;
      rows_left_q <= command_i[qsim_pkg::ExecuteOutRowsLsb +: qsim_pkg::ExecuteOutRowsWidth] - 12'd1;
      cols_left_q <= command_i[qsim_pkg::ExecuteOutColsLsb +: qsim_pkg::ExecuteOutColsWidth] - 12'd1;
      acc_addr_q <= AccAddrBits'(command_i[qsim_pkg::ExecuteAccAddrLsb +: qsim_pkg::ExecuteAccAddrWidth]);
      cycle_q <= '0;
      pixels_left_q <= 1'b1;
      first_fold_q <= 1'b1;
    end else if (busy_q) begin
      cycle_q <= cycle_q + 24'd1;
      if (fold_end) begin
        cycle_q <= '0;
        pixels_left_q <= 1'b1;
        first_fold_q <= 1'b0;
        rows_left_q <= out_rows_q;
        cols_left_q <= out_cols_q;
        fold_addr_q <= next_fold_addr;
        row_addr_q <= next_fold_addr;
        addr_q <= next_fold_addr;
        if (kernel_row_end) kernel_row_addr_q <= next_fold_addr;
        if (plane_end) plane_addr_q <= next_fold_addr;
        fold_row_q <= next_fold_row;
        row_q <= next_fold_row;
        fold_col_q <= next_fold_col;
        col_q <= next_fold_col;
        acc_addr_q <= acc_first_q;
        kernel_cols_left_q <= kernel_row_end ? kernel_w_q : kernel_cols_left_q - 4'd1;
        if (kernel_row_end) kernel_rows_left_q <= plane_end ? kernel_h_q : kernel_rows_left_q - 4'd1;
        if (plane_end) planes_left_q <= planes_left_q - 12'd1;
      end else begin
        acc_addr_q <= acc_addr_q + AccAddrBits'(1);
        if (cols_left_q == '0) begin
          if (rows_left_q == '0) pixels_left_q <= 1'b0;
          cols_left_q <= out_cols_q;
          rows_left_q <= rows_left_q - 12'd1;
          row_addr_q <= row_addr_q + row_step_q;
          addr_q <= row_addr_q + row_step_q;
          row_q <= row_q + PositionBits'($signed({1'b0, stride_h_q}));
          col_q <= fold_col_q;
        end else begin
          cols_left_q <= cols_left_q - 12'd1;
          addr_q <= addr_q + ActAddrBits'(stride_w_q);
          col_q <= col_q + PositionBits'($signed({1'b0, stride_w_q}));
        end
      end
    end
    if (busy_q) begin
      pixel_pad_o <= pad;
      pad_value_o <= pad_value_q;
      act_addr_o <= addr_q;
      overwrite_o <= first_fold_q && !accumulate_q;
      acc_half_o <= half_q;
      acc_addr_o <= acc_addr_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      pixel_valid_o <= 1'b0;
      last_o <= 1'b0;
    end else begin
      busy_q <= start_i || (busy_q && !(fold_end && last_fold));
      pixel_valid_o <= busy_q && pixels_left_q;
      last_o <= busy_q && fold_end && last_fold;
    end
  end
endmodule
