// The systolic array with its skews: R x C PEs, each with a multiplier, the weight in use, one shadow
// weight, an activation and a psum. Activations flow right, psums and shadow weights down.
//
// weight_stationary: all inputs come aligned, a word a cycle; row r of the activations and column c of
// the weights are delayed here by r and c cycles, and the psums realigned. With the first activation
// word of a fold in `act_i` in cycle t:
//   - its weights, row R-1 first, were in `weight_i` in cycles t-R to t-1;
//   - `shift_i[r]` was high one cycle before row r's shadow takes the word above it, that is in cycles
//     t-R-1+r to t-2: the rows below r no longer need what passes row r;
//   - `swap_i[r]` is high in cycle t-1+r: the shadow weight comes into use where the fold's first
//     activation arrives one cycle later. Flags flow right with the activations;
//   - its psums are in `psum_o` in cycle t+R+C+1.
// So the next fold's weights may follow at once, behind the swap on the same diagonal: one shadow
// register a PE, no gap between folds of R activations and more (ADR 0004).
//
// input_stationary: the two operands change places. `act_i` has the R weights of a channel; the shadow
// registers take activations, column c those of pixel c. The word of pixel c, R bytes, comes c cycles
// after that of pixel 0, which is what column c is late, so it goes to a lane as it is and leaves it
// byte by byte: the lanes transpose without a cycle of their own (ADR 0009). `lane_load_i` with
// pixel 0 is where weight_stationary has `weight_i` less one cycle. Column c has C psums, one a channel,
// C cycles long, and is c cycles late: so the registers that realign the psums have all psums of
// pixel `column_i` in one cycle, and `psum_o` has them in the next.
//
// output_stationary: rows are pixels, their words come through lanes too, and weights stream through
// the shadow registers. A PE adds into `sum_q`. `swap_i[r]`, at the same place as in weight_stationary,
// begins a new pixel group: finished sums go to the psum registers. `shift_i[r]`, one cycle before,
// moves the psums down to row r: in the R cycles after row R-1's sums are there a column moves down,
// row R-1 first, and a row moves until the next group's sums follow on the diagonal.
//
// `flow_i` and `wave_i` are clock enables: high whenever activations and psums, or weights, flags and
// lanes, are under way. Nothing needs a reset: stale flags run ahead of the first wave and act on nothing.
//
// Every register here is read in this process alone, before its update; so the updates are blocking
// and in place, which simulates ten times faster than copies of whole arrays (ADR 0004).
module qsim_systolic_array #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned Dataflows = 7,
  parameter int unsigned PsumBits = 16 + $clog2(Rows),
  parameter int unsigned LaneBits = $clog2(Rows > Cols ? Rows : Cols)
) (
  input  logic                     clk_i,
  input  logic                     output_stationary_i,
  input  logic                     input_stationary_i,
  input  logic                     flow_i,
  input  logic [8*Rows-1:0]        act_i,
  input  logic [LaneBits-1:0]      column_i,
  output logic [PsumBits*Cols-1:0] psum_o,
  input  logic                     wave_i,
  input  logic [8*Cols-1:0]        weight_i,
  input  logic [Rows-1:0]          shift_i,
  input  logic [Rows-1:0]          swap_i,
  input  logic                     lane_load_i,
  input  logic [LaneBits-1:0]      lane_i,
  input  logic [8*Rows-1:0]        lane_word_i
);
  localparam int unsigned Pes = Rows * Cols;
  localparam int unsigned Lanes = 1 << LaneBits;
  localparam bit Os = Dataflows[1];
  localparam bit Is = Dataflows[2];

  // PE (r, c) is entry r * Cols + c. A *_d array holds its register's value before the update.
  logic signed [7:0] act_q [Pes], act_d [Pes];
  logic signed [PsumBits-1:0] psum_q [Pes], psum_d [Pes];
  logic signed [PsumBits-1:0] sum_q [Pes], base_d [Pes], total_d [Pes];
  logic signed [15:0] product_d [Pes];
  logic [7:0] weight_q [Pes];
  logic [7:0] shadow_q [Pes], shadow_d [Pes];
  logic shift_q [Pes], shift_d [Pes];
  logic swap_q [Pes], swap_d [Pes];

  // Entry d * Rows + r (or d * Cols + c): delayed by d + 1 cycles.
  logic [7:0] act_skew_q [Rows*Rows], act_skew_d [Rows*Rows];
  logic [7:0] weight_skew_q [Cols*Cols], weight_skew_d [Cols*Cols];
  logic [PsumBits-1:0] psum_skew_q [Cols*Cols], psum_skew_d [Cols*Cols];

  // Byte b of a lane leaves it in b cycles.
  logic [8*Rows-1:0] lane_q [Lanes];

  always_ff @(posedge clk_i) begin
    if (flow_i) begin
      // Column c leaves the array Cols - 1 - c cycles before the last.
      if (Is && input_stationary_i) begin
        psum_o[(Cols-1)*PsumBits +: PsumBits] <= psum_q[Pes-Cols+32'(column_i)];
        for (int c = 0; c < Cols - 1; c++) begin
          psum_o[c*PsumBits +: PsumBits] <= psum_skew_q[(Cols-2-c)*Cols+32'(column_i)];
        end
      end else begin
        psum_o[(Cols-1)*PsumBits +: PsumBits] <= psum_q[Pes-1];
        for (int c = 0; c < Cols - 1; c++) begin
          psum_o[c*PsumBits +: PsumBits] <= psum_skew_q[(Cols-2-c)*Cols+c];
        end
      end
      for (int i = 0; i < Cols * Cols; i++) psum_skew_d[i] = psum_skew_q[i];
      for (int c = 0; c < Cols; c++) psum_skew_q[c] = psum_q[(Rows-1)*Cols+c];
      for (int i = Cols; i < Cols * Cols; i++) psum_skew_q[i] = psum_skew_d[i-Cols];

      for (int i = 0; i < Pes; i++) product_d[i] = 16'(act_q[i]) * 16'($signed(weight_q[i]));
      if (Os && output_stationary_i) begin
        for (int i = 0; i < Pes; i++) base_d[i] = sum_q[i] & {PsumBits{~swap_q[i]}};
      end else begin
        for (int c = 0; c < Cols; c++) base_d[c] = '0;
        for (int i = Cols; i < Pes; i++) base_d[i] = psum_q[i-Cols];
      end
      for (int i = 0; i < Pes; i++) total_d[i] = base_d[i] + PsumBits'(product_d[i]);
      if (Os && output_stationary_i) begin
        for (int i = 0; i < Pes; i++) psum_d[i] = psum_q[i];
        for (int i = Cols; i < Pes; i++) begin
          psum_q[i] = (psum_d[i-Cols] & {PsumBits{shift_q[i]}}) | (psum_d[i] & {PsumBits{~shift_q[i]}});
        end
        for (int i = 0; i < Pes; i++) begin
          psum_q[i] = (sum_q[i] & {PsumBits{swap_q[i]}}) | (psum_q[i] & {PsumBits{~swap_q[i]}});
        end
        for (int i = 0; i < Pes; i++) sum_q[i] = total_d[i];
      end else begin
        for (int i = 0; i < Pes; i++) psum_q[i] = total_d[i];
      end

      for (int i = 0; i < Pes; i++) act_d[i] = act_q[i];
      for (int i = 1; i < Pes; i++) act_q[i] = act_d[i-1];
      if (Os && output_stationary_i) begin
        for (int r = 0; r < Rows; r++) act_q[r*Cols] = lane_q[r][7:0];
      end else begin
        act_q[0] = act_i[7:0];
        for (int r = 1; r < Rows; r++) act_q[r*Cols] = act_skew_q[(r-1)*Rows+r];
        for (int i = 0; i < Rows * Rows; i++) act_skew_d[i] = act_skew_q[i];
        for (int r = 0; r < Rows; r++) act_skew_q[r] = act_i[r*8 +: 8];
        for (int i = Rows; i < Rows * Rows; i++) act_skew_q[i] = act_skew_d[i-Rows];
      end
    end
    if (wave_i) begin
      if (Os && output_stationary_i) begin
        for (int i = 0; i < Pes; i++) weight_q[i] = shadow_q[i];
        for (int i = 0; i < Pes; i++) shadow_d[i] = shadow_q[i];
        for (int i = Cols; i < Pes; i++) shadow_q[i] = shadow_d[i-Cols];
        shadow_q[0] = weight_i[7:0];
        for (int c = 1; c < Cols; c++) shadow_q[c] = weight_skew_q[(c-1)*Cols+c];
      end else begin
        for (int i = 0; i < Pes; i++) begin
          weight_q[i] = (shadow_q[i] & {8{swap_q[i]}}) | (weight_q[i] & {8{~swap_q[i]}});
        end
        for (int i = 0; i < Pes; i++) shadow_d[i] = shadow_q[i];
        if (Is && input_stationary_i) begin
          for (int c = 0; c < Cols; c++) shadow_q[c] = shift_q[c] ? lane_q[c][7:0] : shadow_d[c];
        end else begin
          shadow_q[0] = shift_q[0] ? weight_i[7:0] : shadow_d[0];
          for (int c = 1; c < Cols; c++) begin
            shadow_q[c] = shift_q[c] ? weight_skew_q[(c-1)*Cols+c] : shadow_d[c];
          end
        end
        for (int i = Cols; i < Pes; i++) begin
          shadow_q[i] = (shadow_d[i-Cols] & {8{shift_q[i]}}) | (shadow_d[i] & {8{~shift_q[i]}});
        end
      end
      if (!(Is && input_stationary_i)) begin
        for (int i = 0; i < Cols * Cols; i++) weight_skew_d[i] = weight_skew_q[i];
        for (int c = 0; c < Cols; c++) weight_skew_q[c] = weight_i[c*8 +: 8];
        for (int i = Cols; i < Cols * Cols; i++) weight_skew_q[i] = weight_skew_d[i-Cols];
      end
      if ((Os && output_stationary_i) || (Is && input_stationary_i)) begin
        for (int l = 0; l < Lanes; l++) lane_q[l] = lane_q[l] >> 8;
        if (lane_load_i) lane_q[lane_i] = lane_word_i;
      end

      for (int i = 0; i < Pes; i++) shift_d[i] = shift_q[i];
      for (int i = 1; i < Pes; i++) shift_q[i] = shift_d[i-1];
      for (int r = 0; r < Rows; r++) shift_q[r*Cols] = shift_i[r];
      for (int i = 0; i < Pes; i++) swap_d[i] = swap_q[i];
      for (int i = 1; i < Pes; i++) swap_q[i] = swap_d[i-1];
      for (int r = 0; r < Rows; r++) swap_q[r*Cols] = swap_i[r];
    end
  end
endmodule
