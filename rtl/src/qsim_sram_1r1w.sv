// A memory with one read and one write port. `read_data_o` has the word read from the cycle after
// `read_i` until the cycle after the next. A word is undefined until written; reading the address
// that is written in the same cycle is the caller's bug.
module qsim_sram_1r1w #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 2,
  parameter int unsigned AddrWidth = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                 clk_i,
  input  logic                 read_i,
  input  logic [AddrWidth-1:0] read_addr_i,
  output logic [Width-1:0]     read_data_o,
  input  logic                 write_i,
  input  logic [AddrWidth-1:0] write_addr_i,
  input  logic [Width-1:0]     write_data_i
);
  logic [Width-1:0] memory_q [Depth];
  logic [Width-1:0] read_data_q;

  assign read_data_o = read_data_q;

  always_ff @(posedge clk_i) begin
    if (read_i) read_data_q <= memory_q[read_addr_i];
    if (write_i) memory_q[write_addr_i] <= write_data_i;
  end
endmodule
