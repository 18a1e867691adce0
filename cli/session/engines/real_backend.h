// A float network on the CPU or a GPU, as --backend says: the same bits from both.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/session/engines/golden_backend.h"
#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "golden/graph/real/real_executor.h"

namespace qsim::cli {

// Executes one Graph, which must outlive it, on inputs one after the other.
class RealRunner {
 public:
  virtual ~RealRunner() = default;
  virtual GoldenBackend backend() const = 0;
  // Does what RealExecutor::run() does: on the CPU for several threads at once, on a GPU for one.
  virtual Tensor run(const Tensor& input, golden::ThreadTeam& team) = 0;
};

// Makes a runner on the selection's first backend, with memory for `pictures` pictures at a time.
// Falls back to the CPU as GoldenSelection::runner() does. Throws Error.
std::unique_ptr<RealRunner> make_real_runner(GoldenSelection& selection, const Graph& graph,
                                             const golden::RealExecutorOptions& options,
                                             std::int64_t pictures);

}  // namespace qsim::cli
