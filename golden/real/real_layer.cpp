#include "golden/real/real_layer.h"

#include <algorithm>

#include "golden/real/reference_layers.h"

namespace qsim::golden {
namespace {

// Elements below which starting a thread costs more than it saves.
constexpr std::int64_t kLeastPart = 16384;

class PlainLayer : public RealLayerRunner {
 public:
  explicit PlainLayer(const Layer& layer) : layer_(layer) {}

  void run(RealOperands operands, Tensor& output, ThreadTeam&) const override {
    visit_real(layer_.operation,
               [&](const auto& operation) { reference(operation, operands, output); });
  }

 private:
  const Layer& layer_;
};

}  // namespace

RealRunner make_plain_layer(const Layer& layer) { return std::make_unique<PlainLayer>(layer); }

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
