// Properties of qsim_fifo, in its scope: the count is that of a plain counter, and an entry chosen
// at will among all that are ever pushed comes out unchanged, after exactly those before it.
localparam int unsigned IntDepth = Depth;
(* anyseq *) wire choose;
logic [31:0] entries_q = '0;    // the plain counter
logic watching_q = 1'b0;        // an entry has been chosen and is inside
logic watched_q = 1'b0;         // one has come out
logic [31:0] ahead_q = '0;      // entries in front of it
logic [Width-1:0] value_q = '0;
logic was_full_q = 1'b0;
logic in_reset_q = 1'b1;

wire pushed = push_i && entries_q < IntDepth;
wire popped = pop_i && entries_q > 0;
wire [31:0] read_place = 32'(read_pointer_q);
wire [31:0] watched_place =
    read_place + ahead_q < IntDepth ? read_place + ahead_q : read_place + ahead_q - IntDepth;
wire [31:0] end_place =
    read_place + entries_q < IntDepth ? read_place + entries_q : read_place + entries_q - IntDepth;

always_ff @(posedge clk_i or negedge rst_ni) begin
  if (!rst_ni) begin
    entries_q <= '0;
    watching_q <= 1'b0;
    watched_q <= 1'b0;
    ahead_q <= '0;
    was_full_q <= 1'b0;
  end else begin
    entries_q <= entries_q + 32'(pushed) - 32'(popped);
    was_full_q <= was_full_q || full_o;
    if (watching_q && popped) begin
      watching_q <= ahead_q != 0;
      watched_q <= ahead_q == 0;
      ahead_q <= ahead_q - 1;
    end else if (!watching_q && pushed && choose) begin
      watching_q <= 1'b1;
      ahead_q <= entries_q - 32'(popped);
      value_q <= data_i;
    end
  end
end

always_ff @(posedge clk_i) in_reset_q <= 1'b0;

always_comb begin
  if (in_reset_q) assume (!rst_ni);
  if (rst_ni) begin
    assert (full_o == (entries_q == IntDepth));
    assert (valid_o == (entries_q != 0));
    if (watching_q && ahead_q == 0) assert (valid_o && data_o == value_q);
    // What induction needs of the registers.
    assert (entries_q <= IntDepth && 32'(count_q) == entries_q);
    assert (read_place < IntDepth && 32'(write_pointer_q) == end_place);
    if (watching_q) assert (ahead_q < entries_q && storage_q[watched_place] == value_q);
    // Filled and emptied again; the chosen entry crossed the end of the storage and came out.
    cover (was_full_q && !valid_o);
    cover (watching_q && watched_q && was_full_q && value_q != 0);
    cover (watching_q && ahead_q + 1 == entries_q && full_o &&
           read_place + ahead_q >= IntDepth - 1);
    cover (push_i && full_o && pop_i);
    cover (pop_i && !valid_o && push_i);
  end
end
