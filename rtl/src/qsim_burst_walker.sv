// The DRAM side of LOAD and STORE: walks `groups` x `runs` runs of `run_bytes` bytes and requests
// their bursts. A command's first burst is requested in the cycle in which it starts. A burst of b
// beats holds the port for b cycles, so the next request comes b cycles after the one before was
// issued, and the unit is ready for its next command b cycles after the last one was.
module qsim_burst_walker #(
  parameter int unsigned BurstBeats = 64
) (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  input  logic                                      start_i,
  // The command's fields, read in the cycle of start_i alone. LOAD and STORE have the same.
  input  logic [qsim_pkg::DramAddrBits-1:0]         dram_addr_i,
  input  logic [qsim_pkg::LoadRunBytesWidth-1:0]    run_bytes_i,
  input  logic [qsim_pkg::LoadRunsWidth-1:0]        runs_i,
  input  logic [qsim_pkg::LoadRunStrideWidth-1:0]   run_stride_i,
  input  logic [qsim_pkg::LoadGroupsWidth-1:0]      groups_i,
  input  logic [qsim_pkg::LoadGroupStrideWidth-1:0] group_stride_i,
  input  logic [3:0]                                size_i,        // log2 of the bytes of a beat
  input  logic                                      room_i,        // one more burst may be open
  output logic                                      ready_o,       // may start in this cycle

  output logic                                      request_valid_o,
  input  logic                                      request_ready_i,
  output logic [qsim_pkg::DramAddrBits-1:0]         request_addr_o,
  output logic [8:0]                                request_beats_o,
  output logic [3:0]                                request_size_o,
  output logic                                      issue_o,       // a burst is issued in this cycle
  output logic                                      issue_last_o,  // it is the command's last
  output logic                                      streaming_o    // an issued burst has a beat in this cycle
);
  localparam int unsigned AddrBits = qsim_pkg::DramAddrBits;
  localparam int unsigned BeatsBits = qsim_pkg::LoadRunBytesWidth + 1;

  logic requesting_q;
  logic [8:0] beats_to_come_q;

  logic [AddrBits-1:0] addr_q, run_addr_q, group_addr_q;
  logic [BeatsBits-1:0] beats_q, run_beats_q;
  logic [qsim_pkg::LoadRunsWidth-1:0] runs_q, runs_left_q;
  logic [qsim_pkg::LoadGroupsWidth-1:0] groups_left_q;
  logic [qsim_pkg::LoadRunStrideWidth-1:0] run_stride_q;
  logic [qsim_pkg::LoadGroupStrideWidth-1:0] group_stride_q;
  logic [3:0] size_q;

  // The request's place: the command's first burst, or where the walk is.
  logic [AddrBits-1:0] addr, next_addr, run_addr, group_addr, next_run_addr, next_group_addr;
  logic [BeatsBits-1:0] beats, next_beats, start_beats, run_beats;
  logic [qsim_pkg::LoadRunsWidth-1:0] runs, runs_left;
  logic [qsim_pkg::LoadGroupsWidth-1:0] groups_left;
  logic [qsim_pkg::LoadRunStrideWidth-1:0] run_stride;
  logic [qsim_pkg::LoadGroupStrideWidth-1:0] group_stride;
  logic run_end, group_end, command_end;

  assign start_beats = (BeatsBits'(run_bytes_i) + (BeatsBits'(1) << size_i) - BeatsBits'(1)) >> size_i;
  assign addr = start_i ? dram_addr_i : addr_q;
  assign beats = start_i ? start_beats : beats_q;
  assign request_size_o = start_i ? size_i : size_q;
  assign runs_left = start_i ? runs_i - 1'b1 : runs_left_q;
  assign groups_left = start_i ? groups_i - 1'b1 : groups_left_q;

  qsim_burst_splitter #(
    .AddrWidth(AddrBits),
    .BeatsWidth(BeatsBits),
    .MaxBeats(BurstBeats)
  ) u_splitter (
    .addr_i(addr),
    .beats_i(beats),
    .size_i(request_size_o),
    .burst_beats_o(request_beats_o),
    .last_o(run_end),
    .next_addr_o(next_addr),
    .next_beats_o(next_beats)
  );

  assign group_end = run_end && runs_left == '0;
  assign command_end = group_end && groups_left == '0;
  assign ready_o = !requesting_q && beats_to_come_q == '0;
  assign request_valid_o = (start_i || (requesting_q && beats_to_come_q == '0)) && room_i;
  assign request_addr_o = addr;
  assign issue_o = request_valid_o && request_ready_i;
  assign issue_last_o = command_end;
  assign streaming_o = issue_o || beats_to_come_q != '0;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      run_beats_q <= start_beats;
      runs_q <= runs_i;
      run_stride_q <= run_stride_i;
      group_stride_q <= group_stride_i;
      size_q <= size_i;
    end
    if (start_i || issue_o) begin
      run_beats = start_i ? start_beats : run_beats_q;
      runs = start_i ? runs_i : runs_q;
      run_stride = start_i ? run_stride_i : run_stride_q;
      group_stride = start_i ? group_stride_i : group_stride_q;
      run_addr = start_i ? dram_addr_i : run_addr_q;
      group_addr = start_i ? dram_addr_i : group_addr_q;
      next_run_addr = run_addr + AddrBits'(run_stride);
      next_group_addr = group_addr + AddrBits'(group_stride);
      if (!issue_o) begin
        addr_q <= addr;
        beats_q <= beats;
      end else if (!run_end) begin
        addr_q <= next_addr;
        beats_q <= next_beats;
      end else begin
        addr_q <= group_end ? next_group_addr : next_run_addr;
        beats_q <= run_beats;
      end
      if (issue_o && group_end) begin
        run_addr_q <= next_group_addr;
        group_addr_q <= next_group_addr;
        runs_left_q <= runs - 1'b1;
        groups_left_q <= groups_left - 1'b1;
      end else begin
        run_addr_q <= issue_o && run_end ? next_run_addr : run_addr;
        group_addr_q <= group_addr;
        runs_left_q <= issue_o && run_end ? runs_left - 1'b1 : runs_left;
        groups_left_q <= groups_left;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      requesting_q <= 1'b0;
      beats_to_come_q <= '0;
    end else begin
      if (start_i || issue_o) requesting_q <= !(issue_o && command_end);
      if (issue_o) beats_to_come_q <= request_beats_o - 9'd1;
      else if (beats_to_come_q != '0) beats_to_come_q <= beats_to_come_q - 9'd1;
    end
  end
endmodule
