// The Verilated core as a SystemC module: one cycle of the RTL a nanosecond, from time 0 until its
// program is done. The core comes as ports and a function (rtl/engine/core_abi.h), so that no
// source sees SystemC's and Verilator's headers together.
#pragma once

#include <systemc>

#include "rtl/engine/rtl_harness.h"

class RtlModule : public sc_core::sc_module {
 public:
  // `core` and `program` must outlive the module.
  RtlModule(const sc_core::sc_module_name& name, qsim::rtl::RtlCore& core,
            const qsim::Program& program, const qsim::Tensor& input)
      : sc_module(name), dram_(program, input), harness_(core, program, dram_, {}) {
    SC_HAS_PROCESS(RtlModule);
    SC_METHOD(tick);
  }

  // What the run gave, once the simulation is over.
  qsim::RunResult result() {
    qsim::RunResult result;
    result.times = harness_.finish();
    result.ofmaps = dram_.ofmaps();
    return result;
  }

 private:
  // Its own clock, which stops with the program: a kernel without events ends the simulation.
  void tick() {
    harness_.step();
    if (!harness_.finished()) next_trigger(1, sc_core::SC_NS);
  }

  qsim::DramMemory dram_;
  qsim::rtl::RtlHarness harness_;
};
