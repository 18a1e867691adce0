// The semaphores that order the units. In a cycle, every unit that starts a command
// lowers the semaphores of its wait mask by one, and every unit whose command is done raises those
// of its signal mask by one; the two net out. A count that leaves its range after netting is a bug of
// the program, and wraps. Unit u's masks begin at bit Count * u; semaphore s starts with the value in
// `init_i` that begins at bit Bits * s.
module qsim_semaphore_bank #(
  parameter int unsigned Count = qsim_pkg::Semaphores,
  parameter int unsigned Bits = qsim_pkg::SemaphoreBits,
  parameter int unsigned Units = qsim_pkg::Units
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   init_valid_i,
  input  logic [Bits*Count-1:0]  init_i,
  input  logic [Count*Units-1:0] wait_mask_i,
  input  logic [Units-1:0]       start_i,
  input  logic [Count*Units-1:0] signal_mask_i,
  input  logic [Units-1:0]       done_i,
  output logic [Count-1:0]       available_o
);
  // available_q[s] says that the count of semaphore s is above zero. Nothing but registers before and
  // after, so that a cycle without a start or a done costs nothing in simulation.
  logic [Bits*Count-1:0] count_q;
  logic [Count-1:0] available_q;
  logic [Units-1:0] lowered, raised;
  logic [Bits-1:0] next_count;

  assign available_o = available_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      available_q <= '0;
    end else if (init_valid_i || start_i != '0 || done_i != '0) begin
      for (int unsigned s = 0; s < Count; s++) begin
        for (int unsigned u = 0; u < Units; u++) begin
          lowered[u] = start_i[u] && wait_mask_i[Count * u + s];
          raised[u] = done_i[u] && signal_mask_i[Count * u + s];
        end
        next_count = init_valid_i ? init_i[Bits * s +: Bits] :
            count_q[Bits * s +: Bits] +
            Bits'(raised[0]) + Bits'(raised[1]) + Bits'(raised[2]) + Bits'(raised[3]) -
            Bits'(lowered[0]) - Bits'(lowered[1]) - Bits'(lowered[2]) - Bits'(lowered[3]);
        count_q[Bits * s +: Bits] <= next_count;
        available_q[s] <= next_count != '0;
      end
    end
  end
endmodule
