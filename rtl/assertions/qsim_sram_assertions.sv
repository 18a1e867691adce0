// Bound to every qsim_sram_1r1w: no word is read in the cycle that writes it, and no address lies
// beyond the memory.
module qsim_sram_assertions #(
  parameter int unsigned AddrWidth = 1,
  parameter int unsigned Depth = 2
) (
  input logic                 clk_i,
  input logic                 read_i,
  input logic [AddrWidth-1:0] read_addr_i,
  input logic                 write_i,
  input logic [AddrWidth-1:0] write_addr_i
);
  no_clash: assert property (@(posedge clk_i) read_i && write_i |-> read_addr_i != write_addr_i)
    else $error("%m: word %0d is read and written", read_addr_i);
  read_in_range: assert property (@(posedge clk_i) read_i |-> 64'(read_addr_i) < 64'(Depth))
    else $error("%m: word %0d is read; there are %0d", read_addr_i, Depth);
  write_in_range: assert property (@(posedge clk_i) write_i |-> 64'(write_addr_i) < 64'(Depth))
    else $error("%m: word %0d is written; there are %0d", write_addr_i, Depth);
endmodule

bind qsim_sram_1r1w qsim_sram_assertions #(
  .AddrWidth(AddrWidth),
  .Depth(Depth)
) u_assertions (
  .clk_i(clk_i),
  .read_i(read_i),
  .read_addr_i(read_addr_i),
  .write_i(write_i),
  .write_addr_i(write_addr_i)
);
