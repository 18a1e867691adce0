// As one_shadow.sv, but with next-state arrays and whole-array non-blocking assignments. The array
// alone: no skews.
module array_copies #(
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
  logic [7:0] weight_q [Pes], weight_d [Pes];
  logic [7:0] shadow_q [Pes], shadow_d [Pes];
  logic shift_q [Pes], shift_d [Pes];
  logic swap_q [Pes], swap_d [Pes];

  always_comb begin
    for (int i = 1; i < Pes; i++) act_d[i] = act_q[i-1];
    for (int r = 0; r < Rows; r++) act_d[r*Cols] = act_i[r*8 +: 8];
  end
  always_comb begin
    for (int c = 0; c < Cols; c++) psum_d[c] = PsumBits'(act_q[c]) * PsumBits'($signed(weight_q[c]));
    for (int i = Cols; i < Pes; i++) begin
      psum_d[i] = psum_q[i-Cols] + PsumBits'(act_q[i]) * PsumBits'($signed(weight_q[i]));
    end
  end
  always_comb begin
    for (int i = 0; i < Pes; i++) weight_d[i] = swap_q[i] ? shadow_q[i] : weight_q[i];
  end
  always_comb begin
    for (int c = 0; c < Cols; c++) shadow_d[c] = shift_q[c] ? weight_i[c*8 +: 8] : shadow_q[c];
    for (int i = Cols; i < Pes; i++) shadow_d[i] = shift_q[i] ? shadow_q[i-Cols] : shadow_q[i];
  end
  always_comb begin
    for (int i = 1; i < Pes; i++) shift_d[i] = shift_q[i-1];
    for (int r = 0; r < Rows; r++) shift_d[r*Cols] = shift_i[r];
  end
  always_comb begin
    for (int i = 1; i < Pes; i++) swap_d[i] = swap_q[i-1];
    for (int r = 0; r < Rows; r++) swap_d[r*Cols] = swap_i[r];
  end
  always_ff @(posedge clk_i) begin
    if (flow_i) begin
      act_q <= act_d;
      psum_q <= psum_d;
    end
    if (wave_i) begin
      weight_q <= weight_d;
      shadow_q <= shadow_d;
      shift_q <= shift_d;
      swap_q <= swap_d;
    end
  end
  for (genvar c = 0; c < Cols; c++) begin : gen_psum
    assign psum_o[c*PsumBits +: PsumBits] = psum_q[(Rows-1)*Cols+c];
  end
endmodule
