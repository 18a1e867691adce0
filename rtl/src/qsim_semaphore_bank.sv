// The sixteen semaphores that order the four units. In a cycle, every unit that starts a command
// lowers the semaphores of its wait mask by one, and every unit whose command is done raises those
// of its signal mask by one; the two net out. A count that leaves 0..15 after netting is a bug of
// the program, and wraps. Unit u's masks are bits 16 u and up; semaphore s starts as init_i's bits
// 4 s and up.
module qsim_semaphore_bank (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        init_valid_i,
  input  logic [63:0] init_i,
  input  logic [63:0] wait_mask_i,
  input  logic [3:0]  start_i,
  input  logic [63:0] signal_mask_i,
  input  logic [3:0]  done_i,
  output logic [15:0] available_o
);
  // available_q[s] says that the count of semaphore s is above zero. Nothing but registers before and
  // after, so that a cycle without a start or a done costs nothing in simulation.
  logic [63:0] count_q;
  logic [15:0] available_q;
  logic [3:0] lowered, raised, next_count;

  assign available_o = available_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      available_q <= '0;
    end else if (init_valid_i || start_i != '0 || done_i != '0) begin
      for (int unsigned s = 0; s < qsim_pkg::Semaphores; s++) begin
        for (int unsigned u = 0; u < qsim_pkg::Units; u++) begin
          lowered[u] = start_i[u] && wait_mask_i[16 * u + s];
          raised[u] = done_i[u] && signal_mask_i[16 * u + s];
        end
        next_count = init_valid_i ? init_i[4 * s +: 4] :
            count_q[4 * s +: 4] +
            4'(raised[0]) + 4'(raised[1]) + 4'(raised[2]) + 4'(raised[3]) -
            4'(lowered[0]) - 4'(lowered[1]) - 4'(lowered[2]) - 4'(lowered[3]);
        count_q[4 * s +: 4] <= next_count;
        available_q[s] <= next_count != '0;
      end
    end
  end
endmodule
