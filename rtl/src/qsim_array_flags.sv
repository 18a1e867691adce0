// The flags that travel through the array with its operands, and the clock enable of what moves with
// them (qsim_systolic_array says when each is high).
//
// weight_stationary and input_stationary: in the R cycles of a fold's preload, `load_i`, row r of the
// shadow registers takes part from the r-th on. The swap follows R cycles after the first.
// output_stationary: a pixel group's first elements are where the finished sums move to the psum
// registers; the first group of a command that begins on an empty array has none, but moves too:
// the PEs hold no sums. R + 1 cycles later the column begins to drain, row r for r cycles.
module qsim_array_flags #(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned Dataflows = 7
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            output_stationary_i,
  input  logic            load_i,        // a word for the shadow registers is at its memory's output
  input  logic            first_i,       // the first of a fold
  input  logic            start_clear_i, // output_stationary starts on an empty array, in this cycle
  input  logic            group_last_i,  // its group's last row was addressed in the cycle before
  output logic            wave_o,
  output logic [Rows-1:0] shift_o,
  output logic [Rows-1:0] swap_o
);
  localparam int unsigned WaveBits = $clog2(2 * Rows + Cols + 3);
  localparam bit Os = Dataflows[1];

  logic os;
  logic [Rows-1:0] rows_loading, rows_draining_q;
  logic [Rows-2:0] rows_loading_q;
  logic [2*Rows-2:0] swap_delay_q;
  logic [WaveBits-1:0] wave_left_q;
  logic start_clear_q, clear_q, group_last_q, boundary_q;

  assign os = Os && output_stationary_i;
  assign rows_loading = first_i ? Rows'(1) : {rows_loading_q, 1'b1};
  assign wave_o = first_i || (os && load_i) || wave_left_q != '0;
  assign shift_o = os ? rows_draining_q : load_i ? rows_loading : '0;
  assign swap_o = os ? swap_delay_q[Rows:1] : swap_delay_q[2*Rows-2:Rows-1];

  always_ff @(posedge clk_i) begin
    if (load_i) rows_loading_q <= rows_loading[Rows-2:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      swap_delay_q <= '0;
      rows_draining_q <= '0;
      wave_left_q <= '0;
    end else if (wave_o) begin
      swap_delay_q <= {swap_delay_q[2*Rows-3:0], os ? boundary_q : first_i};
      // All rows but row 0; Yosys 0.23 reads ~Rows'(1) as (~Rows)'(1).
      rows_draining_q <= swap_delay_q[Rows] ? {{(Rows-1){1'b1}}, 1'b0} : rows_draining_q << 1;
      wave_left_q <= os && load_i ? WaveBits'(2 * Rows + Cols + 2) :
                     first_i ? WaveBits'(2 * Rows + Cols) : wave_left_q - WaveBits'(1);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_clear_q <= 1'b0;
      clear_q <= 1'b0;
      group_last_q <= 1'b0;
      boundary_q <= 1'b0;
    end else begin
      start_clear_q <= Os && start_clear_i;
      clear_q <= start_clear_q;
      group_last_q <= os && group_last_i;
      boundary_q <= clear_q || group_last_q;
    end
  end
endmodule
