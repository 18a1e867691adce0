// One layer made ready to run: what RealExecutor keeps for each layer of its graph, which must
// outlive it.
#pragma once

#include <memory>
#include <span>

#include "core/network/graph.h"
#include "golden/common/thread_team.h"
#include "golden/graph/real/product_kernels.h"

namespace qsim::golden {

// The tensors that a layer reads, in the order of its operands.
using RealOperands = std::span<const Tensor* const>;

class RealLayerRunner {
 public:
  virtual ~RealLayerRunner() = default;
  // Operands and output are float32 [N][H][W][C] of the layer's shapes, with any N. Every element
  // of `output` is written. It is none of the operands, or the only one where in_place().
  virtual void run(RealOperands operands, Tensor& output, ThreadTeam& team) const = 0;
  // Whether the output may be the operand itself: each element depends on that element alone.
  virtual bool in_place() const { return false; }
};

using RealRunner = std::unique_ptr<RealLayerRunner>;

RealRunner make_plain_layer(const Layer& layer);
RealRunner make_optimised_layer(const Layer& layer, const ProductKernels& kernels);

// The optimised path, an operation each.
RealRunner make_runner(const Conv2d& conv, const ProductKernels& kernels);
RealRunner make_depthwise(const Conv2d& conv, const ProductKernels& kernels);
RealRunner make_runner(const FullyConnected& fc, const ProductKernels& kernels);
RealRunner make_runner(const MaxPool& pool, const ProductKernels& kernels);
RealRunner make_runner(const AveragePool& pool, const ProductKernels& kernels);
RealRunner make_runner(const Add& add, const ProductKernels& kernels);
RealRunner make_runner(const Concat& concat, const ProductKernels& kernels);
RealRunner make_runner(const Activation& activation, const ProductKernels& kernels);
RealRunner make_runner(const PRelu& prelu, const ProductKernels& kernels);
RealRunner make_runner(const Flatten& flatten, const ProductKernels& kernels);

// Calls work(first, last) for parts of 0..count - 1 that lie beside each other, on the team's
// threads; `cost` is that of one number in elements, so that small work stays on one thread.
void divide(ThreadTeam& team, std::int64_t count, std::int64_t cost,
            const std::function<void(std::int64_t first, std::int64_t last)>& work);

}  // namespace qsim::golden
