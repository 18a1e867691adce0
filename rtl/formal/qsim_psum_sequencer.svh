// Properties of qsim_psum_sequencer, in its scope. The weight sequencer before it is any that keeps the
// rules assumed here, which qsim_psum_sequencer_assertions checks of the real one in simulation. Each
// psum word is compared with where its pixel lies by arithmetic: the pixel's number in the command, and
// the block. What leaves late, after a group of output_stationary has ended, is looked up by the age of
// that end.
localparam int unsigned ColBits = $clog2(Cols);
localparam int unsigned CycleBits = BlockBits + ColBits + 1;
localparam int unsigned Ages = Rows + 2;  // cycles from a group's end to its last psum
localparam int unsigned CountBits = LaneBits + 1;
(* anyseq *) wire fold_ends;   // what the weight sequencer does where it may do either
(* anyseq *) wire group_ends;

logic in_reset_q = 1'b1;
// The command under way, and where its stream is: cycles of the fold (no more are counted once all
// channels or rows were there), and the group's first pixel.
logic active_q = 1'b0, started_q = 1'b0;
logic spec_os_q, spec_accumulate_q, spec_half_q, spec_first_fold_q;
logic [BlockBits-1:0] spec_blocks_q;
logic [PixelBits-1:0] spec_pixels_q, spec_group_q;
logic [AccAddrBits-1:0] spec_addr_q;
logic [CycleBits-1:0] spec_cycle_q;
// The groups of output_stationary that ended 1, 2, ... cycles ago: their pixels (R at most), the
// address of the first, and what else the command says of them.
logic [Ages-1:0] ended_q = '0;
logic [Ages*CountBits-1:0] ended_count_q;
logic [Ages*AccAddrBits-1:0] ended_addr_q;
logic [Ages-1:0] ended_overwrite_q, ended_half_q, ended_last_q;
// input_stationary: the word of the cycle before.
logic stream_valid_q = 1'b0, stream_last_q = 1'b0;
logic stream_overwrite_q, stream_half_q;
logic [LaneBits-1:0] stream_lane_q;
logic [AccAddrBits-1:0] stream_addr_q;

