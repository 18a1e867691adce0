// Walks the activations of an EXECUTE: folds (plane, kernel row, kernel column), and in each the
// tile's pixels, one a cycle, then bubbles up to the fold's period. For each cycle of the stream it
// gives the activation word to read, or says that the pixel is on a pad, and gives the accumulator
// word to update.
//
// `start_i` comes R cycles after the command started, when the first fold's weights are in place. The
// outputs are registered: those for the stream's cycle i come i + 2 cycles later.
module qsim_pixel_sequencer #(
  parameter int unsigned Rows = 16,
  parameter int unsigned ActAddrBits = 14,
  parameter int unsigned AccAddrBits = 9
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  qsim_pkg::execute_t     command_i,
  output logic                   busy_o,
  output logic                   pixel_valid_o,
  output logic                   pixel_pad_o,
  output logic [7:0]             pad_value_o,
  output logic [ActAddrBits-1:0] act_addr_o,
  output logic                   last_o,       // the stream's last cycle, pixel or bubble
  output logic                   overwrite_o,  // this pixel's psum replaces the accumulator's
  output logic                   acc_half_o,
  output logic [AccAddrBits-1:0] acc_addr_o
);
  // A position of the ifmap, signed: as many outputs at as large a stride as there can be, a kernel
  // row and an origin.
  localparam int unsigned PositionBits = qsim_pkg::ExecuteOutRowsWidth + qsim_pkg::ExecuteStrideHWidth + 2;
  localparam int unsigned PixelBits = qsim_pkg::ExecuteOutRowsWidth + qsim_pkg::ExecuteOutColsWidth;

  logic busy_q;
  logic pixels_left_q;  // of this fold
  logic first_fold_q;

  // The command's fields. A *_left_q beside one is a count of what is left after the present one.
  logic [ActAddrBits-1:0] row_words_q, plane_words_q, row_step_q;
  logic [qsim_pkg::ExecuteInRowsWidth-1:0] in_rows_q;
  logic [qsim_pkg::ExecuteInColsWidth-1:0] in_cols_q;
  logic [qsim_pkg::ExecuteOutRowsWidth-1:0] out_rows_q, rows_left_q;
  logic [qsim_pkg::ExecuteOutColsWidth-1:0] out_cols_q, cols_left_q;
  logic [qsim_pkg::ExecuteKernelHWidth-1:0] kernel_h_q, kernel_rows_left_q;
  logic [qsim_pkg::ExecuteKernelWWidth-1:0] kernel_w_q, kernel_cols_left_q;
  logic [qsim_pkg::ExecuteStrideHWidth-1:0] stride_h_q;
  logic [qsim_pkg::ExecuteStrideWWidth-1:0] stride_w_q;
  logic signed [qsim_pkg::ExecuteOriginRowWidth-1:0] origin_row_q;
  logic signed [qsim_pkg::ExecuteOriginColWidth-1:0] origin_col_q;
  logic [AccAddrBits-1:0] acc_first_q;
  logic accumulate_q, half_q;
  logic [7:0] pad_value_q;
  logic [PixelBits-1:0] period_q;

  // Where the walk is: addresses of the first pixel of the plane, of the fold and of the output row.
  logic [qsim_pkg::ExecutePlanesWidth-1:0] planes_left_q;
  logic [PixelBits-1:0] cycle_q;
  logic [ActAddrBits-1:0] plane_addr_q, kernel_row_addr_q, fold_addr_q, row_addr_q, addr_q;
  logic signed [PositionBits-1:0] fold_row_q, fold_col_q, row_q, col_q;
  logic [AccAddrBits-1:0] acc_addr_q;

  logic fold_end, last_fold, kernel_row_end, plane_end, pad;
  logic [ActAddrBits-1:0] next_fold_addr;
  logic signed [PositionBits-1:0] next_fold_row, next_fold_col;
  logic [ActAddrBits-1:0] first_addr;
  logic [PixelBits-1:0] pixels;

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
      row_words_q <= ActAddrBits'(command_i.act_row_words);
      plane_words_q <= ActAddrBits'(command_i.act_plane_words);
      row_step_q <= ActAddrBits'(command_i.act_row_words) * ActAddrBits'(command_i.stride_h);
      in_rows_q <= command_i.in_rows;
      in_cols_q <= command_i.in_cols;
      out_rows_q <= command_i.out_rows - 1'b1;
      out_cols_q <= command_i.out_cols - 1'b1;
      kernel_h_q <= command_i.kernel_h - 1'b1;
      kernel_w_q <= command_i.kernel_w - 1'b1;
      stride_h_q <= command_i.stride_h;
      stride_w_q <= command_i.stride_w;
      origin_row_q <= command_i.origin_row;
      origin_col_q <= command_i.origin_col;
      acc_first_q <= AccAddrBits'(command_i.acc_addr);
      accumulate_q <= command_i.accumulate;
      half_q <= command_i.acc_half;
      pad_value_q <= command_i.pad_value;
      pixels = PixelBits'(command_i.out_rows) * PixelBits'(command_i.out_cols);
      period_q <= (pixels > PixelBits'(Rows) ? pixels : PixelBits'(Rows)) - 1'b1;
    end
  end

  // The walk.
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      // Addresses wrap: those before the tile are never read.
      first_addr = ActAddrBits'(command_i.act_addr) +
          ActAddrBits'(command_i.origin_row) * ActAddrBits'(command_i.act_row_words) +
          ActAddrBits'(command_i.origin_col);
      plane_addr_q <= first_addr;
      kernel_row_addr_q <= first_addr;
      fold_addr_q <= first_addr;
      row_addr_q <= first_addr;
      addr_q <= first_addr;
      fold_row_q <= PositionBits'(command_i.origin_row);
      row_q <= PositionBits'(command_i.origin_row);
      fold_col_q <= PositionBits'(command_i.origin_col);
      col_q <= PositionBits'(command_i.origin_col);
      planes_left_q <= command_i.planes - 1'b1;
      kernel_rows_left_q <= command_i.kernel_h - 1'b1;
      kernel_cols_left_q <= command_i.kernel_w - 1'b1;
      rows_left_q <= command_i.out_rows - 1'b1;
      cols_left_q <= command_i.out_cols - 1'b1;
      acc_addr_q <= AccAddrBits'(command_i.acc_addr);
      cycle_q <= '0;
      pixels_left_q <= 1'b1;
      first_fold_q <= 1'b1;
    end else if (busy_q) begin
      cycle_q <= cycle_q + 1'b1;
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
        kernel_cols_left_q <= kernel_row_end ? kernel_w_q : kernel_cols_left_q - 1'b1;
        if (kernel_row_end) kernel_rows_left_q <= plane_end ? kernel_h_q : kernel_rows_left_q - 1'b1;
        if (plane_end) planes_left_q <= planes_left_q - 1'b1;
      end else begin
        acc_addr_q <= acc_addr_q + AccAddrBits'(1);
        if (cols_left_q == '0) begin
          if (rows_left_q == '0) pixels_left_q <= 1'b0;
          cols_left_q <= out_cols_q;
          rows_left_q <= rows_left_q - 1'b1;
          row_addr_q <= row_addr_q + row_step_q;
          addr_q <= row_addr_q + row_step_q;
          row_q <= row_q + PositionBits'($signed({1'b0, stride_h_q}));
          col_q <= fold_col_q;
        end else begin
          cols_left_q <= cols_left_q - 1'b1;
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
