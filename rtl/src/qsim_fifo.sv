// A first-in first-out queue of `Depth` entries, any Depth >= 1. `data_o` is the oldest entry while
// `valid_o`; an entry is visible from the cycle after its push. No output depends on an input of
// the same cycle. A push while full or a pop while empty is the caller's bug and changes nothing.
module qsim_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             push_i,
  input  logic [Width-1:0] data_i,
  output logic             full_o,
  input  logic             pop_i,
  output logic [Width-1:0] data_o,
  output logic             valid_o
);
  localparam int unsigned PointerBits = Depth > 1 ? $clog2(Depth) : 1;
  localparam int unsigned CountBits = $clog2(Depth + 1);
  localparam logic [PointerBits-1:0] LastEntry = PointerBits'(Depth - 1);
  localparam logic [CountBits-1:0] FullCount = CountBits'(Depth);

  logic [Width-1:0] storage_q [Depth];
  logic [PointerBits-1:0] write_pointer_q;
  logic [PointerBits-1:0] read_pointer_q;
  logic [CountBits-1:0] count_q;
  logic push;
  logic pop;

  assign full_o = count_q == FullCount;
  assign valid_o = count_q != '0;
  assign data_o = storage_q[read_pointer_q];
  assign push = push_i && !full_o;
  assign pop = pop_i && valid_o;

  always_ff @(posedge clk_i) begin
    if (push) storage_q[write_pointer_q] <= data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_pointer_q <= '0;
      read_pointer_q <= '0;
      count_q <= '0;
    end else begin
      if (push) write_pointer_q <= write_pointer_q == LastEntry ? '0 : write_pointer_q + 1'b1;
      if (pop) read_pointer_q <= read_pointer_q == LastEntry ? '0 : read_pointer_q + 1'b1;
      if (push && !pop) count_q <= count_q + 1'b1;
      if (pop && !push) count_q <= count_q - 1'b1;
    end
  end
endmodule
