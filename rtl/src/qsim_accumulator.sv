// The accumulator: two halves, each a memory of its own with one read and one write port. EXECUTE
// reads and writes, POST reads; the tokens keep them in different halves.
module qsim_accumulator #(
  parameter int unsigned Cols = 16,
  parameter int unsigned HalfWords = 512,
  parameter int unsigned AddrBits = 9
) (
  input  logic                clk_i,
  input  logic                execute_read_i,
  input  logic                execute_read_half_i,
  input  logic [AddrBits-1:0] execute_read_addr_i,
  output logic [32*Cols-1:0]  execute_read_data_o,
  input  logic                execute_write_i,
  input  logic                execute_write_half_i,
  input  logic [AddrBits-1:0] execute_write_addr_i,
  input  logic [32*Cols-1:0]  execute_write_data_i,
  input  logic                post_read_i,
  input  logic                post_read_half_i,
  input  logic [AddrBits-1:0] post_read_addr_i,
  output logic [32*Cols-1:0]  post_read_data_o
);
  logic execute_half_q, post_half_q;
  logic [32*Cols-1:0] data_0, data_1;

  always_ff @(posedge clk_i) begin
    if (execute_read_i) execute_half_q <= execute_read_half_i;
    if (post_read_i) post_half_q <= post_read_half_i;
  end

  assign execute_read_data_o = execute_half_q ? data_1 : data_0;
  assign post_read_data_o = post_half_q ? data_1 : data_0;

  qsim_sram_1r1w #(
    .Width(32 * Cols),
    .Depth(HalfWords)
  ) u_half_0 (
    .clk_i,
    .read_i((execute_read_i && !execute_read_half_i) || (post_read_i && !post_read_half_i)),
    .read_addr_i(execute_read_i && !execute_read_half_i ? execute_read_addr_i : post_read_addr_i),
    .read_data_o(data_0),
    .write_i(execute_write_i && !execute_write_half_i),
    .write_addr_i(execute_write_addr_i),
    .write_data_i(execute_write_data_i)
  );

  qsim_sram_1r1w #(
    .Width(32 * Cols),
    .Depth(HalfWords)
  ) u_half_1 (
    .clk_i,
    .read_i((execute_read_i && execute_read_half_i) || (post_read_i && post_read_half_i)),
    .read_addr_i(execute_read_i && execute_read_half_i ? execute_read_addr_i : post_read_addr_i),
    .read_data_o(data_1),
    .write_i(execute_write_i && execute_write_half_i),
    .write_addr_i(execute_write_addr_i),
    .write_data_i(execute_write_data_i)
  );
endmodule
