// Properties of qsim_array_flags, in its scope: each flag is high in exactly the cycles that
// qsim_systolic_array asks for, said as distances in cycles of the clock from the events that cause it;
// so the clock enable never stops a flag on its way. What is assumed of the execute unit: a fold's
// words come in R cycles without a gap, and the dataflow changes on an empty array.
localparam int unsigned Quiet = 2 * Rows + Cols + 2;  // the execute unit waits longer than this
localparam int unsigned Ages = 2 * Rows + Cols + 6;
localparam int unsigned LoadingBits = Rows - 1;

logic in_reset_q = 1'b1;
// Bit i: i + 1 cycles ago.
logic [Ages-1:0] first_q = '0, load_q = '0, group_last_hist_q = '0, start_clear_hist_q = '0;
logic next_os_q = 1'b0, may_change_q = 1'b0;

// Bit i: i cycles ago.
wire [Ages:0] first = {first_q, first_i};
wire [Ages:0] load = {load_q, load_i};
wire [Ages:0] group_last = {group_last_hist_q, output_stationary_i && group_last_i};
wire [Ages:0] start_clear = {start_clear_hist_q, Os && start_clear_i};
wire loading = first[Rows-1:1] != '0;  // a fold's words, but the first
wire quiet = load[Quiet:0] == '0 && start_clear[3:1] == '0 && group_last[1:0] == '0;

always_ff @(posedge clk_i or negedge rst_ni) begin
  if (!rst_ni) begin
    first_q <= '0;
    load_q <= '0;
    group_last_hist_q <= '0;
    start_clear_hist_q <= '0;
  end else begin
    first_q <= first[Ages-1:0];
    load_q <= load[Ages-1:0];
    group_last_hist_q <= group_last[Ages-1:0];
    start_clear_hist_q <= start_clear[Ages-1:0];
  end
end

always_ff @(posedge clk_i) begin
  in_reset_q <= 1'b0;
  next_os_q <= output_stationary_i;
  may_change_q <= !rst_ni || quiet;
end

always_comb begin
  if (in_reset_q) assume (!rst_ni);
  if (!in_reset_q && !may_change_q) assume (output_stationary_i == next_os_q);
  if (!Os) assume (!output_stationary_i);
  assume (load_i == (first_i || loading));
  assume (!(first_i && loading));
  // A group's last row was addressed in the cycle before, so its word is here in the next.
  if (group_last[1]) assume (first[Rows-1]);
  if (group_last[0]) assume (first[Rows-2]);
  // A start on an empty array is one of output_stationary, and its words begin three cycles later.
  if (Os && start_clear_i) assume (quiet);
  if (start_clear[1]) assume (output_stationary_i);
  if (start_clear[1] || start_clear[2]) assume (!first_i);
  if (start_clear[3]) assume (first_i);
end

// The first elements of a group are in row 0 when a group's last row was addressed five cycles ago, or
// the command started so long ago.
wire [Ages-1:0] boundary = {group_last[Ages-2:0], 1'b0} | start_clear[Ages-1:0];
logic [Rows-1:0] spec_shift, spec_swap;
logic spec_wave;
logic [2*Rows-2:0] spec_delay;
logic [Rows-1:0] spec_draining;
logic [WaveBits-1:0] spec_left;

always_comb begin
  spec_wave = 1'b0;
  spec_left = '0;
  if (output_stationary_i) begin
    for (int i = 0; i <= 2 * Rows + Cols + 2; i++) spec_wave = spec_wave || load[i];
    for (int i = 2 * Rows + Cols + 2; i > 0; i--) if (load[i]) spec_left = WaveBits'(2 * Rows + Cols + 3 - i);
  end else begin
    for (int i = 0; i <= 2 * Rows + Cols; i++) spec_wave = spec_wave || first[i];
    for (int i = 2 * Rows + Cols; i > 0; i--) if (first[i]) spec_left = WaveBits'(2 * Rows + Cols + 1 - i);
  end
  for (int r = 0; r < Rows; r++) begin
    spec_shift[r] = 1'b0;
    spec_draining[r] = 1'b0;
    if (output_stationary_i) begin
      spec_swap[r] = boundary[5+r];
      // Row r moves for r cycles while a column drains.
      for (int j = 0; j < r; j++) spec_shift[r] = spec_shift[r] || boundary[5+Rows+j];
      spec_draining[r] = spec_shift[r];
    end else begin
      spec_swap[r] = first[Rows+r];
      for (int i = r; i < Rows; i++) spec_shift[r] = spec_shift[r] || first[i];
      for (int j = 0; j < r; j++) spec_draining[r] = spec_draining[r] || first[Rows+2+j];
    end
  end
  for (int i = 0; i < 2 * Rows - 1; i++) spec_delay[i] = output_stationary_i ? boundary[4+i] : first[1+i];
end

always_comb begin
  if (rst_ni) begin
    assert (wave_o == spec_wave);
    assert (swap_o == spec_swap);
    assert (shift_o == spec_shift);
    if (swap_o != '0 || shift_o != '0) assert (wave_o);
    // What induction needs of the registers and the histories.
    assert (swap_delay_q == spec_delay && rows_draining_q == spec_draining && wave_left_q == spec_left);
    assert (start_clear_q == start_clear[1] && clear_q == start_clear[2]);
    assert (group_last_q == group_last[1] && boundary_q == (group_last[2] || start_clear[3]));
    for (int r = 1; r < Rows; r++) if (first[r]) assert (rows_loading_q == LoadingBits'((1 << r) - 1));
    for (int i = 0; i + Rows - 1 <= Ages; i++) begin
      assert (load[i] == (first[i +: Rows] != '0));
      if (first[i]) assert (first[i+1 +: Rows-1] == '0);
    end
    for (int i = 1; i + Rows - 2 <= Ages; i++) if (group_last[i]) assert (first[i+Rows-2]);
    for (int i = 4; i <= Ages; i++) if (start_clear[i]) assert (first[i-3]);
    for (int i = 1; i <= Ages; i++) begin
      for (int j = i; j <= Ages && j <= i + Quiet; j++) assert (!(start_clear[i] && load[j]));
    end
  end
end

always_comb begin
  if (rst_ni) begin
    cover (!output_stationary_i && first[0] && first[Rows] && first[2*Rows]);
    cover (!output_stationary_i && swap_o[Rows-1] && shift_o == '1);
    if (Os) begin
      cover (output_stationary_i && start_clear[5] && swap_o[0]);
      cover (output_stationary_i && swap_o[Rows-1] && group_last[Rows+3] && shift_o == '0);
      cover (output_stationary_i && shift_o[Rows-1] && swap_o[1] && load[0]);
      cover (!output_stationary_i && next_os_q && group_last[Ages-1:0] == '0);
    end
  end
end
