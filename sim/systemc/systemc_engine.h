// The engine that runs a Program on the SystemC model of the accelerator: real bytes, counted
// cycles. SystemC elaborates once a process, so a process has one of these engines at most; it may
// run any number of programs, one after the other.
#pragma once

#include <memory>
#include <optional>

#include "core/machine/engine.h"
#include "sim/systemc/datapath/vector_path.h"

namespace qsim::sim {

struct SystemcEngineOptions {
  std::optional<VectorPath> vector_path;  // absent: the best that this processor supports
};

// Throws InternalError when the process has had such an engine already.
std::unique_ptr<Engine> make_systemc_engine(const SystemcEngineOptions& options = {});

}  // namespace qsim::sim
