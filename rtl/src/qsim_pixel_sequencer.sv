// Walks the activations of an EXECUTE: pixel groups (weight_stationary has one, the whole tile), in each
// the folds (plane, kernel row, kernel column), and in each of those the group's pixels, one a cycle,
// then bubbles up to the fold's period. For each cycle it gives the activation word to read, or says
// that the pixel is on a pad; for weight_stationary also the accumulator word to update.
//
// `start_i` comes R cycles after a weight_stationary command started, when the first fold's weights are
// in place; one cycle after an output_stationary one did; and with the start of an input_stationary one,
// whose weights follow R cycles later. The outputs are registered: those for the walk's cycle i come
// i + 2 cycles later.
module qsim_pixel_sequencer #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned Dataflows = 7,
  parameter int unsigned ActAddrBits = 14,
  parameter int unsigned AccAddrBits = 9,
  parameter int unsigned LaneBits = $clog2(Rows > Cols ? Rows : Cols)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  qsim_pkg::execute_t     command_i,
  output logic                   ready_o,        // may start in this cycle
  output logic                   loaded_o,       // the command's first fold ends its preload
  output logic                   busy_o,
  output logic                   pixel_valid_o,
  output logic                   pixel_pad_o,
  output logic [7:0]             pad_value_o,
  output logic [ActAddrBits-1:0] act_addr_o,
  output logic [LaneBits-1:0]    lane_o,         // number of the pixel in its group
  output logic                   load_valid_o,   // input_stationary: in the R cycles of a preload
  output logic                   load_first_o,   // the first of these
  output logic                   last_o,         // the stream's last cycle, pixel or bubble
  output logic                   overwrite_o,    // this pixel's psum replaces the accumulator's
  output logic                   acc_half_o,
  output logic [AccAddrBits-1:0] acc_addr_o
);
  // A position of the ifmap, signed: as many outputs at as large a stride as there can be, a kernel
  // row and an origin.
  localparam int unsigned PositionBits = qsim_pkg::ExecuteOutRowsWidth + qsim_pkg::ExecuteStrideHWidth + 2;
  localparam int unsigned PixelBits = qsim_pkg::ExecuteOutRowsWidth + qsim_pkg::ExecuteOutColsWidth;
  localparam bit Os = Dataflows[1];
  localparam bit Is = Dataflows[2];

  logic busy_q;
  logic pixels_left_q;  // of the tile, from here on
  logic first_fold_q;

  // The command's fields. A *_left_q beside one is a count of what is left after the present one.
  logic [ActAddrBits-1:0] row_words_q, plane_words_q, row_step_q, first_addr_q;
  logic [qsim_pkg::ExecuteInRowsWidth-1:0] in_rows_q;
  logic [qsim_pkg::ExecuteInColsWidth-1:0] in_cols_q;
  logic [qsim_pkg::ExecuteOutRowsWidth-1:0] out_rows_q, rows_left_q, group_rows_left_q;
  logic [qsim_pkg::ExecuteOutColsWidth-1:0] out_cols_q, cols_left_q, group_cols_left_q;
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
  logic output_stationary_q, input_stationary_q, by_group;

  // Where the walk is: the fold, with the address and position of the tile's first pixel, and the
  // pixel, as offsets from there. A group_*_q is the same of the group's first pixel.
  logic [qsim_pkg::ExecutePlanesWidth-1:0] planes_left_q, planes_q;
  logic [PixelBits-1:0] cycle_q;
  logic [ActAddrBits-1:0] plane_addr_q, kernel_row_addr_q, fold_addr_q;
  logic signed [PositionBits-1:0] fold_row_q, fold_col_q;
  logic [ActAddrBits-1:0] row_offset_q, offset_q, group_row_offset_q, group_offset_q;
  logic signed [PositionBits-1:0] down_q, right_q, group_down_q, group_right_q;
  logic [AccAddrBits-1:0] acc_addr_q;

  logic fold_end, last_fold, kernel_row_end, plane_end, pad, pixel_valid, last;
  logic [ActAddrBits-1:0] next_fold_addr;
  logic signed [PositionBits-1:0] next_fold_row, next_fold_col, row, col;
  logic [ActAddrBits-1:0] first_addr;
  logic [PixelBits-1:0] pixels, channels, least;

  // The pixel after the present one; the same one where the present cycle has none.
  logic next_left;
  logic [qsim_pkg::ExecuteOutRowsWidth-1:0] next_rows_left;
  logic [qsim_pkg::ExecuteOutColsWidth-1:0] next_cols_left;
  logic [ActAddrBits-1:0] next_row_offset, next_offset;
  logic signed [PositionBits-1:0] next_down, next_right;

  assign by_group = (Os && output_stationary_q) || (Is && input_stationary_q);
  assign fold_end = cycle_q == period_q;
  assign kernel_row_end = kernel_cols_left_q == '0;
  assign plane_end = kernel_row_end && kernel_rows_left_q == '0;
  assign last_fold = plane_end && planes_left_q == '0;
  assign row = fold_row_q + down_q;
  assign col = fold_col_q + right_q;
  assign pad = row < 0 || row >= $signed(PositionBits'(in_rows_q)) ||
               col < 0 || col >= $signed(PositionBits'(in_cols_q));
  assign pixel_valid = pixels_left_q &&
      (!by_group || cycle_q < (Is && input_stationary_q ? PixelBits'(Cols) : PixelBits'(Rows)));
  assign last = busy_q && fold_end && last_fold && !next_left;
  assign ready_o = !busy_q || last;
  assign loaded_o = busy_q && first_fold_q && cycle_q == PixelBits'(Rows - 1);
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

  always_comb begin
    next_left = pixels_left_q;
    next_rows_left = rows_left_q;
    next_cols_left = cols_left_q;
    next_row_offset = row_offset_q;
    next_offset = offset_q;
    next_down = down_q;
    next_right = right_q;
    if (pixel_valid) begin
      if (cols_left_q == '0) begin
        if (rows_left_q == '0) next_left = 1'b0;
        next_cols_left = out_cols_q;
        next_rows_left = rows_left_q - 1'b1;
        next_row_offset = row_offset_q + row_step_q;
        next_offset = next_row_offset;
        next_down = down_q + PositionBits'($signed({1'b0, stride_h_q}));
        next_right = '0;
      end else begin
        next_cols_left = cols_left_q - 1'b1;
        next_offset = offset_q + ActAddrBits'(stride_w_q);
        next_right = right_q + PositionBits'($signed({1'b0, stride_w_q}));
      end
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
      planes_q <= command_i.planes - 1'b1;
      stride_h_q <= command_i.stride_h;
      stride_w_q <= command_i.stride_w;
      origin_row_q <= command_i.origin_row;
      origin_col_q <= command_i.origin_col;
      acc_first_q <= AccAddrBits'(command_i.acc_addr);
      accumulate_q <= command_i.accumulate;
      half_q <= command_i.acc_half;
      pad_value_q <= command_i.pad_value;
      output_stationary_q <= command_i.dataflow == qsim_pkg::DataflowOutputStationary;
      input_stationary_q <= command_i.dataflow == qsim_pkg::DataflowInputStationary;
      pixels = PixelBits'(command_i.out_rows) * PixelBits'(command_i.out_cols);
      channels = PixelBits'(command_i.blocks) * PixelBits'(Cols);
      least = Is && command_i.dataflow == qsim_pkg::DataflowInputStationary ? channels :
              Os && command_i.dataflow == qsim_pkg::DataflowOutputStationary ? PixelBits'(Rows) : pixels;
      period_q <= (least > PixelBits'(Rows) ? least : PixelBits'(Rows)) - 1'b1;
    end
  end

  // The walk.
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      // Addresses wrap: those before the tile are never read.
      first_addr = ActAddrBits'(command_i.act_addr) +
          ActAddrBits'(command_i.origin_row) * ActAddrBits'(command_i.act_row_words) +
          ActAddrBits'(command_i.origin_col);
      first_addr_q <= first_addr;
      plane_addr_q <= first_addr;
      kernel_row_addr_q <= first_addr;
      fold_addr_q <= first_addr;
      fold_row_q <= PositionBits'(command_i.origin_row);
      fold_col_q <= PositionBits'(command_i.origin_col);
      planes_left_q <= command_i.planes - 1'b1;
      kernel_rows_left_q <= command_i.kernel_h - 1'b1;
      kernel_cols_left_q <= command_i.kernel_w - 1'b1;
      row_offset_q <= '0;
      offset_q <= '0;
      down_q <= '0;
      right_q <= '0;
      rows_left_q <= command_i.out_rows - 1'b1;
      cols_left_q <= command_i.out_cols - 1'b1;
      group_row_offset_q <= '0;
      group_offset_q <= '0;
      group_down_q <= '0;
      group_right_q <= '0;
      group_rows_left_q <= command_i.out_rows - 1'b1;
      group_cols_left_q <= command_i.out_cols - 1'b1;
      acc_addr_q <= AccAddrBits'(command_i.acc_addr);
      cycle_q <= '0;
      pixels_left_q <= 1'b1;
      first_fold_q <= 1'b1;
    end else if (busy_q) begin
      cycle_q <= cycle_q + 1'b1;
      acc_addr_q <= acc_addr_q + AccAddrBits'(1);
      pixels_left_q <= next_left;
      rows_left_q <= next_rows_left;
      cols_left_q <= next_cols_left;
      row_offset_q <= next_row_offset;
      offset_q <= next_offset;
      down_q <= next_down;
      right_q <= next_right;
      if (fold_end) begin
        cycle_q <= '0;
        first_fold_q <= 1'b0;
        acc_addr_q <= acc_first_q;
        fold_addr_q <= next_fold_addr;
        if (kernel_row_end) kernel_row_addr_q <= next_fold_addr;
        if (plane_end) plane_addr_q <= next_fold_addr;
        fold_row_q <= next_fold_row;
        fold_col_q <= next_fold_col;
        kernel_cols_left_q <= kernel_row_end ? kernel_w_q : kernel_cols_left_q - 1'b1;
        if (kernel_row_end) kernel_rows_left_q <= plane_end ? kernel_h_q : kernel_rows_left_q - 1'b1;
        if (plane_end) planes_left_q <= planes_left_q - 1'b1;
        if (by_group && last_fold) begin
          // The next group begins where this one ends.
          fold_addr_q <= first_addr_q;
          kernel_row_addr_q <= first_addr_q;
          plane_addr_q <= first_addr_q;
          planes_left_q <= planes_q;
          group_row_offset_q <= next_row_offset;
          group_offset_q <= next_offset;
          group_down_q <= next_down;
          group_right_q <= next_right;
          group_rows_left_q <= next_rows_left;
          group_cols_left_q <= next_cols_left;
        end else begin
          // The group's first pixel again.
          pixels_left_q <= 1'b1;
          row_offset_q <= by_group ? group_row_offset_q : '0;
          offset_q <= by_group ? group_offset_q : '0;
          down_q <= by_group ? group_down_q : '0;
          right_q <= by_group ? group_right_q : '0;
          rows_left_q <= by_group ? group_rows_left_q : out_rows_q;
          cols_left_q <= by_group ? group_cols_left_q : out_cols_q;
        end
      end
    end
    if (busy_q) begin
      pixel_pad_o <= pad;
      pad_value_o <= pad_value_q;
      act_addr_o <= fold_addr_q + offset_q;
      lane_o <= LaneBits'(cycle_q);
      overwrite_o <= first_fold_q && !accumulate_q;
      acc_half_o <= half_q;
      acc_addr_o <= acc_addr_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      pixel_valid_o <= 1'b0;
      load_valid_o <= 1'b0;
      load_first_o <= 1'b0;
      last_o <= 1'b0;
    end else begin
      busy_q <= start_i || (busy_q && !last);
      pixel_valid_o <= busy_q && pixel_valid;
      load_valid_o <= busy_q && cycle_q < PixelBits'(Rows);
      load_first_o <= busy_q && cycle_q == '0;
      last_o <= last;
    end
  end
endmodule
