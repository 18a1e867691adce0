// Proof that qsim_burst_splitter, fed back as its contract says, cuts a run into legal bursts that
// follow each other and together are the run: for all addresses and lengths. prove.sh takes each
// size apart, which leaves the solver no shifter to reason about.
module burst_splitter #(
  parameter int unsigned AddrWidth = qsim_pkg::DramAddrBits,
  parameter int unsigned BeatsWidth = qsim_pkg::LoadRunBytesWidth + 1,
  parameter int unsigned MaxBeats = 64,
  parameter int unsigned BoundaryBytes = 4096,
  parameter int unsigned Size = 0
) (
  input logic clk_i
);
  localparam logic [63:0] Boundary = BoundaryBytes;
  localparam logic [63:0] Max = MaxBeats;

  (* anyconst *) wire [AddrWidth-1:0] run_addr;
  (* anyconst *) wire [BeatsWidth-1:0] run_beats;
  wire [63:0] bytes_of_run = {{(64 - BeatsWidth){1'b0}}, run_beats} << Size;

  logic first_q = 1'b1;
  logic ended_q = 1'b0;
  logic [AddrWidth-1:0] addr_q;
  logic [BeatsWidth-1:0] beats_q;
  logic [63:0] done_beats_q;   // of the bursts so far
  logic [7:0] bursts_q = '0;   // saturates
  logic cut_q = 1'b0;          // one of them ended early, at a boundary

  wire [AddrWidth-1:0] addr = first_q ? run_addr : addr_q;
  wire [BeatsWidth-1:0] beats = first_q ? run_beats : beats_q;
  wire [63:0] done_beats = first_q ? 64'd0 : done_beats_q;
  logic [8:0] burst_beats;
  logic last;
  logic [AddrWidth-1:0] next_addr;
  logic [BeatsWidth-1:0] next_beats;

  qsim_burst_splitter #(
    .AddrWidth(AddrWidth),
    .BeatsWidth(BeatsWidth),
    .MaxBeats(MaxBeats),
    .BoundaryBytes(BoundaryBytes)
  ) dut (
    .addr_i       (addr),
    .beats_i      (beats),
    .size_i       (4'(Size)),
    .burst_beats_o(burst_beats),
    .last_o       (last),
    .next_addr_o  (next_addr),
    .next_beats_o (next_beats)
  );

  wire [63:0] addr_wide = {{(64 - AddrWidth){1'b0}}, addr};
  wire [63:0] run_addr_wide = {{(64 - AddrWidth){1'b0}}, run_addr};
  wire [63:0] beats_wide = {{(64 - BeatsWidth){1'b0}}, beats};
  wire [63:0] burst_wide = {55'b0, burst_beats};
  wire [63:0] burst_end = addr_wide + (burst_wide << Size);
  wire ends_at_boundary = BoundaryBytes != 0 && (burst_end & (Boundary - 64'd1)) == 64'd0;

  always_ff @(posedge clk_i) begin
    first_q <= 1'b0;
    ended_q <= ended_q || last;
    addr_q <= next_addr;
    beats_q <= next_beats;
    done_beats_q <= done_beats + burst_wide;
    cut_q <= cut_q || (burst_wide < Max && !last);
    if (bursts_q != 8'hff) bursts_q <= bursts_q + 8'd1;
  end

  always_comb begin
    // The contract: at least a beat, aligned, inside the address space.
    assume (run_beats != 0);
    assume ((run_addr_wide & ((64'd1 << Size) - 64'd1)) == 64'd0);
    assume (run_addr_wide + bytes_of_run <= 64'd1 << AddrWidth);
    if (!ended_q) begin
      assert (burst_wide >= 64'd1 && burst_wide <= Max && burst_wide <= beats_wide);
      if (BoundaryBytes != 0) begin
        assert ((addr_wide & (Boundary - 64'd1)) + (burst_wide << Size) <= Boundary);
      end
      assert (last == (done_beats + burst_wide == {{(64 - BeatsWidth){1'b0}}, run_beats}));
      // No shorter than the rules make it.
      assert (last || burst_wide == Max || ends_at_boundary);
      // The bursts follow each other; also what induction needs.
      assert (done_beats + beats_wide == {{(64 - BeatsWidth){1'b0}}, run_beats});
      assert (addr_wide == run_addr_wide + (done_beats << Size));
      assert (beats_wide != 64'd0);
      cover (last && bursts_q == 8'd3);
      cover (last && bursts_q == 8'd2 && burst_wide == 64'd1);
      if (BoundaryBytes == 0 || Max << Size <= Boundary) cover (burst_wide == Max && !last);
      if (BoundaryBytes != 0) cover (cut_q && last && bursts_q == 8'd2 && burst_wide > 64'd1);
      cover (last && burst_end == 64'd1 << AddrWidth);
    end
  end
endmodule
