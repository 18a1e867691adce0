// Executes a Graph on the CPU, in float32 in a defined order: the same bits from the plain
// loops and from every vector path, on every processor and for any number of threads. It is the
// float network of calibration and `qsim eval`; with rules for its tensors it is the network in
// fake quantization.
//
// The order (docs/reference/golden.md): a sum over products runs in the order ky, kx, ci (input
// channels of the group last), by fused multiply-add, in chunks of kChunk products that each start
// at zero; the chunk sums are added in order to the bias. Average pools add in the order ky, kx.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "golden/common/vector_path.h"
#include "golden/graph/real/layer_weights.h"
#include "golden/graph/real/real_rules.h"

namespace qsim::golden {

inline constexpr std::int64_t kChunk = 256;

struct RealExecutorOptions {
  bool plain = false;                          // the plain loops
  VectorPath vector_path = VectorPath::kAuto;  // of the optimised path
  // By tensor of the graph: what becomes of its values right after they are computed (of the
  // input: before the first layer). Empty, or one a tensor.
  std::vector<std::optional<TensorRule>> rules = {};
  // By layer of the graph: integers in place of its float weights, and perhaps of its input.
  std::map<std::size_t, RealLayerWeights> layer_weights = {};
};

// Of the network's mode: in fake quantization the rules and the float weights, else the integers.
RealExecutorOptions executor_options(const HybridNetwork& network);

// Holds packed weights. The graph must outlive it.
class RealExecutor {
 public:
  // Told of each tensor of the graph (its rule applied) when it is there, in the order of layers;
  // the input first. The tensor is freed after its last reader.
  using OnTensor = std::function<void(TensorId, const Tensor&)>;

  explicit RealExecutor(const Graph& graph, const RealExecutorOptions& options = {});
  ~RealExecutor();
  RealExecutor(const RealExecutor&) = delete;
  RealExecutor& operator=(const RealExecutor&) = delete;

  // `input` is float32 [N][H][W][C] with any N of at least 1; the other sizes are the graph's.
  // Returns the graph's output, float32 NHWC, without the host's tail. The team divides pictures
  // and rows; it changes no bit. Several threads may run at once, each with a team of its own. The
  // executor keeps the memory of its tensors for the next run. Throws Error for an input of another
  // shape or dtype.
  Tensor run(const Tensor& input, ThreadTeam& team, const OnTensor& on_tensor = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qsim::golden
