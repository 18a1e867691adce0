// Walks the psums of a POST: for each output its window's positions, one a cycle. A position outside
// the tile takes its cycle too, but is absent. With `start_i` in cycle s, beat i is in the outputs in
// cycle s + 1 + i.
module qsim_post_sequencer #(
  parameter int unsigned AccAddrBits = 9,
  parameter int unsigned OutAddrBits = 10
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_i,
  input  logic [qsim_pkg::CommandBits-1:0] command_i,
  output logic                             ready_o,
  output logic                             beat_o,
  output logic                             present_o,
  output logic                             window_first_o,
  output logic                             window_last_o,
  output logic                             first_o,   // of the command
  output logic                             last_o,
  output logic                             half_o,
  output logic [AccAddrBits-1:0]           acc_addr_o,
  output logic [OutAddrBits-1:0]           out_addr_o,
  output logic                             param_slot_o,
  output logic [1:0]                       rounding_o,
  output logic [23:0]                      levels_o   // hi, lo, zero_point
);
  // A position: 4,095 windows at stride 4, a window row and an origin, signed.
  localparam int unsigned PositionBits = 16;

  logic busy_q, first_q, half_q, param_slot_q;
  logic [1:0] rounding_q;
  logic [23:0] levels_q;

  logic [11:0] in_rows_q, in_cols_q, out_cols_q, rows_left_q, cols_left_q;
  logic [2:0] pool_h_q, pool_w_q, window_rows_left_q, window_cols_left_q;
  logic [2:0] stride_h_q, stride_w_q;
  logic signed [3:0] origin_col_q;
  logic [AccAddrBits-1:0] line_step_q;

  // Addresses of the line of windows' first position, of the window's, of the window row's, and this
  // one's; and where they lie in the tile.
  logic [AccAddrBits-1:0] line_addr_q, window_addr_q, row_addr_q, addr_q;
  logic signed [PositionBits-1:0] line_row_q, window_col_q, row_q, col_q;
  logic [OutAddrBits-1:0] out_addr_q;

  logic row_end, line_end;
  logic [AccAddrBits-1:0] in_cols_step, first_addr, next_window_addr, next_line_addr;
  logic signed [PositionBits-1:0] next_window_col, next_line_row;

  assign row_end = window_cols_left_q == '0;
  assign window_last_o = row_end && window_rows_left_q == '0;
  assign line_end = cols_left_q == '0;
  assign last_o = window_last_o && line_end && rows_left_q == '0;
  assign ready_o = !busy_q || last_o;
  assign beat_o = busy_q;
  assign first_o = first_q;
  assign window_first_o = window_rows_left_q == pool_h_q && window_cols_left_q == pool_w_q;
  assign present_o = row_q >= 0 && row_q < $signed(PositionBits'(in_rows_q)) &&
                     col_q >= 0 && col_q < $signed(PositionBits'(in_cols_q));
  assign half_o = half_q;
  assign acc_addr_o = addr_q;
  assign out_addr_o = out_addr_q;
  assign param_slot_o = param_slot_q;
  assign rounding_o = rounding_q;
  assign levels_o = levels_q;

  assign in_cols_step = AccAddrBits'(in_cols_q);
  assign next_window_addr = window_addr_q + AccAddrBits'(stride_w_q);
  assign next_window_col = window_col_q + PositionBits'($signed({1'b0, stride_w_q}));
  assign next_line_addr = line_addr_q + line_step_q;
  assign next_line_row = line_row_q + PositionBits'($signed({1'b0, stride_h_q}));

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      half_q <= command_i[qsim_pkg::PostAccHalfLsb];
      param_slot_q <= command_i[qsim_pkg::PostParamSlotLsb];
      rounding_q <= command_i[qsim_pkg::PostRoundingLsb +: qsim_pkg::PostRoundingWidth];
      levels_q <= {command_i[qsim_pkg::PostHiLsb +: qsim_pkg::PostHiWidth],
                   command_i[qsim_pkg::PostLoLsb +: qsim_pkg::PostLoWidth],
                   command_i[qsim_pkg::PostZeroPointLsb +: qsim_pkg::PostZeroPointWidth]};
      in_rows_q <= command_i[qsim_pkg::PostInRowsLsb +: qsim_pkg::PostInRowsWidth];
      in_cols_q <= command_i[qsim_pkg::PostInColsLsb +: qsim_pkg::PostInColsWidth];
      out_cols_q <= command_i[qsim_pkg::PostOutColsLsb +: qsim_pkg::PostOutColsWidth] - 12'd1;
      rows_left_q <= command_i[qsim_pkg::PostOutRowsLsb +: qsim_pkg::PostOutRowsWidth] - 12'd1;
      cols_left_q <= command_i[qsim_pkg::PostOutColsLsb +: qsim_pkg::PostOutColsWidth] - 12'd1;
      pool_h_q <= command_i[qsim_pkg::PostPoolHLsb +: qsim_pkg::PostPoolHWidth] - 3'd1;
      pool_w_q <= command_i[qsim_pkg::PostPoolWLsb +: qsim_pkg::PostPoolWWidth] - 3'd1;
      window_rows_left_q <= command_i[qsim_pkg::PostPoolHLsb +: qsim_pkg::PostPoolHWidth] - 3'd1;
      window_cols_left_q <= command_i[qsim_pkg::PostPoolWLsb +: qsim_pkg::PostPoolWWidth] - 3'd1;
      stride_h_q <= command_i[qsim_pkg::PostPoolStrideHLsb +: qsim_pkg::PostPoolStrideHWidth];
      stride_w_q <= command_i[qsim_pkg::PostPoolStrideWLsb +: qsim_pkg::PostPoolStrideWWidth];
      line_step_q <= AccAddrBits'(command_i[qsim_pkg::PostPoolStrideHLsb +: qsim_pkg::PostPoolStrideHWidth]) *
                     AccAddrBits'(command_i[qsim_pkg::PostInColsLsb +: qsim_pkg::PostInColsWidth]);
      origin_col_q <= $signed(command_i[qsim_pkg::PostOriginColLsb +: qsim_pkg::PostOriginColWidth]);
      // Addresses wrap: those outside the tile are never read.
      first_addr =
          AccAddrBits'(command_i[qsim_pkg::PostAccAddrLsb +: qsim_pkg::PostAccAddrWidth]) +
          AccAddrBits'($signed(command_i[qsim_pkg::PostOriginRowLsb +: qsim_pkg::PostOriginRowWidth])) *
          AccAddrBits'(command_i[qsim_pkg::PostInColsLsb +: qsim_pkg::PostInColsWidth]) +
          AccAddrBits'($signed(command_i[qsim_pkg::PostOriginColLsb +: qsim_pkg::PostOriginColWidth]));
      line_addr_q <= first_addr;
      window_addr_q <= first_addr;
      row_addr_q <= first_addr;
      addr_q <= first_addr;
      line_row_q <=
          PositionBits'($signed(command_i[qsim_pkg::PostOriginRowLsb +: qsim_pkg::PostOriginRowWidth]));
      row_q <= PositionBits'($signed(command_i[qsim_pkg::PostOriginRowLsb +: qsim_pkg::PostOriginRowWidth]));
      window_col_q <=
          PositionBits'($signed(command_i[qsim_pkg::PostOriginColLsb +: qsim_pkg::PostOriginColWidth]));
      col_q <= PositionBits'($signed(command_i[qsim_pkg::PostOriginColLsb +: qsim_pkg::PostOriginColWidth]));
      out_addr_q <= OutAddrBits'(command_i[qsim_pkg::PostOutAddrLsb +: qsim_pkg::PostOutAddrWidth]);
      first_q <= 1'b1;
    end else if (busy_q) begin
      first_q <= 1'b0;
      window_cols_left_q <= row_end ? pool_w_q : window_cols_left_q - 3'd1;
      if (row_end) window_rows_left_q <= window_last_o ? pool_h_q : window_rows_left_q - 3'd1;
      if (!row_end) begin
        addr_q <= addr_q + AccAddrBits'(1);
        col_q <= col_q + PositionBits'(1);
      end else if (!window_last_o) begin
        addr_q <= row_addr_q + in_cols_step;
        row_addr_q <= row_addr_q + in_cols_step;
        row_q <= row_q + PositionBits'(1);
        col_q <= window_col_q;
      end else begin
        out_addr_q <= out_addr_q + OutAddrBits'(1);
        if (!line_end) begin
          cols_left_q <= cols_left_q - 12'd1;
          window_addr_q <= next_window_addr;
          row_addr_q <= next_window_addr;
          addr_q <= next_window_addr;
          window_col_q <= next_window_col;
          row_q <= line_row_q;
          col_q <= next_window_col;
        end else begin
          cols_left_q <= out_cols_q;
          rows_left_q <= rows_left_q - 12'd1;
          line_addr_q <= next_line_addr;
          window_addr_q <= next_line_addr;
          row_addr_q <= next_line_addr;
          addr_q <= next_line_addr;
          line_row_q <= next_line_row;
          row_q <= next_line_row;
          window_col_q <= PositionBits'(origin_col_q);
          col_q <= PositionBits'(origin_col_q);
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= start_i || (busy_q && !last_o);
  end
endmodule
