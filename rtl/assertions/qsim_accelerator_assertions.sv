// Bound to the accelerator: the rules of the port in docs/reference/rtl.md, and the rules that the
// units keep among themselves.
module qsim_accelerator_assertions (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic [qsim_pkg::Units-1:0]        start_i,
  input  logic [qsim_pkg::Units-1:0]        unit_ready_i,
  input  logic [qsim_pkg::Units-1:0]        done_i,
  input  logic                              idle_i,
  input  logic [qsim_pkg::Units-1:0]        unit_idle_i,
  input  qsim_pkg::opcode_e                 load_opcode_i,
  input  qsim_pkg::opcode_e                 execute_opcode_i,
  input  qsim_pkg::opcode_e                 post_opcode_i,
  input  qsim_pkg::opcode_e                 store_opcode_i,
  input  logic                              read_request_valid_i,
  input  logic                              read_request_ready_i,
  input  logic [qsim_pkg::DramAddrBits-1:0] read_request_addr_i,
  input  logic [8:0]                        read_request_beats_i,
  input  logic [3:0]                        read_request_size_i,
  input  logic                              write_request_valid_i,
  input  logic                              write_request_ready_i,
  input  logic [qsim_pkg::DramAddrBits-1:0] write_request_addr_i,
  input  logic [8:0]                        write_request_beats_i,
  input  logic [3:0]                        write_request_size_i,
  input  logic                              read_data_valid_i,
  input  logic                              write_data_valid_i,
  input  logic                              write_done_i,
  input  logic                              bursts_to_read_i,   // the load unit has bursts open
  input  logic                              bursts_to_write_i,  // the store unit has
  input  logic                              act_write_i,
  input  logic                              weight_write_i,
  input  logic                              param_write_i,
  input  logic                              acc_write_i,
  input  logic                              out_write_i,
  input  logic                              execute_read_i,
  input  logic                              execute_read_half_i,
  input  logic                              post_read_i,
  input  logic                              post_read_half_i,
  input  logic                              execute_write_half_i
);
  localparam logic [qsim_pkg::DramAddrBits-1:0] AddrOne = 1;

  read_request_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      read_request_valid_i && !read_request_ready_i |=>
      read_request_valid_i && $stable(read_request_addr_i) && $stable(read_request_beats_i) &&
      $stable(read_request_size_i))
    else $error("%m: a read request changes before it is taken");
  write_request_stable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      write_request_valid_i && !write_request_ready_i |=>
      write_request_valid_i && $stable(write_request_addr_i) && $stable(write_request_beats_i) &&
      $stable(write_request_size_i))
    else $error("%m: a write request changes before it is taken");
  read_request_sensible: assert property (@(posedge clk_i) disable iff (!rst_ni)
      read_request_valid_i |-> read_request_beats_i != '0 &&
      (read_request_addr_i & ((AddrOne << read_request_size_i) - AddrOne)) == '0)
    else $error("%m: a read burst of no beats, or off its beat's boundary");
  write_request_sensible: assert property (@(posedge clk_i) disable iff (!rst_ni)
      write_request_valid_i |-> write_request_beats_i != '0 &&
      (write_request_addr_i & ((AddrOne << write_request_size_i) - AddrOne)) == '0)
    else $error("%m: a write burst of no beats, or off its beat's boundary");
  data_was_asked_for: assert property (@(posedge clk_i) disable iff (!rst_ni)
      read_data_valid_i |-> bursts_to_read_i)
    else $error("%m: read data that no burst asked for");
  response_was_asked_for: assert property (@(posedge clk_i) disable iff (!rst_ni)
      write_done_i |-> bursts_to_write_i)
    else $error("%m: a write response without a burst");

  idle_load_writes_nothing: assert property (@(posedge clk_i) disable iff (!rst_ni)
      unit_idle_i[qsim_pkg::UnitLoad] |-> !act_write_i && !weight_write_i && !param_write_i)
    else $error("%m: a scratchpad is written while the load unit is idle");
  idle_execute_writes_nothing: assert property (@(posedge clk_i) disable iff (!rst_ni)
      unit_idle_i[qsim_pkg::UnitExecute] |-> !acc_write_i)
    else $error("%m: the accumulator is written while the execute unit is idle");
  idle_post_writes_nothing: assert property (@(posedge clk_i) disable iff (!rst_ni)
      unit_idle_i[qsim_pkg::UnitPost] |-> !out_write_i)
    else $error("%m: the output scratchpad is written while the post unit is idle");
  idle_store_sends_nothing: assert property (@(posedge clk_i) disable iff (!rst_ni)
      unit_idle_i[qsim_pkg::UnitStore] |-> !write_data_valid_i)
    else $error("%m: a beat is written while the store unit is idle");
  write_beat_has_its_turn: assert property (@(posedge clk_i) disable iff (!rst_ni)
      write_request_valid_i && write_request_ready_i |=> write_data_valid_i)
    else $error("%m: a burst's first beat does not follow its issue");
  idle_is_quiet: assert property (@(posedge clk_i) disable iff (!rst_ni)
      idle_i |-> start_i == '0 && done_i == '0 && !read_request_valid_i && !write_request_valid_i)
    else $error("%m: something happens while the core is idle");
  halves_apart: assert property (@(posedge clk_i) disable iff (!rst_ni)
      post_read_i && execute_read_i |-> post_read_half_i != execute_read_half_i)
    else $error("%m: EXECUTE and POST read the same accumulator half");
  post_reads_finished_psums: assert property (@(posedge clk_i) disable iff (!rst_ni)
      post_read_i && acc_write_i |-> post_read_half_i != execute_write_half_i)
    else $error("%m: EXECUTE writes the accumulator half that POST reads");

  for (genvar u = 0; u < qsim_pkg::Units; u++) begin : gen_unit
    starts_when_ready: assert property (@(posedge clk_i) disable iff (!rst_ni)
        start_i[u] |-> unit_ready_i[u])
      else $error("%m: a unit starts a command and is not ready");
  end

  load_starts_its_own: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i[qsim_pkg::UnitLoad] |-> load_opcode_i == qsim_pkg::OpcodeLoad)
    else $error("%m: the load unit starts another unit's command");
  execute_starts_its_own: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i[qsim_pkg::UnitExecute] |-> execute_opcode_i == qsim_pkg::OpcodeExecute)
    else $error("%m: the execute unit starts another unit's command");
  post_starts_its_own: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i[qsim_pkg::UnitPost] |-> post_opcode_i == qsim_pkg::OpcodePost)
    else $error("%m: the post unit starts another unit's command");
  store_starts_its_own: assert property (@(posedge clk_i) disable iff (!rst_ni)
      start_i[qsim_pkg::UnitStore] |-> store_opcode_i == qsim_pkg::OpcodeStore)
    else $error("%m: the store unit starts another unit's command");
