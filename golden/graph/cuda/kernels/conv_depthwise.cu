// The depthwise convolution on the host: which tasks it takes, the packed filters, the launch.
#include <string>
#include <vector>

#include "core/base/checked_math.h"
#include "golden/graph/cuda/kernels/conv_depthwise.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr std::int64_t kMost = 1 << 30;
constexpr int kManyRows = 4;  // of output pixels of a thread

// Words, coordinates and threads are 31-bit integers in the kernels.
bool takes(const ConvTask& task) {
  const ImageShape& in = task.input.shape;
  const ImageShape& out = task.ofmap.shape;
  const Window& w = task.window;
  return task.groups == in.channels && out.channels == in.channels && task.groups > 1 &&
         in.channels % 4 == 0 && task.weight_parts == 1 && !task.pool && !task.addition &&
         out.batch * out.height * out.width * in.channels < kMost &&
         in.width * in.channels < kMost && w.kernel_h * (w.kernel_w + 3) * in.channels < kMost &&
         in.height + w.pad_top + w.pad_bottom < kMost / 2 &&
         in.width + w.pad_left + w.pad_right < kMost / 2 &&
         w.extent_h() + 4 * w.stride_h < kMost / 2 && w.extent_w() + 4 * w.stride_w < kMost / 2 &&
         (w.kernel_w + 3) * w.dilation_w < kMost / 2;
}

bool is_3x3(const Window& w) {
  return w.kernel_h == 3 && w.kernel_w == 3 && w.dilation_h == 1 && w.dilation_w == 1 &&
         w.stride_h == w.stride_w && w.stride_h <= 2;
}

// As Depthwise::weights, byte by byte.
std::vector<std::int8_t> pack_filters(const ConvTask& task, int parts) {
  const Window& w = task.window;
  const std::int64_t channels = task.input.shape.channels;
  std::vector<std::int8_t> packed(static_cast<std::size_t>(w.kernel_h * parts * channels * 4), 0);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t ky = 0; ky < w.kernel_h; ++ky) {
      for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
        const std::int64_t at = ((ky * parts + kx / 4) * channels + c) * 4 + kx % 4;
        packed[static_cast<std::size_t>(at)] =
            task.weights[(c * w.kernel_h + ky) * w.kernel_w + kx];
      }
    }
  }
  return packed;
}

using KernelFunction = void (*)(Depthwise);

template <bool kUnsigned, FinishKind kKind>
KernelFunction by_window(int stride, int rows) {
  if (stride == 1) {
    return rows == 1 ? depthwise_3x3_kernel<kUnsigned, kKind, 1, 1>
                     : depthwise_3x3_kernel<kUnsigned, kKind, 1, kManyRows>;
  }
  if (stride == 2) {
    return rows == 1 ? depthwise_3x3_kernel<kUnsigned, kKind, 2, 1>
                     : depthwise_3x3_kernel<kUnsigned, kKind, 2, kManyRows>;
  }
  return depthwise_kernel<kUnsigned, kKind>;
}

template <bool kUnsigned>
KernelFunction by_kind(FinishKind kind, int stride, int rows) {
  switch (kind) {
    case FinishKind::kShift:
      return by_window<kUnsigned, FinishKind::kShift>(stride, rows);
    case FinishKind::kScale:
      return by_window<kUnsigned, FinishKind::kScale>(stride, rows);
    case FinishKind::kGeneral:
      break;
  }
  return depthwise_kernel<kUnsigned, FinishKind::kGeneral>;
}

class ConvDepthwise : public Kernel {
 public:
  explicit ConvDepthwise(const ConvTask& task) : stage_(task), is_3x3_(is_3x3(task.window)) {
    const FinishKind kind = finish_kind(stage_.params());
    is_3x3_ = is_3x3_ && kind != FinishKind::kGeneral;
    set_geometry(task);
    weights_ = upload(pack_filters(task, conv_.parts));
    conv_.input = reinterpret_cast<const std::uint32_t*>(task.input_data);
    conv_.weights = weights_.as<std::uint32_t>();
    conv_.output = reinterpret_cast<std::uint32_t*>(task.output_data);
    conv_.params = stage_.params();
    conv_.fill = 0x01010101U * static_cast<std::uint8_t>(task.input.zero_point);
    const int rows = set_threads(task);
    const int stride = is_3x3_ ? conv_.stride_h : 0;
    kernel_ = task.input.is_unsigned() ? by_kind<true>(kind, stride, rows)
                                       : by_kind<false>(kind, stride, rows);
  }

  void launch(cudaStream_t stream) const override {
    launch_kernel("launching conv_depthwise", kernel_, ceil_div(conv_.threads, kDepthwiseThreads),
                  kDepthwiseThreads, 0, stream, conv_);
  }

  std::string name() const override { return is_3x3_ ? "conv_depthwise 3x3" : "conv_depthwise"; }

 private:
  void set_geometry(const ConvTask& task) {
    const Window& w = task.window;
    conv_.height = static_cast<int>(task.input.shape.height);
    conv_.width = static_cast<int>(task.input.shape.width);
    conv_.words = static_cast<int>(task.input.shape.channels / 4);
    conv_.out_height = static_cast<int>(task.ofmap.shape.height);
    conv_.out_width = static_cast<int>(task.ofmap.shape.width);
    conv_.kernel_h = static_cast<int>(w.kernel_h);
    conv_.kernel_w = static_cast<int>(w.kernel_w);
    conv_.stride_h = static_cast<int>(w.stride_h);
    conv_.stride_w = static_cast<int>(w.stride_w);
    conv_.pad_top = static_cast<int>(w.pad_top);
    conv_.pad_left = static_cast<int>(w.pad_left);
    conv_.dilation_h = static_cast<int>(w.dilation_h);
    conv_.dilation_w = static_cast<int>(w.dilation_w);
    conv_.parts = static_cast<int>(ceil_div(w.kernel_w, 4));
  }

  // Returns the rows of a thread: several where that leaves enough threads for the device.
  int set_threads(const ConvTask& task) {
    constexpr std::int64_t kThreadsToFill = 1024;  // a multiprocessor
    const std::int64_t batch = task.ofmap.shape.batch;
    const std::int64_t columns = is_3x3_ ? ceil_div(conv_.out_width, 2) : conv_.out_width;
    const std::int64_t lines = batch * columns * conv_.words;
    std::int64_t rows = 1;
    if (is_3x3_ &&
        lines * ceil_div(conv_.out_height, kManyRows) >= kThreadsToFill * task.multiprocessors) {
      rows = kManyRows;
    }
    const std::int64_t height = ceil_div(conv_.out_height, rows);
    conv_.by_word = FastDivisor(conv_.words);
    conv_.by_column = FastDivisor(static_cast<std::int32_t>(columns));
    conv_.by_row = FastDivisor(static_cast<std::int32_t>(height));
    conv_.threads = static_cast<int>(lines * height);
    return static_cast<int>(rows);
  }

  OutputStage stage_;
  bool is_3x3_;
  DeviceBuffer weights_;
  Depthwise conv_{};
  KernelFunction kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_conv_depthwise(const ConvTask& task) {
  return takes(task) ? std::make_unique<ConvDepthwise>(task) : nullptr;
}

}  // namespace qsim::golden::cuda
