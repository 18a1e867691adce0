// From the array to the accumulator: delays each pixel's accumulator address by the time its
// activations and psums take through the array, then reads, adds and writes back.
//
// A pixel whose address is here in cycle t has its psums in `psum_i` in cycle t + R + C + 3; the read
// is one cycle before, the write one after. The word that the preceding pixels update may be the
// same one (two commands back to back on overlapping tiles): the sum of the pixel before and of the
// one before that are taken from registers, since the memory does not have them yet.
module qsim_accumulate #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned AccAddrBits = 9,
  parameter int unsigned PsumBits = 20,
  parameter int unsigned LaneBits = 4
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     pixel_valid_i,
  input  logic                     last_i,
  input  logic                     overwrite_i,
  input  logic                     half_i,
  input  logic [AccAddrBits-1:0]   addr_i,
  input  logic [LaneBits-1:0]      lane_i,
  output logic [LaneBits-1:0]      lane_o,           // one cycle before the psums of its pixel
  input  logic [PsumBits*Cols-1:0] psum_i,

  output logic                     acc_read_o,
  output logic                     acc_read_half_o,
  output logic [AccAddrBits-1:0]   acc_read_addr_o,
  input  logic [32*Cols-1:0]       acc_read_data_i,  // of the half read in the cycle before
  output logic                     acc_write_o,
  output logic                     acc_write_half_o,
  output logic [AccAddrBits-1:0]   acc_write_addr_o,
  output logic [32*Cols-1:0]       acc_write_data_o,
  output logic                     done_o            // of the command whose last cycle came out
);
  localparam int unsigned Delay = Rows + Cols + 2;
  localparam int unsigned WordBits = LaneBits + AccAddrBits + 2;
  localparam int unsigned SlotBits = $clog2(Delay);

  // The delay. Valid and last travel in shift registers, the rest in a ring of Delay - 1 words that
  // a pointer goes round: a word is read when the pointer comes back to it.
  logic [Delay-1:0] valid_q, last_q;
  logic [WordBits-1:0] ring_q [Delay-1];
  logic [WordBits-1:0] word_q;
  logic [SlotBits-1:0] slot_q;
  logic read_valid, read_overwrite, under_way;

  assign under_way = pixel_valid_i || last_i || valid_q != '0 || last_q != '0;
  assign read_valid = valid_q[Delay-1];
  assign {lane_o, read_overwrite, acc_read_half_o, acc_read_addr_o} = word_q;

  always_ff @(posedge clk_i) begin
    if (under_way) begin
      word_q <= ring_q[slot_q];
      ring_q[slot_q] <= {lane_i, overwrite_i, half_i, addr_i};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      last_q <= '0;
      slot_q <= '0;
    end else if (under_way) begin
      valid_q <= {valid_q[Delay-2:0], pixel_valid_i};
      last_q <= {last_q[Delay-2:0], last_i};
      slot_q <= slot_q == SlotBits'(Delay - 2) ? '0 : slot_q + SlotBits'(1);
    end
  end

  // Add and write.
  logic add_valid_q, add_last_q, add_overwrite_q, add_half_q;
  logic [AccAddrBits-1:0] add_addr_q;
  logic write_valid_q, write_last_q, write_half_q;
  logic [AccAddrBits-1:0] write_addr_q;
  logic [32*Cols-1:0] sum_q, earlier_sum_q, base;
  logic from_sum, from_earlier_q;
  logic clash;

  assign clash = write_valid_q && write_half_q == acc_read_half_o && write_addr_q == acc_read_addr_o;
  assign acc_read_o = read_valid && !read_overwrite && !clash;
  assign from_sum = write_valid_q && write_half_q == add_half_q && write_addr_q == add_addr_q;

  always_ff @(posedge clk_i) begin
    if (read_valid) begin
      add_overwrite_q <= read_overwrite;
      add_half_q <= acc_read_half_o;
      add_addr_q <= acc_read_addr_o;
      from_earlier_q <= clash;
      if (clash) earlier_sum_q <= sum_q;
    end
    if (add_valid_q) begin
      if (add_overwrite_q) base = '0;
      else if (from_sum) base = sum_q;
      else if (from_earlier_q) base = earlier_sum_q;
      else base = acc_read_data_i;
      for (int c = 0; c < Cols; c++) begin
        sum_q[c*32 +: 32] <= base[c*32 +: 32] + 32'($signed(psum_i[c*PsumBits +: PsumBits]));
      end
      write_half_q <= add_half_q;
      write_addr_q <= add_addr_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      add_valid_q <= 1'b0;
      add_last_q <= 1'b0;
      write_valid_q <= 1'b0;
      write_last_q <= 1'b0;
    end else begin
      add_valid_q <= read_valid;
      add_last_q <= last_q[Delay-1];
      write_valid_q <= add_valid_q;
      write_last_q <= add_last_q;
    end
  end

  assign acc_write_o = write_valid_q;
  assign acc_write_half_o = write_half_q;
  assign acc_write_addr_o = write_addr_q;
  assign acc_write_data_o = sum_q;
  assign done_o = write_last_q;
endmodule
