// The weight-stationary systolic array with its skews: R x C PEs, each with the weight in use, one
// shadow weight, an activation and a psum. Activations flow right, psums and shadow weights down.
//
// All inputs come aligned, a word a cycle; row r of the activations and column c of the weights are
// delayed here by r and c cycles, and the psums realigned. With the first activation word of a fold
// in `act_i` in cycle t:
//   - its weights, row R-1 first, were in `weight_i` in cycles t-R to t-1;
//   - `shift_i[r]` was high one cycle before row r's shadow takes the word above it, that is in cycles
//     t-R-1+r to t-2: the rows below r no longer need what passes row r;
//   - `swap_i[r]` is high in cycle t-1+r: the shadow weight comes into use where the fold's first
//     activation arrives one cycle later. Flags flow right with the activations;
//   - its psums are in `psum_o` in cycle t+R+C+1.
// So the next fold's weights may follow at once, behind the swap on the same diagonal: one shadow
// register a PE, no gap between folds of R activations and more (docs/adr/0004).
//
// `flow_i` and `wave_i` are clock enables: high whenever activations and psums, or weights and flags,
// are under way. Nothing needs a reset: stale flags run ahead of the first wave and act on nothing.
//
// Every register here is read in this process alone, before its update; so the updates are blocking
// and in place, which simulates ten times faster than copies of whole arrays (docs/adr/0004).
module qsim_systolic_array #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned PsumBits = 16 + $clog2(Rows)
) (
  input  logic                     clk_i,
  input  logic                     flow_i,
  input  logic [8*Rows-1:0]        act_i,
  output logic [PsumBits*Cols-1:0] psum_o,
  input  logic                     wave_i,
  input  logic [8*Cols-1:0]        weight_i,
  input  logic [Rows-1:0]          shift_i,
  input  logic [Rows-1:0]          swap_i
);
  localparam int unsigned Pes = Rows * Cols;

  // PE (r, c) is entry r * Cols + c. A *_d array holds its register's value before the update.
  logic signed [7:0] act_q [Pes], act_d [Pes];
  logic signed [PsumBits-1:0] psum_q [Pes], psum_d [Pes];
  logic [7:0] weight_q [Pes];
  logic [7:0] shadow_q [Pes], shadow_d [Pes];
  logic shift_q [Pes], shift_d [Pes];
  logic swap_q [Pes], swap_d [Pes];

  // Entry d * Rows + r (or d * Cols + c): delayed by d + 1 cycles.
  logic [7:0] act_skew_q [Rows*Rows], act_skew_d [Rows*Rows];
  logic [7:0] weight_skew_q [Cols*Cols], weight_skew_d [Cols*Cols];
  logic [PsumBits-1:0] psum_skew_q [Cols*Cols], psum_skew_d [Cols*Cols];

  always_ff @(posedge clk_i) begin
    if (flow_i) begin
      // Column c leaves the array Cols - 1 - c cycles before the last.
      psum_o[(Cols-1)*PsumBits +: PsumBits] <= psum_q[Pes-1];
      for (int c = 0; c < Cols - 1; c++) begin
        psum_o[c*PsumBits +: PsumBits] <= psum_skew_q[(Cols-2-c)*Cols+c];
      end
      for (int i = 0; i < Cols * Cols; i++) psum_skew_d[i] = psum_skew_q[i];
      for (int c = 0; c < Cols; c++) psum_skew_q[c] = psum_q[(Rows-1)*Cols+c];
      for (int i = Cols; i < Cols * Cols; i++) psum_skew_q[i] = psum_skew_d[i-Cols];

      for (int c = 0; c < Cols; c++) begin
        psum_d[c] = PsumBits'(act_q[c]) * PsumBits'($signed(weight_q[c]));
      end
      for (int i = Cols; i < Pes; i++) begin
        psum_d[i] = psum_q[i-Cols] + PsumBits'(act_q[i]) * PsumBits'($signed(weight_q[i]));
      end
      for (int i = 0; i < Pes; i++) psum_q[i] = psum_d[i];

      for (int i = 0; i < Pes; i++) act_d[i] = act_q[i];
      for (int i = 1; i < Pes; i++) act_q[i] = act_d[i-1];
      act_q[0] = act_i[7:0];
      for (int r = 1; r < Rows; r++) act_q[r*Cols] = act_skew_q[(r-1)*Rows+r];
      for (int i = 0; i < Rows * Rows; i++) act_skew_d[i] = act_skew_q[i];
      for (int r = 0; r < Rows; r++) act_skew_q[r] = act_i[r*8 +: 8];
      for (int i = Rows; i < Rows * Rows; i++) act_skew_q[i] = act_skew_d[i-Rows];
    end
    if (wave_i) begin
      for (int i = 0; i < Pes; i++) begin
        weight_q[i] = (shadow_q[i] & {8{swap_q[i]}}) | (weight_q[i] & {8{~swap_q[i]}});
      end
      for (int i = 0; i < Pes; i++) shadow_d[i] = shadow_q[i];
      shadow_q[0] = shift_q[0] ? weight_i[7:0] : shadow_d[0];
      for (int c = 1; c < Cols; c++) begin
        shadow_q[c] = shift_q[c] ? weight_skew_q[(c-1)*Cols+c] : shadow_d[c];
      end
      for (int i = Cols; i < Pes; i++) begin
        shadow_q[i] = (shadow_d[i-Cols] & {8{shift_q[i]}}) | (shadow_d[i] & {8{~shift_q[i]}});
      end
      for (int i = 0; i < Cols * Cols; i++) weight_skew_d[i] = weight_skew_q[i];
      for (int c = 0; c < Cols; c++) weight_skew_q[c] = weight_i[c*8 +: 8];
      for (int i = Cols; i < Cols * Cols; i++) weight_skew_q[i] = weight_skew_d[i-Cols];

      for (int i = 0; i < Pes; i++) shift_d[i] = shift_q[i];
      for (int i = 1; i < Pes; i++) shift_q[i] = shift_d[i-1];
      for (int r = 0; r < Rows; r++) shift_q[r*Cols] = shift_i[r];
      for (int i = 0; i < Pes; i++) swap_d[i] = swap_q[i];
      for (int i = 1; i < Pes; i++) swap_q[i] = swap_d[i-1];
      for (int r = 0; r < Rows; r++) swap_q[r*Cols] = swap_i[r];
    end
  end
endmodule
