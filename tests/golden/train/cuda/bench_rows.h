// Rows of golden_train_forward_cuda_check bench: how one is timed, and what its call points to.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "golden/device/device_buffer.h"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "tests/golden/train/cuda/forward_check_commands.h"

namespace qsim::golden_test {

struct Work {
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  double operations = 0;  // of tensor cores
};

using EnqueueCall = std::function<void(cudaStream_t)>;

// Prints a row: the median, and its ratio to a copy of as many bytes or to the tensor cores' time,
// whichever is longer. `make(i)` makes the call on the buffers i.
void bench(const BenchForwardOptions& options, const std::string& name, const Work& work,
           const std::function<EnqueueCall(int)>& make);

// Random bytes, or floats near 1.
std::shared_ptr<golden::cuda::DeviceBuffer> random_buffer(std::int64_t bytes, bool floats);

std::int64_t size_of(golden::train::RealType type);
const char* name_of(golden::train::RealType type);
std::string text_of(const ImageShape& shape);

// Without gaps.
golden::train::RealTensor bench_tensor(const ImageShape& shape, golden::train::RealType type,
                                       bool nchw, void* data);

// Everything that a case's call points to.
struct Holder {
  std::vector<std::shared_ptr<golden::cuda::DeviceBuffer>> buffers;
  template <typename T>
  T* add(std::int64_t count, bool floats = false) {
    buffers.push_back(random_buffer(count * static_cast<std::int64_t>(sizeof(T)), floats));
    return buffers.back()->as<T>();
  }
};

template <typename Call>
EnqueueCall enqueued(const Call& call, Holder holder) {
  void* workspace = holder.add<std::uint8_t>(std::max<std::int64_t>(
      1, static_cast<std::int64_t>(golden::train::cuda::workspace_bytes(call))));
  return [=](cudaStream_t stream) {
    (void)holder;
    golden::train::cuda::enqueue(call, workspace, stream);
  };
}

// A convolution of square pictures.
struct ConvRow {
  std::int64_t batch, size, channels, outs, kernel;
  std::int64_t stride = 1, groups = 1;
  bool has_zero_point = false;

  golden::train::LevelConv conv(Holder& holder) const {
    golden::train::LevelConv made = shapes();
    made.q = holder.add<std::int8_t>(batch * size * size * channels);
    made.w = holder.add<std::int8_t>(outs * made.depth());
    if (has_zero_point) {
      const std::vector<std::int32_t> one = {-7};
      holder.buffers.push_back(
          std::make_shared<golden::cuda::DeviceBuffer>(golden::cuda::upload(one)));
      made.zero_point = holder.buffers.back()->as<std::int32_t>();
    }
    return made;
  }
  golden::train::LevelConv shapes() const {
    golden::train::LevelConv made;
    made.x_shape = {batch, size, size, channels};
    const std::int64_t pad = kernel / 2, y_size = (size + 2 * pad - kernel) / stride + 1;
    made.y_shape = {batch, y_size, y_size, outs};
    made.window = {kernel, kernel, stride, stride, pad, pad, pad, pad, 1, 1};
    made.groups = groups;
    return made;
  }
  // What a kernel reads, without y, and computes.
  Work work() const {
    const golden::train::LevelConv made = shapes();
    return {batch * size * size * channels + outs * made.depth(), 0,
            2.0 * static_cast<double>(made.pixels() * outs) * static_cast<double>(made.depth())};
  }
  std::string text() const {
    return " " + text_of(ImageShape{batch, size, size, channels}) + " -> " + std::to_string(outs) +
           " " + std::to_string(kernel) + "x" + std::to_string(kernel) +
           (stride > 1 ? " stride " + std::to_string(stride) : "") +
           (groups > 1 ? " groups " + std::to_string(groups) : "") +
           (has_zero_point ? " zero_point" : "");
  }
};

}  // namespace qsim::golden_test