wire starts_os = command_i.dataflow == qsim_pkg::DataflowOutputStationary;
wire starts_is = command_i.dataflow == qsim_pkg::DataflowInputStationary;
wire by_group = starts_os || starts_is;
wire [PixelBits-1:0] command_pixels = PixelBits'(command_i.out_rows) * PixelBits'(command_i.out_cols);
wire [PixelBits-1:0] spec_left = spec_pixels_q - spec_group_q;
wire [PixelBits-1:0] spec_size = spec_os_q ? PixelBits'(Rows) : PixelBits'(Cols);
wire [CycleBits-1:0] fold_length = spec_os_q ? CycleBits'(Rows) : {1'b0, spec_blocks_q, {ColBits{1'b0}}};
wire last_group = spec_left <= spec_size;
wire [CountBits-1:0] group_count = last_group ? spec_left : spec_size;
wire [ColBits-1:0] spec_lane = spec_cycle_q[ColBits-1:0];
wire [BlockBits-1:0] spec_block = spec_cycle_q[ColBits +: BlockBits];
wire [AccAddrBits-1:0] group_addr = spec_addr_q + AccAddrBits'(spec_group_q);
wire [AccAddrBits-1:0] block_offset = AccAddrBits'(spec_block) * AccAddrBits'(spec_pixels_q);
wire streams = active_q && !spec_os_q && spec_cycle_q < fold_length;
wire os_group_end = active_q && spec_os_q && group_end_i;

always_ff @(posedge clk_i or negedge rst_ni) begin
  if (!rst_ni) begin
    active_q <= 1'b0;
    started_q <= 1'b0;
    ended_q <= '0;
    stream_valid_q <= 1'b0;
    stream_last_q <= 1'b0;
  end else begin
    active_q <= (start_i && by_group) || (active_q && !last_i);
    started_q <= started_q || start_i;
    ended_q <= {ended_q[Ages-2:0], os_group_end};
    stream_valid_q <= streams && PixelBits'(spec_lane) < spec_left;
    stream_last_q <= last_i && !spec_os_q;
  end
end

always_ff @(posedge clk_i) begin
  in_reset_q <= 1'b0;
  if (start_i) begin
    spec_os_q <= starts_os;
    spec_accumulate_q <= command_i.accumulate;
    spec_half_q <= command_i.acc_half;
    spec_blocks_q <= command_i.blocks;
    spec_pixels_q <= command_pixels;
    spec_addr_q <= AccAddrBits'(command_i.acc_addr);
    spec_group_q <= '0;
    spec_first_fold_q <= 1'b1;
    spec_cycle_q <= '0;
  end else if (active_q) begin
    if (fold_ends && spec_cycle_q + 1'b1 >= fold_length) begin
      spec_cycle_q <= '0;
      spec_first_fold_q <= group_end_i;
      if (group_end_i) spec_group_q <= spec_group_q + spec_size;
    end else if (spec_cycle_q < fold_length) begin
      spec_cycle_q <= spec_cycle_q + 1'b1;
    end
  end
  ended_count_q <= {ended_count_q[(Ages-1)*CountBits-1:0], group_count};
  ended_addr_q <= {ended_addr_q[(Ages-1)*AccAddrBits-1:0], group_addr};
  ended_overwrite_q <= {ended_overwrite_q[Ages-2:0], !spec_accumulate_q};
  ended_half_q <= {ended_half_q[Ages-2:0], spec_half_q};
  ended_last_q <= {ended_last_q[Ages-2:0], last_i};
  stream_overwrite_q <= spec_first_fold_q && !spec_accumulate_q;
  stream_half_q <= spec_half_q;
  stream_lane_q <= LaneBits'(spec_lane);
  stream_addr_q <= group_addr + block_offset + AccAddrBits'(spec_lane);
end

// The psum words that leave now, and those that the registers before the outputs have ready: pixel
// Rows - 1 - k of the group that ended k + 3 cycles ago, if it has that many.
logic out_valid, out_last, early_valid, early_last;
always_comb begin
  out_valid = 1'b0;
  out_last = 1'b0;
  early_valid = 1'b0;
  early_last = 1'b0;
  for (int k = 0; k < Rows; k++) begin
    if (ended_q[2+k]) begin
      out_valid = CountBits'(Rows - 1 - k) < ended_count_q[(2+k)*CountBits +: CountBits];
      out_last = ended_last_q[2+k] && k == Rows - 1;
    end
    if (ended_q[1+k]) begin
      early_valid = CountBits'(Rows - 1 - k) < ended_count_q[(1+k)*CountBits +: CountBits];
      early_last = ended_last_q[1+k] && k == Rows - 1;
    end
  end
end

// What the weight sequencer and the execute unit keep.
always_comb begin
  if (in_reset_q) assume (!rst_ni);
  if (start_i) begin
    // A weight_stationary command that follows one of input_stationary comes by, and has no stream here.
    assume ((Os && starts_os) || (Is && !starts_os));
    assume (command_pixels != '0 && command_i.blocks != '0);
    assume (!active_q || last_i);
    // A switch finds the array empty.
    if (started_q && starts_os != spec_os_q) assume (!active_q && ended_q == '0);
  end
  assume (fold_begin_i == (active_q && spec_cycle_q == '0));
  assume (group_end_i == (active_q && spec_cycle_q + 1'b1 >= fold_length && fold_ends && group_ends));
  assume (last_i == (group_end_i && last_group));
  if (fold_begin_i || streams) assume (first_fold_i == spec_first_fold_q);
end

always_comb begin
  if (rst_ni && started_q) begin
    if (spec_os_q) begin
      assert (valid_o == out_valid);
      assert (last_o == out_last);
      for (int k = 0; k < Rows; k++) begin
        if (out_valid && ended_q[2+k]) begin
          assert (addr_o == ended_addr_q[(2+k)*AccAddrBits +: AccAddrBits] + AccAddrBits'(Rows - 1 - k));
          assert (overwrite_o == ended_overwrite_q[2+k] && half_o == ended_half_q[2+k]);
        end
      end
    end else begin
      assert (valid_o == stream_valid_q);
      assert (last_o == stream_last_q);
      if (valid_o) begin
        assert (lane_o == stream_lane_q && addr_o == stream_addr_q);
        assert (overwrite_o == stream_overwrite_q && half_o == stream_half_q);
      end
    end
  end
  if (rst_ni && !started_q) assert (!valid_o && !last_o);
end

// The pixels of the group that drains, of which R at most count.
logic [Rows-1:0] left_of_drain;
always_comb begin
  for (int j = 0; j < Rows; j++) begin
    left_of_drain[j] = drain_pixels_q != '0 &&
        ended_count_q[j*CountBits +: CountBits] ==
            (drain_pixels_q < PixelBits'(Rows) ? CountBits'(drain_pixels_q) : CountBits'(Rows));
  end
end

// What induction needs of the registers.
always_comb begin
  if (rst_ni) begin
    if (!started_q) assert (!active_q && !running_q && !draining_q && !early_valid_q && !early_last_q &&
                            ended_q == '0);
    if (started_q) begin
      assert (output_stationary_q == spec_os_q);
      assert ((Os && spec_os_q) || (Is && !spec_os_q));
    end
    if (active_q) begin
      assert (accumulate_q == spec_accumulate_q && half_q == spec_half_q);
      assert (spec_blocks_q != '0 && blocks_q == spec_blocks_q - 1'b1);
      assert (spec_group_q < spec_pixels_q && left_q == spec_left);
      assert (pixels_q == AccAddrBits'(spec_pixels_q) && group_addr_q == group_addr);
      assert (spec_cycle_q <= fold_length);
    end
    assert (running_q == (streams && spec_cycle_q != '0));
    if (running_q) begin
      assert (lane_q == LaneBits'(spec_lane));
      assert (blocks_left_q == spec_blocks_q - 1'b1 - spec_block);
      assert (block_addr_q == group_addr + block_offset);
    end
    assert (draining_q == (ended_q[Rows-1:0] != '0));
    if (ended_q != '0) assert (spec_os_q);
    for (int j = 0; j < Rows; j++) begin
      if (ended_q[j]) begin
        assert (!active_q || spec_cycle_q <= CycleBits'(j));
        assert (drain_lane_q == LaneBits'(Rows - 1 - j));
        assert (left_of_drain[j] && drain_last_q == ended_last_q[j]);
        assert (drain_addr_q ==
                ended_addr_q[j*AccAddrBits +: AccAddrBits] + AccAddrBits'(Rows - 1 - j));
        assert (drain_overwrite_q == ended_overwrite_q[j] && drain_half_q == ended_half_q[j]);
      end
      if (ended_q[1+j]) begin
        assert (!early_valid || early_addr_q ==
                ended_addr_q[(1+j)*AccAddrBits +: AccAddrBits] + AccAddrBits'(Rows - 1 - j));
        assert (early_overwrite_q == ended_overwrite_q[1+j] && early_half_q == ended_half_q[1+j]);
      end
    end
    for (int j = 1; j < Ages; j++) begin
      for (int i = 0; i < j; i++) if (j - i < Rows) assert (!(ended_q[i] && ended_q[j]));
    end
    if (spec_os_q || !started_q) assert (early_valid_q == early_valid && early_last_q == early_last);
    else assert (!early_valid_q && !early_last_q);
  end
end

// Partial groups, blocks after the first, groups back to back, and switches.
always_comb begin
  if (rst_ni) begin
    if (Os) begin
      cover (valid_o && spec_os_q && ended_q[Ages-1] && !last_o);
      cover (last_o && spec_os_q && ended_count_q[(Ages-1)*CountBits +: CountBits] == CountBits'(1));
      cover (ended_q[0] && ended_q[Rows] && active_q && !ended_last_q[0]);
    end
    if (Is) begin
      cover (valid_o && !spec_os_q && spec_block == 1 && spec_lane != '0);
      cover (!spec_os_q && streams && spec_lane != '0 && !valid_o && spec_group_q != '0);
    end
    if (Os && Is) begin
      cover (start_i && started_q && starts_is && spec_os_q);
      cover (start_i && started_q && !by_group);
      cover (start_i && started_q && starts_os && !spec_os_q);
    end
  end
end
