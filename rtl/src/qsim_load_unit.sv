// The load unit: brings runs of DRAM bytes to the activation scratchpad, the weight scratchpad, the
// parameter memory or the table memory. Requests run ahead of the data: a command frees the unit when its last burst has
// had its turn. It is done when its last beat is written, in the cycle in which the beat comes.
module qsim_load_unit #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned ActAddrBits = 14,
  parameter int unsigned WeightAddrBits = 12,
  parameter int unsigned ParamBeatBits = 3,
  parameter int unsigned TableBeatBits = 4,
  parameter int unsigned BusBytes = 16,
  parameter int unsigned BurstBeats = 64,
  parameter int unsigned OutstandingBursts = 16,
  localparam int unsigned WordBytes = Rows > Cols ? Rows : Cols  // of a weight word
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  qsim_pkg::load_t                   command_i,
  output logic                              ready_o,
  output logic                              done_o,
  output logic [qsim_pkg::Semaphores-1:0]   done_mask_o,
  output logic                              idle_o,

  output logic                              request_valid_o,
  input  logic                              request_ready_i,
  output logic [qsim_pkg::DramAddrBits-1:0] request_addr_o,
  output logic [8:0]                        request_beats_o,
  output logic [3:0]                        request_size_o,
  input  logic                              data_valid_i,
  input  logic [8*BusBytes-1:0]             data_i,

  output logic                              act_write_o,
  output logic [ActAddrBits-1:0]            act_write_addr_o,
  output logic [8*Rows-1:0]                 act_write_data_o,
  output logic                              weight_write_o,
  output logic [WeightAddrBits-1:0]         weight_write_addr_o,
  output logic [8*WordBytes-1:0]            weight_write_data_o,
  output logic                              param_write_o,
  output logic                              param_write_slot_o,  // and of the table memory
  output logic [ParamBeatBits-1:0]          param_write_beat_o,
  output logic [8*BusBytes-1:0]             param_write_data_o,  // and of the table memory
  output logic                              table_write_o,
  output logic [TableBeatBits-1:0]          table_write_beat_o
);
  localparam int unsigned ActBeatBytes = Rows < BusBytes ? Rows : BusBytes;
  localparam int unsigned WeightBeatBytes = WordBytes < BusBytes ? WordBytes : BusBytes;
  localparam int unsigned LocalBits = qsim_pkg::LoadLocalAddrWidth;
  localparam int unsigned PlanesPerPixel = (Rows > Cols ? Rows : Cols) / Rows;
  // Beats that a word is put together from; 1 where the bus is as wide as the word.
  localparam int unsigned ActBeats = Rows / ActBeatBytes;
  localparam int unsigned WeightBeats = WordBytes / WeightBeatBytes;

  logic [3:0] size;
  logic issue, issue_last, bursts_full, burst_valid, commands_full, command_valid;

  always_comb begin
    unique case (command_i.memory)
      qsim_pkg::MemoryActivation: size = 4'($clog2(ActBeatBytes));
      qsim_pkg::MemoryWeight: size = 4'($clog2(WeightBeatBytes));
      default: size = 4'($clog2(BusBytes));
    endcase
  end

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
    .size_i(size),
    .room_i(!bursts_full),
    .ready_o,
    .request_valid_o,
    .request_ready_i,
    .request_addr_o,
    .request_beats_o,
    .request_size_o,
    .issue_o(issue),
    .issue_last_o(issue_last),
    .streaming_o()
  );

  // What the data that comes is for: open bursts, and the commands they belong to.
  logic [8:0] burst_beats;
  logic burst_last;
  logic burst_end;
  // What is kept of a command until it is done. (Yosys 0.23 takes no enumeration of a package here.)
  typedef struct packed {
    logic [qsim_pkg::LoadMemoryWidth-1:0] memory;
    logic [LocalBits-1:0] local_addr;
    logic [qsim_pkg::LoadPlaneWordsWidth-1:0] plane_words;
    logic [qsim_pkg::SignalMaskWidth-1:0] signal_mask;
  } kept_t;
  kept_t oldest;

  qsim_fifo #(
    .Width(10),
    .Depth(OutstandingBursts)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .push_i(issue),
    .data_i({issue_last, request_beats_o}),
    .full_o(bursts_full),
    .pop_i(burst_end),
    .data_o({burst_last, burst_beats}),
    .valid_o(burst_valid)
  );

  qsim_fifo #(
    .Width($bits(oldest)),
    .Depth(OutstandingBursts + 1)
  ) u_commands (
    .clk_i,
    .rst_ni,
    .push_i(start_i),
    .data_i({command_i.memory, command_i.local_addr, command_i.plane_words, command_i.signal_mask}),
    .full_o(commands_full),
    .pop_i(done_o),
    .data_o(oldest),
    .valid_o(command_valid)
  );

  assign done_mask_o = oldest.signal_mask;

  // Where the next beat goes. `first_beat_q`: it is its command's first.
  logic first_beat_q;
  logic [8:0] burst_beat_q;
  logic [7:0] part_q, part, parts;
  logic [LocalBits-1:0] first_addr, word_addr_q, word_addr, pixel_addr_q, pixel_addr;
  logic [LocalBits-1:0] pixels_left_q, pixels_left;
  logic [7:0] plane_q, plane;
  logic word_end;
  logic [LocalBits-1:0] plane_words;

  assign plane_words = LocalBits'(oldest.plane_words);
  assign burst_end = data_valid_i && burst_beat_q == burst_beats - 9'd1;
  assign done_o = burst_end && burst_last;
  assign parts = oldest.memory == qsim_pkg::MemoryActivation ? 8'(ActBeats - 1) :
                 oldest.memory == qsim_pkg::MemoryWeight ? 8'(WeightBeats - 1) : 8'd0;
  assign part = first_beat_q ? 8'd0 : part_q;
  assign word_end = part == parts;
  // For the parameter and the table memory, local_addr is a slot.
  assign first_addr = oldest.memory == qsim_pkg::MemoryParameter || oldest.memory == qsim_pkg::MemoryTable
      ? '0 : oldest.local_addr;
  assign word_addr = first_beat_q ? first_addr : word_addr_q;

  assign act_write_o = data_valid_i && word_end && oldest.memory == qsim_pkg::MemoryActivation;
  assign weight_write_o = data_valid_i && word_end && oldest.memory == qsim_pkg::MemoryWeight;
  assign param_write_o = data_valid_i && oldest.memory == qsim_pkg::MemoryParameter;
  assign table_write_o = data_valid_i && oldest.memory == qsim_pkg::MemoryTable;
  assign table_write_beat_o = TableBeatBits'(word_addr);
  assign act_write_addr_o = ActAddrBits'(word_addr);
  assign weight_write_addr_o = WeightAddrBits'(word_addr);
  assign param_write_slot_o = oldest.local_addr[0];
  assign param_write_beat_o = ParamBeatBits'(word_addr);
  assign param_write_data_o = data_i;

  always_ff @(posedge clk_i) begin
    if (data_valid_i) begin
      part_q <= word_end ? 8'd0 : part + 8'd1;
      pixel_addr = first_beat_q ? oldest.local_addr : pixel_addr_q;
      pixels_left = first_beat_q ? plane_words - LocalBits'(1) : pixels_left_q;
      plane = first_beat_q ? 8'd0 : plane_q;
      plane_q <= plane;
      pixel_addr_q <= pixel_addr;
      pixels_left_q <= pixels_left;
      word_addr_q <= word_addr;
      if (word_end) begin
        if (PlanesPerPixel == 1 || oldest.memory != qsim_pkg::MemoryActivation) begin
          word_addr_q <= word_addr + LocalBits'(1);
        end else if (plane != 8'(PlanesPerPixel - 1)) begin
          // The next plane's word of this pixel.
          plane_q <= plane + 8'd1;
          word_addr_q <= word_addr + plane_words;
        end else begin
          plane_q <= 8'd0;
          if (pixels_left != '0) begin
            // Plane 0's word of the next pixel.
            pixels_left_q <= pixels_left - LocalBits'(1);
            pixel_addr_q <= pixel_addr + LocalBits'(1);
            word_addr_q <= pixel_addr + LocalBits'(1);
          end else begin
            // The next channel block follows the last plane.
            pixels_left_q <= plane_words - LocalBits'(1);
            pixel_addr_q <= word_addr + LocalBits'(1);
            word_addr_q <= word_addr + LocalBits'(1);
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_beat_q <= 1'b1;
      burst_beat_q <= '0;
    end else if (data_valid_i) begin
      first_beat_q <= done_o;
      burst_beat_q <= burst_end ? '0 : burst_beat_q + 9'd1;
    end
  end

  // Words wider than the bus: earlier beats are kept below the present one.
  generate
    if (BusBytes < WordBytes) begin : gen_assemble
      logic [8*(WordBytes-BusBytes)-1:0] kept_q;
      always_ff @(posedge clk_i) begin
        if (data_valid_i) begin
          for (int unsigned p = 0; p < WordBytes / BusBytes - 1; p++) begin
            if (part == 8'(p)) kept_q[8*BusBytes*p +: 8*BusBytes] <= data_i;
          end
        end
      end
      if (ActBeats > 1) begin : gen_act
        assign act_write_data_o = {data_i, kept_q[8*(Rows-BusBytes)-1:0]};
      end else begin : gen_narrow_act
        assign act_write_data_o = data_i[8*Rows-1:0];
      end
      assign weight_write_data_o = {data_i, kept_q};
    end else begin : gen_whole
      assign act_write_data_o = data_i[8*Rows-1:0];
      assign weight_write_data_o = data_i[8*WordBytes-1:0];
    end
  endgenerate

  assign idle_o = !command_valid;

  // Seen by the bound assertions alone.
  // verilator lint_off UNUSEDSIGNAL
  logic unused;
  assign unused = burst_valid ^ commands_full;
  // verilator lint_on UNUSEDSIGNAL
endmodule
