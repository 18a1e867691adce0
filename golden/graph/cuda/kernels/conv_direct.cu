// Convolution as plain loops, one output byte a thread: any shape, the witness of the tensor-core
// kernels on the device. Sums wrap as the numeric contract says.
#include <string>
#include <vector>

#include "golden/device/launch.cuh"
#include "golden/graph/cuda/kernels/finish.cuh"

namespace qsim::golden::cuda {
namespace {

constexpr int kThreads = 256;

struct DirectConv {
  const std::uint8_t* input;
  // [weight_parts][kernel_h][kernel_w][Cin / groups][Cout]: neighbours read neighbours
  const std::int8_t* weights;
  std::uint8_t* output;
  OutputParams params;
  ImageShape in;
  ImageShape ofmap;
  Window window;
  std::int64_t group_channels;  // input channels of a group
  std::int64_t group_outputs;
  int weight_parts;
  std::int32_t zero_point;
  bool is_unsigned;
  bool pool;
};

// The sum of one output element over raw activations; outside the picture lies the zero point.
__device__ std::int32_t accumulate(const DirectConv& conv, std::int64_t n, std::int64_t oy,
                                   std::int64_t ox, std::int64_t co) {
  const Window& w = conv.window;
  const std::int64_t first = co / conv.group_outputs * conv.group_channels;
  const std::int8_t* weight = conv.weights + co;
  std::uint32_t acc = 0;
  for (std::int64_t row = 0; row < conv.weight_parts * w.kernel_h; ++row) {
    const std::int64_t y = oy * w.stride_h + row % w.kernel_h * w.dilation_h - w.pad_top;
    for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const std::int64_t x = ox * w.stride_w + kx * w.dilation_w - w.pad_left;
      const bool inside = y >= 0 && y < conv.in.height && x >= 0 && x < conv.in.width;
      const std::uint8_t* pixel =
          conv.input + ((n * conv.in.height + y) * conv.in.width + x) * conv.in.channels + first;
      for (std::int64_t ci = 0; ci < conv.group_channels; ++ci, weight += conv.ofmap.channels) {
        const std::int32_t value =
            inside ? activation(pixel[ci], conv.is_unsigned) : conv.zero_point;
        acc += static_cast<std::uint32_t>(value * *weight);
      }
    }
  }
  return static_cast<std::int32_t>(acc);
}

__device__ std::int32_t output_value(const DirectConv& conv, std::int64_t n, std::int64_t oy,
                                     std::int64_t ox, std::int64_t co) {
  const std::int32_t acc = accumulate(conv, n, oy, ox, co);
  return finish(conv.params, acc, static_cast<int>(co));
}

__global__ void __launch_bounds__(kThreads) conv_direct_kernel(const DirectConv conv) {
  begin_kernel();
  const int side = conv.pool ? 2 : 1;
  const std::int64_t height = conv.ofmap.height / side;
  const std::int64_t width = conv.ofmap.width / side;
  const std::int64_t count = conv.ofmap.batch * height * width * conv.ofmap.channels;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t co = i % conv.ofmap.channels;
    const std::int64_t pixel = i / conv.ofmap.channels;
    const std::int64_t ox = pixel % width * side;
    const std::int64_t oy = pixel / width % height * side;
    const std::int64_t n = pixel / width / height;
    std::int32_t value = conv.params.lo;  // no output is smaller
    for (int dy = 0; dy < side; ++dy) {
      for (int dx = 0; dx < side; ++dx) {
        value = max(value, output_value(conv, n, oy + dy, ox + dx, co));
      }
    }
    conv.output[i] = static_cast<std::uint8_t>(value);
  }
}

std::vector<std::int8_t> channels_last(const ConvTask& task) {
  const std::int64_t out_channels = task.ofmap.shape.channels;
  const std::int64_t depth = task.depth();
  std::vector<std::int8_t> packed(static_cast<std::size_t>(depth * out_channels));
  for (std::int64_t co = 0; co < out_channels; ++co) {
    for (std::int64_t k = 0; k < depth; ++k) {
      packed[static_cast<std::size_t>(k * out_channels + co)] = task.weights[co * depth + k];
    }
  }
  return packed;
}

class ConvDirect : public Kernel {
 public:
  explicit ConvDirect(const ConvTask& task) : weights_(upload(channels_last(task))), stage_(task) {
    conv_.input = task.input_data;
    conv_.weights = weights_.as<std::int8_t>();
    conv_.output = task.output_data;
    conv_.params = stage_.params();
    conv_.in = task.input.shape;
    conv_.ofmap = task.ofmap.shape;
    conv_.window = task.window;
    conv_.group_channels = task.input.shape.channels / task.groups;
    conv_.group_outputs = task.ofmap.shape.channels / task.groups;
    conv_.weight_parts = task.weight_parts;
    conv_.zero_point = task.input.zero_point;
    conv_.is_unsigned = task.input.is_unsigned();
    conv_.pool = task.pool;
  }

  void launch(cudaStream_t stream) const override {
    const ImageShape& out = conv_.ofmap;
    const std::int64_t outputs =
        out.batch * out.height * out.width * out.channels / (conv_.pool ? 4 : 1);
    launch_kernel("launching conv_direct", conv_direct_kernel,
                  grid_stride_blocks(outputs, kThreads), kThreads, 0, stream, conv_);
  }

  std::string name() const override { return "conv_direct"; }

 private:
  DeviceBuffer weights_;
  OutputStage stage_;
  DirectConv conv_{};
};

}  // namespace

std::unique_ptr<Kernel> make_conv_direct(const ConvTask& task) {
  return task.addition ? nullptr : std::make_unique<ConvDirect>(task);
}

}  // namespace qsim::golden::cuda
