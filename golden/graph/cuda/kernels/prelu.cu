// PRelu: a table of 256 bytes for each slope.
#include <string>

#include "golden/device/device_buffer.h"
#include "golden/device/launch.cuh"
#include "golden/graph/cuda/tasks.h"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;

// `tables` is [channels][256]; one table is that of one channel.
__global__ void __launch_bounds__(kThreads)
    prelu_kernel(const std::uint8_t* tables, const std::uint8_t* input, std::uint8_t* output,
                 std::int64_t count, std::int64_t channels) {
  begin_kernel();
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    output[i] = tables[i % channels * 256 + input[i]];
  }
}

class PReluKernel : public Kernel {
 public:
  explicit PReluKernel(const PReluTask& task)
      : task_(task),
        tables_(upload_bytes(task.tables.data(), task.tables.size() * sizeof(ByteTable))) {}

  void launch(cudaStream_t stream) const override {
    launch_kernel("launching prelu", prelu_kernel, grid_stride_blocks(task_.count, kThreads),
                  kThreads, 0, stream, tables_.as<std::uint8_t>(), task_.input_data,
                  task_.output_data, task_.count, static_cast<std::int64_t>(task_.tables.size()));
  }

  std::string name() const override { return "prelu"; }

 private:
  PReluTask task_;
  DeviceBuffer tables_;
};

}  // namespace

std::unique_ptr<Kernel> make_prelu(const PReluTask& task) {
  return std::make_unique<PReluKernel>(task);
}

}  // namespace qsim::golden::cuda
