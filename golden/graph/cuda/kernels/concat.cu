// Concatenation of channels: a copy of each operand's pixels into its slice of the output's.
#include <algorithm>
#include <numeric>
#include <string>

#include "golden/device/launch.cuh"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;

// Sizes and places count units of sizeof(Unit) bytes.
template <typename Unit>
__global__ void __launch_bounds__(kThreads)
    concat_kernel(const Unit* input, Unit* output, std::int64_t count, std::int64_t channels,
                  std::int64_t first, std::int64_t all_channels) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t pixel = i / channels;
    output[pixel * all_channels + first + (i - pixel * channels)] = input[i];
  }
}

class Concatenation : public Kernel {
 public:
  explicit Concatenation(const ConcatTask& task) : task_(task) {
    for (const std::int64_t channels : task.channels) unit_ = std::gcd(unit_, channels);
  }

  void launch(cudaStream_t stream) const override {
    if (unit_ == 16) return copy_all<uint4>(stream);
    if (unit_ == 8) return copy_all<uint2>(stream);
    if (unit_ == 4) return copy_all<std::uint32_t>(stream);
    copy_all<std::uint8_t>(stream);
  }

  std::string name() const override { return "concat"; }

 private:
  template <typename Unit>
  void copy_all(cudaStream_t stream) const {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Unit));
    const ImageShape& out = task_.output.shape;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < task_.channels.size(); ++i) {
      const std::int64_t channels = task_.channels[i] / kBytes;
      const std::int64_t count = out.batch * out.height * out.width * channels;
      launch_kernel("launching concat", concat_kernel<Unit>, grid_stride_blocks(count, kThreads),
                    kThreads, 0, stream, reinterpret_cast<const Unit*>(task_.input_data[i]),
                    reinterpret_cast<Unit*>(task_.output_data), count, channels, first,
                    out.channels / kBytes);
      first += channels;
    }
  }

  ConcatTask task_;
  std::int64_t unit_ = 16;  // bytes; divides every operand's channels
};

}  // namespace

std::unique_ptr<Kernel> make_concat(const ConcatTask& task) {
  return std::make_unique<Concatenation>(task);
}

}  // namespace qsim::golden::cuda
