// Builds layers with random tensors, one after the other or in branches, for the tests of the CUDA
// golden: the shapes are chosen by the caller, everything else is drawn.
#pragma once

#include "core/base/random.h"
#include "core/network/graph.h"

namespace qsim::golden_test {

// dtype, scale, and a zero point that is often 0, often the dtype's middle or end, and sometimes
// anything.
Value random_quantization(Random& random, const ImageShape& shape);

// How a layer's numbers are drawn.
enum class Numbers : std::uint8_t {
  kAny,     // every rounding mode, shift and clamp, some clamps below the zero point; wide sums
  kUsual,   // half_even, sums that fit 32 bits; zero points mostly 0: what fast kernels take
  kPlain,   // half_even with one shift a layer, zero points 0 and no clamp
  kScaled,  // requantizers a channel that round as float32, and zero points: what ONNX files have
};

class NetworkBuilder {
 public:
  NetworkBuilder(Random& random, const Value& input, Numbers numbers = Numbers::kAny);

  // Each appends a layer that reads the last one's output, or the tensor that read() has named.
  // Most ofmaps are not saturated.
  NetworkBuilder& conv2d(std::int64_t out_channels, const Window& window, std::int64_t groups = 1);
  NetworkBuilder& fully_connected(std::int64_t out_channels);
  NetworkBuilder& max_pool(const Window& window, bool ceil_mode = false);
  NetworkBuilder& relu();
  NetworkBuilder& flatten(Flatten::Order order);
  // The last output plus `other`, of its shape; or in the other order.
  NetworkBuilder& add(TensorId other, bool other_is_first = false);
  NetworkBuilder& global_average_pool();
  NetworkBuilder& lookup_table();
  // Reads `tensor` next.
  NetworkBuilder& read(TensorId tensor);
  TensorId tensor() const { return current_; }

  const ImageShape& shape() const { return current().shape; }
  // The valid graph.
  Graph build() const;
  // To be changed by a test; what build() gives must still be valid.
  Graph& graph() { return graph_; }

 private:
  const Value& current() const;
  void append(const char* kind, Operation operation, const Value& output);
  void append(const char* kind, Operation operation, std::vector<TensorId> inputs,
              const Value& output);
  void set_requantizers(Requantization& rq, std::int64_t count, std::int64_t depth);
  Value quantization(const ImageShape& shape);
  Requantization requantization(const Value& output, std::int64_t depth);
  Tensor bias(std::int64_t channels, std::int64_t depth);

  Random& random_;
  Numbers numbers_;
  Graph graph_;
  TensorId current_;
};

// Square windows: the same stride and pads on every side.
Window square(std::int64_t kernel, std::int64_t stride = 1, std::int64_t pad = 0);

}  // namespace qsim::golden_test