endmodule

bind qsim_accelerator qsim_accelerator_assertions u_assertions (
  .clk_i(clk_i),
  .rst_ni(rst_ni),
  .start_i(start),
  .unit_ready_i(unit_ready_o),
  .done_i(done),
  .idle_i(idle_o),
  .unit_idle_i(unit_idle),
  .load_opcode_i(load_command.opcode),
  .execute_opcode_i(execute_command.opcode),
  .post_opcode_i(post_command.opcode),
  .store_opcode_i(store_command.opcode),
  .read_request_valid_i(read_request_valid_o),
  .read_request_ready_i(read_request_ready_i),
  .read_request_addr_i(read_request_addr_o),
  .read_request_beats_i(read_request_beats_o),
  .read_request_size_i(read_request_size_o),
  .write_request_valid_i(write_request_valid_o),
  .write_request_ready_i(write_request_ready_i),
  .write_request_addr_i(write_request_addr_o),
  .write_request_beats_i(write_request_beats_o),
  .write_request_size_i(write_request_size_o),
  .read_data_valid_i(read_data_valid_i),
  .write_data_valid_i(write_data_valid_o),
  .write_done_i(write_done_i),
  .bursts_to_read_i(u_load.burst_valid),
  .bursts_to_write_i(u_store.bursts_valid),
  .act_write_i(act_write),
  .weight_write_i(weight_write),
  .param_write_i(param_write),
  .acc_write_i(execute_write),
  .out_write_i(out_write),
  .execute_read_i(execute_read),
  .execute_read_half_i(execute_read_half),
  .post_read_i(post_read),
  .post_read_half_i(post_read_half),
  .execute_write_half_i(execute_write_half)
);
