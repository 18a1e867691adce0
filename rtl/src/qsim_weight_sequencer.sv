// Reads the weights of an EXECUTE: for each fold R rows, row R-1 first, one a cycle from the fold's
// first cycle on. A word has the C weights of a row, or of several rows side by side where R > C: then
// it is read once, and `row_part_o` says which of them is meant. After its rows it idles to the end of the fold's period of max(pixels, R) cycles. It decides
// when the execute unit takes its next command.
//
// With a command's `start_i` in cycle s, its fold f begins in cycle s + 1 + f * period.
module qsim_weight_sequencer #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned WeightAddrBits = 12,
  localparam int unsigned RowsPerWord = Rows > Cols ? Rows / Cols : 1,
  localparam int unsigned PartBits = RowsPerWord > 1 ? $clog2(RowsPerWord) : 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      start_i,
  input  qsim_pkg::execute_t        command_i,
  output logic                      ready_o,       // may start in this cycle
  output logic                      loaded_o,      // the command's first fold ends its preload
  output logic                      busy_o,
  output logic                      row_valid_o,   // registered, like all below: a row of the fold
  output logic                      row_first_o,   // its first
  output logic [PartBits-1:0]       row_part_o,    // its place in the word
  output logic                      read_o,        // the word is read
  output logic [WeightAddrBits-1:0] read_addr_o
);
  localparam int unsigned RowBits = $clog2(Rows);
  localparam int unsigned FoldWords = Rows / RowsPerWord;
  localparam int unsigned PixelBits = qsim_pkg::ExecuteOutRowsWidth + qsim_pkg::ExecuteOutColsWidth;

  logic busy_q;
  logic first_fold_q;
  logic [PixelBits-1:0] period_q;  // of a fold, less one
  logic [PixelBits-1:0] cycle_q;   // within the fold
  // Folds to come after this one, as nested counts.
  logic [qsim_pkg::ExecutePlanesWidth-1:0] planes_left_q;
  logic [qsim_pkg::ExecuteKernelHWidth-1:0] rows_left_q, kernel_h_q;
  logic [qsim_pkg::ExecuteKernelWWidth-1:0] cols_left_q, kernel_w_q;
  logic [WeightAddrBits-1:0] fold_addr_q;

  logic fold_end;
  logic last_fold;
  logic preload;
  logic [PixelBits-1:0] pixels;
  logic [RowBits-1:0] row;

  assign fold_end = cycle_q == period_q;
  assign last_fold = planes_left_q == '0 && rows_left_q == '0 && cols_left_q == '0;
  assign preload = cycle_q < PixelBits'(Rows);
  assign ready_o = !busy_q || (fold_end && last_fold);
  assign loaded_o = busy_q && first_fold_q && cycle_q == PixelBits'(Rows - 1);
  assign busy_o = busy_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      pixels = PixelBits'(command_i.out_rows) * PixelBits'(command_i.out_cols);
      period_q <= (pixels > PixelBits'(Rows) ? pixels : PixelBits'(Rows)) - 1'b1;
      kernel_h_q <= command_i.kernel_h;
      kernel_w_q <= command_i.kernel_w;
      planes_left_q <= command_i.planes - 1'b1;
      rows_left_q <= command_i.kernel_h - 1'b1;
      cols_left_q <= command_i.kernel_w - 1'b1;
      fold_addr_q <= WeightAddrBits'(command_i.weight_addr);
      first_fold_q <= 1'b1;
      cycle_q <= '0;
    end else if (busy_q) begin
      cycle_q <= fold_end ? '0 : cycle_q + 1'b1;
      if (fold_end) begin
        first_fold_q <= 1'b0;
        fold_addr_q <= fold_addr_q + WeightAddrBits'(FoldWords);
        cols_left_q <= cols_left_q == '0 ? kernel_w_q - 1'b1 : cols_left_q - 1'b1;
        if (cols_left_q == '0) begin
          rows_left_q <= rows_left_q == '0 ? kernel_h_q - 1'b1 : rows_left_q - 1'b1;
          if (rows_left_q == '0) planes_left_q <= planes_left_q - 1'b1;
        end
      end
    end
    if (busy_q && preload) begin
      row = RowBits'(Rows - 1) - cycle_q[RowBits-1:0];
      read_addr_o <= fold_addr_q + (WeightAddrBits'(row) >> $clog2(RowsPerWord));
      row_part_o <= RowsPerWord > 1 ? PartBits'(row) : '0;
      row_first_o <= cycle_q == '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      row_valid_o <= 1'b0;
      read_o <= 1'b0;
    end else begin
      busy_q <= start_i || (busy_q && !ready_o);
      row_valid_o <= busy_q && preload;
      read_o <= busy_q && preload && (RowsPerWord == 1 || cycle_q[PartBits-1:0] == '0);
    end
  end
endmodule
