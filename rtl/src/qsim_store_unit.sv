// The store unit: writes consecutive output scratchpad words to runs of DRAM bytes. Beat k of a burst
// issued in cycle i is on the port in cycle i + 1 + k. A command is done with the write response of its
// last burst.
module qsim_store_unit #(
  parameter int unsigned Cols = 16,
  parameter int unsigned OutAddrBits = 10,
  parameter int unsigned BusBytes = 16,
  parameter int unsigned BurstBeats = 64,
  parameter int unsigned OutstandingBursts = 16
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  qsim_pkg::store_t                  command_i,
  output logic                              ready_o,
  output logic                              done_o,
  output logic [qsim_pkg::Semaphores-1:0]   done_mask_o,
  output logic                              idle_o,

  output logic                              request_valid_o,
  input  logic                              request_ready_i,
  output logic [qsim_pkg::DramAddrBits-1:0] request_addr_o,
  output logic [8:0]                        request_beats_o,
  output logic [3:0]                        request_size_o,
  output logic                              data_valid_o,
  output logic [8*BusBytes-1:0]             data_o,
  input  logic                              write_done_i,

  output logic                              out_read_o,
  output logic [OutAddrBits-1:0]            out_read_addr_o,
  input  logic [8*Cols-1:0]                 out_read_data_i
);
  localparam int unsigned BeatBytes = Cols < BusBytes ? Cols : BusBytes;
  localparam int unsigned Parts = Cols / BeatBytes;
  localparam int unsigned PartBits = Parts > 1 ? $clog2(Parts) : 1;

  logic issue, issue_last, streaming, bursts_full, bursts_valid, burst_last, masks_full, masks_valid;

  qsim_burst_walker #(
    .BurstBeats(BurstBeats)
  ) u_walker (
    .clk_i,
    .rst_ni,
    .start_i,
    .dram_addr_i(command_i.dram_addr),
    .run_bytes_i(command_i.run_bytes),
    .runs_i(command_i.runs),
    .run_stride_i(command_i.run_stride),
    .groups_i(command_i.groups),
    .group_stride_i(command_i.group_stride),
    .size_i(4'($clog2(BeatBytes))),
    .room_i(!bursts_full),
    .ready_o,
    .request_valid_o,
    .request_ready_i,
    .request_addr_o,
    .request_beats_o,
    .request_size_o,
    .issue_o(issue),
    .issue_last_o(issue_last),
    .streaming_o(streaming)
  );

  // The word under the next beat, and which part of it.
  logic [OutAddrBits-1:0] addr_q;
  logic [PartBits-1:0] part_q, part, read_part_q;

  assign out_read_addr_o = start_i ? OutAddrBits'(command_i.out_addr) : addr_q;
  assign part = start_i ? '0 : part_q;
  assign out_read_o = streaming && part == '0;

  always_ff @(posedge clk_i) begin
    if (start_i || streaming) begin
      addr_q <= streaming && part == PartBits'(Parts - 1) ? out_read_addr_o + OutAddrBits'(1) : out_read_addr_o;
      part_q <= !streaming ? part : part == PartBits'(Parts - 1) ? '0 : part + PartBits'(1);
    end
    if (streaming) read_part_q <= part;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) data_valid_o <= 1'b0;
    else data_valid_o <= streaming;
  end

  generate
    if (Parts > 1) begin : gen_parts
      assign data_o = out_read_data_i[8*BusBytes*32'(read_part_q) +: 8*BusBytes];
    end else if (Cols < BusBytes) begin : gen_narrow
      assign data_o = {{8*(BusBytes-Cols){1'b0}}, out_read_data_i};
    end else begin : gen_word
      assign data_o = out_read_data_i;
    end
  endgenerate

  // Write responses: open bursts, and the commands they belong to.
  qsim_fifo #(
    .Width(1),
    .Depth(OutstandingBursts)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .push_i(issue),
    .data_i(issue_last),
    .full_o(bursts_full),
    .pop_i(write_done_i),
    .data_o(burst_last),
    .valid_o(bursts_valid)
  );

  qsim_fifo #(
    .Width(qsim_pkg::SignalMaskWidth),
    .Depth(OutstandingBursts + 1)
  ) u_masks (
    .clk_i,
    .rst_ni,
    .push_i(start_i),
    .data_i(command_i.signal_mask),
    .full_o(masks_full),
    .pop_i(done_o),
    .data_o(done_mask_o),
    .valid_o(masks_valid)
  );

  assign done_o = write_done_i && burst_last;
  assign idle_o = !masks_valid;

  // Seen by the bound assertions alone; and the part where a word is one beat.
  // verilator lint_off UNUSEDSIGNAL
  logic unused;
  assign unused = bursts_valid ^ masks_full ^ (^read_part_q);
  // verilator lint_on UNUSEDSIGNAL
endmodule
