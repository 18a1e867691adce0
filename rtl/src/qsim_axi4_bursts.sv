// Cuts the core's bursts, in order, into AXI4 INCR bursts of at most 64 beats that do not cross a
// multiple of 4 KiB. A core burst pushed while `full_o` is low becomes one or more AXI bursts. The
// oldest AXI burst is at the outputs while `valid_o` is high; `next_i` takes it.
module qsim_axi4_bursts #(
  parameter int unsigned Depth = 2
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              push_i,
  input  logic [qsim_pkg::DramAddrBits-1:0] addr_i,
  input  logic [8:0]                        beats_i,
  input  logic [2:0]                        size_i,
  output logic                              full_o,
  input  logic                              next_i,
  output logic                              valid_o,
  output logic [qsim_pkg::DramAddrBits-1:0] addr_o,
  output logic [8:0]                        beats_o,
  output logic [2:0]                        size_o,
  output logic                              last_o
);
  logic [qsim_pkg::DramAddrBits-1:0] oldest_addr;
  logic [8:0] oldest_beats;
  // What the AXI bursts so far have left of the oldest core burst, if there were any.
  logic begun_q;
  logic [qsim_pkg::DramAddrBits-1:0] addr_q;
  logic [8:0] beats_q;
  logic [8:0] beats;
  logic [qsim_pkg::DramAddrBits-1:0] next_addr;
  logic [8:0] next_beats;

  qsim_fifo #(
    .Width(44),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .push_i,
    .data_i ({addr_i, beats_i, size_i}),
    .full_o,
    .pop_i  (next_i && last_o),
    .data_o ({oldest_addr, oldest_beats, size_o}),
    .valid_o
  );

  assign addr_o = begun_q ? addr_q : oldest_addr;
  assign beats = begun_q ? beats_q : oldest_beats;

  qsim_burst_splitter #(
    .AddrWidth(qsim_pkg::DramAddrBits),
    .BeatsWidth(9),
    .MaxBeats(64),
    .BoundaryBytes(4096)
  ) u_splitter (
    .addr_i       (addr_o),
    .beats_i      (beats),
    .size_i       ({1'b0, size_o}),
    .burst_beats_o(beats_o),
    .last_o,
    .next_addr_o  (next_addr),
    .next_beats_o (next_beats)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      addr_q <= '0;
      beats_q <= '0;
    end else if (next_i) begin
      begun_q <= !last_o;
      addr_q <= next_addr;
      beats_q <= next_beats;
    end
  end
endmodule
