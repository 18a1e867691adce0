#include "golden/graph/real/real_layer.h"

#include <algorithm>

namespace qsim::golden {
namespace {

// Elements below which starting a thread costs more than it saves.
constexpr std::int64_t kLeastPart = 16384;

}  // namespace

RealRunner make_optimised_layer(const Layer& layer, const ProductKernels& kernels) {
  RealRunner runner;
  visit_real(layer.operation,
             [&](const auto& operation) { runner = make_runner(operation, kernels); });
  return runner;
}

void divide(ThreadTeam& team, std::int64_t count, std::int64_t cost,
            const std::function<void(std::int64_t, std::int64_t)>& work) {
  const std::int64_t useful = count * cost / kLeastPart;
  const std::int64_t parts =
      std::clamp<std::int64_t>(useful, 1, std::min<std::int64_t>(count, 4 * team.threads()));
  team.run(static_cast<std::size_t>(parts), [&](std::size_t part) {
    const auto p = static_cast<std::int64_t>(part);
    work(count * p / parts, count * (p + 1) / parts);
  });
}

}  // namespace qsim::golden
