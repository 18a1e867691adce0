// Two shadow registers a PE: weights move down at half a row a cycle and never stop, so that they meet
// the swap on its diagonal; updated in place. The array alone: no skews.
module two_shadows #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned PsumBits = 32
) (
  input  logic                     clk_i,
  input  logic                     flow_i,
  input  logic                     wave_i,
  input  logic [8*Rows-1:0]        act_i,
  input  logic [8*Cols-1:0]        weight_i,
  input  logic [Rows-1:0]          shift_i,
  input  logic [Rows-1:0]          swap_i,
  output logic [PsumBits*Cols-1:0] psum_o
);
  localparam int unsigned Pes = Rows * Cols;

  logic signed [7:0] act_q [Pes], act_d [Pes];
  logic signed [PsumBits-1:0] psum_q [Pes], psum_d [Pes];
  logic [7:0] weight_q [Pes];
  logic [7:0] shadow_q [Pes], shadow_d [Pes], upper_q [Pes];
  logic swap_q [Pes], swap_d [Pes];

  always_ff @(posedge clk_i) begin
    if (flow_i) begin
      for (int c = 0; c < Cols; c++) psum_o[c*PsumBits +: PsumBits] <= psum_q[(Rows-1)*Cols+c];
      for (int c = 0; c < Cols; c++) psum_d[c] = PsumBits'(act_q[c]) * PsumBits'($signed(weight_q[c]));
      for (int i = Cols; i < Pes; i++) begin
        psum_d[i] = psum_q[i-Cols] + PsumBits'(act_q[i]) * PsumBits'($signed(weight_q[i]));
      end
      for (int i = 0; i < Pes; i++) psum_q[i] = psum_d[i];
      for (int i = 0; i < Pes; i++) act_d[i] = act_q[i];
      for (int i = 1; i < Pes; i++) act_q[i] = act_d[i-1];
      for (int r = 0; r < Rows; r++) act_q[r*Cols] = act_i[r*8 +: 8];
    end
    if (wave_i) begin
      for (int i = 0; i < Pes; i++) begin
        weight_q[i] = (shadow_q[i] & {8{swap_q[i]}}) | (weight_q[i] & {8{~swap_q[i]}});
      end
      for (int i = 0; i < Pes; i++) shadow_d[i] = shadow_q[i];
      for (int i = 0; i < Pes; i++) shadow_q[i] = upper_q[i];
      for (int c = 0; c < Cols; c++) upper_q[c] = weight_i[c*8 +: 8];
      for (int i = Cols; i < Pes; i++) upper_q[i] = shadow_d[i-Cols];
      for (int i = 0; i < Pes; i++) swap_d[i] = swap_q[i];
      for (int i = 1; i < Pes; i++) swap_q[i] = swap_d[i-1];
      for (int r = 0; r < Rows; r++) swap_q[r*Cols] = swap_i[r];
    end
  end
endmodule
