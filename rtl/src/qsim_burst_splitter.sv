// The next burst of a run of beats: as many beats as remain, at most MaxBeats, and not across a
// multiple of BoundaryBytes (a power of two; 0: no such rule). It is combinational; the caller feeds
// `next_addr_o` and `next_beats_o` back until `last_o`.
//
// `beats_i` >= 1; a beat has 2^size_i bytes, `addr_i` is a multiple of them, and they are at most
// BoundaryBytes. BeatsWidth >= 9; 1 <= MaxBeats <= 256.
module qsim_burst_splitter #(
  parameter int unsigned AddrWidth = qsim_pkg::DramAddrBits,
  parameter int unsigned BeatsWidth = qsim_pkg::LoadRunBytesWidth + 1,
  parameter int unsigned MaxBeats = 64,
  parameter int unsigned BoundaryBytes = 0
) (
  input  logic [AddrWidth-1:0]  addr_i,
  input  logic [BeatsWidth-1:0] beats_i,
  input  logic [3:0]            size_i,
  output logic [8:0]            burst_beats_o,
  output logic                  last_o,
  output logic [AddrWidth-1:0]  next_addr_o,
  output logic [BeatsWidth-1:0] next_beats_o
);
  logic [8:0] allowed;

  generate
    if (BoundaryBytes == 0) begin : gen_no_boundary
      assign allowed = 9'(MaxBeats);
    end else begin : gen_boundary
      localparam int unsigned OffsetBits = $clog2(BoundaryBytes);
      logic [OffsetBits:0] to_boundary;
      assign to_boundary =
          ((OffsetBits + 1)'(BoundaryBytes) - {1'b0, addr_i[OffsetBits-1:0]}) >> size_i;
      assign allowed = 32'(to_boundary) < MaxBeats ? 9'(to_boundary) : 9'(MaxBeats);
    end
  endgenerate

  assign last_o = beats_i <= BeatsWidth'(allowed);
  assign burst_beats_o = last_o ? 9'(beats_i) : allowed;
  assign next_addr_o = addr_i + (AddrWidth'(burst_beats_o) << size_i);
  assign next_beats_o = beats_i - BeatsWidth'(burst_beats_o);
endmodule
