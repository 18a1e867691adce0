// Between the core's DRAM port (docs/reference/rtl.md) and an AXI4 manager port with a single ID.
// Bursts are INCR, at most 64 beats, and do not cross a multiple of 4 KiB; a beat narrower than the
// bus travels on the byte lanes of its address. Addresses are multiples of the beat's bytes.
// BusBytes is a power of two, 4 to 128, the widest bus of AXI4.
//
// The core's write beats cannot be stalled, so a write burst is granted only when the write buffer
// has room for MaxBeats beats. No output depends on an input of the same cycle. `error_o` rises with
// the first faulty response and stays high. The data of a response that is not OKAY passes all the
// same; a response that no burst asked for is dropped.
module qsim_axi4_shim #(
  parameter int unsigned BusBytes = 16,
  parameter int unsigned MaxBeats = 64,
  parameter int unsigned OutstandingBursts = 16
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  // The core's port.
  input  logic                              read_request_valid_i,
  output logic                              read_request_ready_o,
  input  logic [qsim_pkg::DramAddrBits-1:0] read_request_addr_i,
  input  logic [8:0]                        read_request_beats_i,
  input  logic [3:0]                        read_request_size_i,
  output logic                              read_data_valid_o,
  output logic [8*BusBytes-1:0]             read_data_o,
  input  logic                              write_request_valid_i,
  output logic                              write_request_ready_o,
  input  logic [qsim_pkg::DramAddrBits-1:0] write_request_addr_i,
  input  logic [8:0]                        write_request_beats_i,
  input  logic [3:0]                        write_request_size_i,
  input  logic                              write_data_valid_i,
  input  logic [8*BusBytes-1:0]             write_data_i,
  output logic                              write_done_o,
  // AXI4.
  output logic                              axi_arvalid_o,
  input  logic                              axi_arready_i,
  output logic [qsim_pkg::DramAddrBits-1:0] axi_araddr_o,
  output logic [7:0]                        axi_arlen_o,
  output logic [2:0]                        axi_arsize_o,
  output logic [1:0]                        axi_arburst_o,
  input  logic                              axi_rvalid_i,
  output logic                              axi_rready_o,
  input  logic [8*BusBytes-1:0]             axi_rdata_i,
  input  logic [1:0]                        axi_rresp_i,
  input  logic                              axi_rlast_i,
  output logic                              axi_awvalid_o,
  input  logic                              axi_awready_i,
  output logic [qsim_pkg::DramAddrBits-1:0] axi_awaddr_o,
  output logic [7:0]                        axi_awlen_o,
  output logic [2:0]                        axi_awsize_o,
  output logic [1:0]                        axi_awburst_o,
  output logic                              axi_wvalid_o,
  input  logic                              axi_wready_i,
  output logic [8*BusBytes-1:0]             axi_wdata_o,
  output logic [BusBytes-1:0]               axi_wstrb_o,
  output logic                              axi_wlast_o,
  input  logic                              axi_bvalid_i,
  output logic                              axi_bready_o,
  input  logic [1:0]                        axi_bresp_i,
  output logic                              error_o
);
  localparam int unsigned LaneBits = $clog2(BusBytes);
  localparam logic [1:0] BurstIncr = 2'b01;
  localparam logic [1:0] RespOkay = 2'b00;
  localparam int unsigned BufferBeats = 2 * MaxBeats;
  localparam int unsigned ReservedBits = $clog2(BufferBeats + 1);

  // Reads: requests become AR bursts; `u_read_bursts` lists the core's open bursts, whose addresses
  // say on which lanes each beat arrives.
  logic ar_full;
  logic [8:0] ar_beats;
  logic [2:0] ar_size;
  logic unused_ar_last;
  logic read_bursts_full;
  logic read_expected;
  logic unused_read_inputs;
  logic [LaneBits-1:0] read_addr;
  logic [8:0] read_beats;
  logic [2:0] read_size;
  logic [8:0] read_beat_q;
  logic [LaneBits-1:0] read_lane;
  logic read_burst_ends;
  logic read_request;
  logic read_data_valid_q;
  logic [8*BusBytes-1:0] read_data_q;

  assign read_request_ready_o = !ar_full && !read_bursts_full;
  assign read_request = read_request_valid_i && read_request_ready_o;
  assign axi_arlen_o = 8'(ar_beats - 9'd1);
  assign axi_arsize_o = ar_size;
  assign axi_arburst_o = BurstIncr;
  assign axi_rready_o = 1'b1;
  assign unused_read_inputs = axi_rlast_i ^ read_request_size_i[3];
  assign read_lane = read_addr + (LaneBits'(read_beat_q) << read_size);
  assign read_burst_ends = axi_rvalid_i && read_expected && read_beat_q == read_beats - 9'd1;
  assign read_data_valid_o = read_data_valid_q;
  assign read_data_o = read_data_q;

  qsim_axi4_bursts #(
    .Depth(2)
  ) u_ar_bursts (
    .clk_i,
    .rst_ni,
    .push_i (read_request),
    .addr_i (read_request_addr_i),
    .beats_i(read_request_beats_i),
    .size_i (read_request_size_i[2:0]),
    .full_o (ar_full),
    .next_i (axi_arvalid_o && axi_arready_i),
    .valid_o(axi_arvalid_o),
    .addr_o (axi_araddr_o),
    .beats_o(ar_beats),
    .size_o (ar_size),
    .last_o (unused_ar_last)
  );

  qsim_fifo #(
    .Width(LaneBits + 12),
    .Depth(OutstandingBursts)
  ) u_read_bursts (
    .clk_i,
    .rst_ni,
    .push_i (read_request),
    .data_i ({read_request_addr_i[LaneBits-1:0], read_request_beats_i,
                read_request_size_i[2:0]}),
    .full_o (read_bursts_full),
    .pop_i  (read_burst_ends),
    .data_o ({read_addr, read_beats, read_size}),
    .valid_o(read_expected)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_beat_q <= '0;
      read_data_valid_q <= 1'b0;
      read_data_q <= '0;
    end else begin
      read_data_valid_q <= axi_rvalid_i && read_expected;
      if (axi_rvalid_i && read_expected) begin
        read_beat_q <= read_burst_ends ? '0 : read_beat_q + 9'd1;
        read_data_q <= axi_rdata_i >> {read_lane, 3'b000};
      end
    end
  end

  // Writes: AW and W each cut the bursts for themselves, as AXI forbids one to wait for the other's
  // ready. `reserved_q` counts the beats of granted bursts that have not left on W.
  logic [ReservedBits-1:0] reserved_q;
  logic [ReservedBits-1:0] reserved_d;
  logic write_request;
  logic w_beat;
  logic aw_full;
  logic aw_valid;
  logic aw_last;
  logic aw_beat;
  logic [8:0] aw_beats;
  logic [2:0] aw_size;
  logic w_full;
  logic w_valid;
  logic w_data_valid;
  logic unused_w_last;
  logic unused_write_size;
  logic [qsim_pkg::DramAddrBits-1:LaneBits] unused_w_addr;
  logic unused_w_data_full;
  logic [LaneBits-1:0] w_addr;
  logic [8:0] w_beats;
  logic [2:0] w_size;
  logic [8:0] w_beat_q;
  logic [LaneBits-1:0] w_lane;
  logic [8*BusBytes-1:0] w_data;
  logic [BusBytes-1:0] w_bytes;
  logic responses_full;
  logic response_ends_burst;
  logic response_expected;
  logic write_done_q;

  assign write_request_ready_o =
      !aw_full && !w_full && reserved_q <= ReservedBits'(BufferBeats - MaxBeats);
  assign unused_write_size = write_request_size_i[3];
  assign write_request = write_request_valid_i && write_request_ready_o;
  // Only an AW handshake fills the list of responses, so a waiting AWVALID stays up.
  assign axi_awvalid_o = aw_valid && !responses_full;
  assign aw_beat = axi_awvalid_o && axi_awready_i;
  assign axi_awlen_o = 8'(aw_beats - 9'd1);
  assign axi_awsize_o = aw_size;
  assign axi_awburst_o = BurstIncr;
  assign axi_wvalid_o = w_valid && w_data_valid;
  assign w_beat = axi_wvalid_o && axi_wready_i;
  assign w_lane = w_addr + (LaneBits'(w_beat_q) << w_size);
  assign w_bytes = ~({BusBytes{1'b1}} << (8'd1 << w_size));
  assign axi_wdata_o = w_data << {w_lane, 3'b000};
  assign axi_wstrb_o = w_bytes << w_lane;
  assign axi_wlast_o = w_beat_q == w_beats - 9'd1;
  assign axi_bready_o = 1'b1;
  assign write_done_o = write_done_q;

  qsim_axi4_bursts #(
    .Depth(2)
  ) u_aw_bursts (
    .clk_i,
    .rst_ni,
    .push_i (write_request),
    .addr_i (write_request_addr_i),
    .beats_i(write_request_beats_i),
    .size_i (write_request_size_i[2:0]),
    .full_o (aw_full),
    .next_i (aw_beat),
    .valid_o(aw_valid),
    .addr_o (axi_awaddr_o),
    .beats_o(aw_beats),
    .size_o (aw_size),
    .last_o (aw_last)
  );

  qsim_axi4_bursts #(
    .Depth(OutstandingBursts)
  ) u_w_bursts (
    .clk_i,
    .rst_ni,
    .push_i (write_request),
    .addr_i (write_request_addr_i),
    .beats_i(write_request_beats_i),
    .size_i (write_request_size_i[2:0]),
    .full_o (w_full),
    .next_i (w_beat && axi_wlast_o),
    .valid_o(w_valid),
    .addr_o ({unused_w_addr, w_addr}),
    .beats_o(w_beats),
    .size_o (w_size),
    .last_o (unused_w_last)
  );

  qsim_fifo #(
    .Width(8 * BusBytes),
    .Depth(BufferBeats)
  ) u_w_data (
    .clk_i,
    .rst_ni,
    .push_i (write_data_valid_i),
    .data_i (write_data_i),
    .full_o (unused_w_data_full),
    .pop_i  (w_beat),
    .data_o (w_data),
    .valid_o(w_data_valid)
  );

  // One bit for each AXI write burst without a response: it is the last of a core burst.
  qsim_fifo #(
    .Width(1),
    .Depth(2 * OutstandingBursts)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .push_i (aw_beat),
    .data_i (aw_last),
    .full_o (responses_full),
    .pop_i  (axi_bvalid_i && response_expected),
    .data_o (response_ends_burst),
    .valid_o(response_expected)
  );

  always_comb begin
    reserved_d = reserved_q;
    if (write_request) reserved_d = reserved_d + ReservedBits'(write_request_beats_i);
    if (w_beat) reserved_d = reserved_d - 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reserved_q <= '0;
      w_beat_q <= '0;
      write_done_q <= 1'b0;
    end else begin
      reserved_q <= reserved_d;
      if (w_beat) w_beat_q <= axi_wlast_o ? '0 : w_beat_q + 9'd1;
      write_done_q <= axi_bvalid_i && response_expected && response_ends_burst;
    end
  end

  logic error_q;
  assign error_o = error_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      error_q <= 1'b0;
    end else if ((axi_rvalid_i && (axi_rresp_i != RespOkay || !read_expected)) ||
                 (axi_bvalid_i && (axi_bresp_i != RespOkay || !response_expected))) begin
      error_q <= 1'b1;
    end
  end
endmodule
