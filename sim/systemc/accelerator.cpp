#include "sim/systemc/accelerator.h"

#include "core/machine/who_waits.h"

namespace qsim::sim {

Accelerator::Accelerator(const sc_core::sc_module_name& name, VectorPath path)
    : sc_module(name),
      load_unit_("load_unit", run_, semaphores_),
      execute_unit_("execute_unit", run_, semaphores_, path),
      post_unit_("post_unit", run_, semaphores_, path),
      store_unit_("store_unit", run_, semaphores_),
      units_{&load_unit_, &execute_unit_, &post_unit_, &store_unit_} {}

std::array<std::vector<CommandTime>, kUnits> Accelerator::run(const Program& program,
                                                              Scratchpads* scratchpads,
                                                              DramMemory* dram,
                                                              OfmapHandover* handover) {
  run_ = RunState{&program, scratchpads, dram, handover, 0, nullptr};
  run_.begin = run_.cycle();
  semaphores_.reset(program);
  for (CommandUnit* unit : units_) unit->begin_run();
  // Without a clock the kernel stops when nothing can happen any more.
  sc_core::sc_start(sc_core::sc_max_time() - sc_core::sc_time_stamp(),
                    sc_core::SC_EXIT_ON_STARVATION);
  if (run_.failure) std::rethrow_exception(run_.failure);
  check_all_started();
  semaphores_.check_drained();
  std::array<std::vector<CommandTime>, kUnits> times;
  for (std::size_t u = 0; u < kUnits; ++u) times[u] = std::move(units_[u]->times());
  return times;
}

// The kernel has stopped, so what has started is done.
void Accelerator::check_all_started() const {
  std::array<UnitProgress, kUnits> progress;
  for (std::size_t u = 0; u < kUnits; ++u) {
    progress[u] = {units_[u]->started(), units_[u]->started()};
  }
  const std::string waiting = who_waits(*run_.program, progress);
  QSIM_CHECK(waiting.empty(), "deadlock: no unit can go on" + waiting);
}

}  // namespace qsim::sim
