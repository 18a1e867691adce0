// Times of gradients with cold caches, beside their limits: a copy that reads and writes as many
// bytes, and 800 TFLOP/s of bfloat16 products (what a large matrix product of PyTorch reaches).
#include <cstdio>
#include <functional>

#include "core/base/random.h"
#include "golden/device/cold_timer.h"
#include "golden/device/cuda_error.h"
#include "golden/device/device_buffer.h"
#include "golden/device/mixed_copy.h"
#include "golden/kernels/train/cuda/train_cuda.h"
#include "tests/golden/train/cuda/gradient_commands.h"

namespace qsim::golden_test {
namespace {

namespace cuda = golden::cuda;
namespace train = golden::train;
using cuda::DeviceBuffer;
using train::RealTensor;
using train::RealType;

constexpr double kProductRate = 800e12;
constexpr int kMostRotations = 24;

// Small numbers in float32 and bfloat16, and levels: a piece of random bytes, repeated.
DeviceBuffer filled(std::int64_t bytes, bool floats) {
  Random random(1);
  std::vector<std::uint32_t> piece(std::size_t{1} << 16);
  for (std::uint32_t& word : piece) {
    word = static_cast<std::uint32_t>(random.next());
    if (floats) word = (word & 0x807F807Fu) + 0x3F003F00u;
  }
  DeviceBuffer buffer(static_cast<std::size_t>(bytes) + 16);
  std::size_t done = std::min(piece.size() * 4, buffer.bytes());
  cuda::check(cudaMemcpy(buffer.as<char>(), piece.data(), done, cudaMemcpyHostToDevice),
              "filling a buffer");
  for (; done < buffer.bytes(); done = std::min(2 * done, buffer.bytes())) {
    cuda::check(cudaMemcpy(buffer.as<char>() + done, buffer.as<char>(),
                           std::min(done, buffer.bytes() - done), cudaMemcpyDeviceToDevice),
                "filling a buffer");
  }
  return buffer;
}

struct Layer {
  std::string name;
  std::int64_t batch, in, out, size, kernel;
  bool nchw = false;  // dy and dx; they are float32 then, else bfloat16
  std::int64_t stride = 1, groups = 1;

  std::int64_t y_size() const { return (size + kernel / 2 * 2 - kernel) / stride + 1; }
  std::int64_t y_pixels() const { return batch * y_size() * y_size(); }
  std::int64_t x_pixels() const { return batch * size * size; }
  // The pixels of x that meet a tap.
  std::int64_t used_pixels() const { return kernel < stride ? y_pixels() : x_pixels(); }
};

RealTensor real(const DeviceBuffer& buffer, std::array<std::int64_t, 4> shape, bool nchw) {
  RealTensor tensor;
  tensor.data = buffer.as<void>();
  tensor.type = nchw ? RealType::kFloat32 : RealType::kBfloat16;
  tensor.shape = shape;
  const auto [b, h, w, c] = shape;
  tensor.strides = nchw ? std::array{h * w * c, w, 1L, h * w} : std::array{h * w * c, w * c, c, 1L};
  return tensor;
}

// One set of a layer's buffers.
struct Buffers {
  explicit Buffers(const Layer& layer)
      : real_bytes(layer.nchw ? 4 : 2),
        depth(layer.kernel * layer.kernel * layer.in / layer.groups),
        dy(filled(layer.y_pixels() * layer.out * real_bytes, true)),
        dx(filled(layer.x_pixels() * layer.in * real_bytes, true)),
        g(filled(layer.y_pixels() * layer.out * 2, true)),
        q(filled(layer.x_pixels() * layer.in, false)),
        passes(filled(layer.x_pixels() * std::max(layer.in, layer.out) / 8, false)),
        w(filled(layer.out * depth, false)),
        w_passes(filled(layer.out * depth / 8, false)),
        dw(filled(layer.out * depth * 4, true)),
        scales(filled(layer.out * 4, true)),
        bias(filled(layer.out * 4, true)),
        shape{layer.batch, layer.size, layer.size, layer.in},
        y_shape{layer.batch, layer.y_size(), layer.y_size(), layer.out} {
    conv.q = q.as<std::int8_t>();
    conv.w = w.as<std::int8_t>();
    conv.x_shape = {layer.batch, layer.size, layer.size, layer.in};
    conv.y_shape = {layer.batch, layer.y_size(), layer.y_size(), layer.out};
    conv.groups = layer.groups;
    Window& window = conv.window;
    window.stride_h = window.stride_w = layer.stride;
    window.kernel_h = window.kernel_w = layer.kernel;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = layer.kernel / 2;
  }

  std::int64_t real_bytes, depth;
  DeviceBuffer dy, dx, g, q, passes, w, w_passes, dw, scales, bias;
  std::array<std::int64_t, 4> shape, y_shape;
  train::LevelConv conv;
};

class Bench {
 public:
  explicit Bench(const std::string& only) : only_(only) {}

  void layer(const Layer& layer, bool has_dx) {
    const Buffers one(layer);
    const std::int64_t y = layer.y_pixels() * layer.out;
    const std::int64_t x = layer.x_pixels() * layer.in;
    const std::int64_t used = layer.used_pixels() * layer.in;
    const std::int64_t weights = layer.out * one.depth;
    const double flops = 2.0 * static_cast<double>(layer.y_pixels() * weights);
    time<train::GradientOperand>(layer, "operand", y * one.real_bytes + y / 8, y * 2, 0,
                                 [](const Layer& of, const Buffers& b) {
                                   return train::GradientOperand{
                                       real(b.dy, b.y_shape, of.nchw), b.passes.as(),
                                       b.g.as<std::uint16_t>(), b.bias.as<float>()};
                                 });
    if (has_dx) {
      time<train::ConvInputGradient>(layer, "input", y * 2 + weights + used / 8, x * one.real_bytes,
                                     flops, [](const Layer& of, const Buffers& b) {
                                       return train::ConvInputGradient{
                                           b.conv, b.scales.as<float>(), b.g.as<std::uint16_t>(),
                                           b.passes.as(), real(b.dx, b.shape, of.nchw)};
                                     });
    }
    time<train::ConvWeightGradient>(
        layer, "weight", y * 2 + used + weights / 8, weights * 4, flops,
        [](const Layer& of, const Buffers& b) {
          RealTensor dw = real(b.dw, {of.out, of.kernel, of.kernel, of.in / of.groups}, false);
          dw.type = RealType::kFloat32;
          return train::ConvWeightGradient{b.conv, b.scales.as<float>(), b.g.as<std::uint16_t>(),
                                           b.w_passes.as(), dw};
        });
  }

  void pool(const Layer& layer) {
    const std::int64_t x = layer.batch * layer.in * layer.size * layer.size;
    time<train::MaxPoolGradient>(
        layer, "pool", x + x / 8 + x / 4 * 2, x * 2, 0, [](const Layer& of, const Buffers& b) {
          train::MaxPoolGradient call;
          call.q = b.q.as<std::int8_t>();
          call.x_shape = b.conv.x_shape;
          call.y_shape = {of.batch, of.size / 2, of.size / 2, of.in};
          call.window = Window{2, 2, 2, 2};
          call.dy = real(b.dy, {of.batch, of.size / 2, of.size / 2, of.in}, false);
          call.passes = b.passes.as();
          call.dx = real(b.dx, b.shape, false);
          return call;
        });
  }

 private:
  // Times a plain copy that reads and writes as many bytes, or less where few bytes need many
  // buffers.
  double copy_seconds(std::int64_t read, std::int64_t written) {
    const std::int64_t from_bytes = (read + 15) / 16 * 16;
    const std::int64_t to_bytes = (written + 15) / 16 * 16;
    const int rotations =
        std::min(cuda::cold_rotations(static_cast<std::size_t>(read + written)), kMostRotations);
    const DeviceBuffer from(static_cast<std::size_t>(from_bytes * rotations));
    const DeviceBuffer to(static_cast<std::size_t>(to_bytes * rotations));
    const std::vector<double> seconds = cuda::time_cold(
        stream_, rotations,
        [&](int i) {
          cuda::launch_mixed_copy(from.as<char>() + i * from_bytes, from_bytes,
                                  to.as<char>() + i * to_bytes, to_bytes, stream_.get());
        },
        {8, 9});
    return seconds[seconds.size() / 2];
  }

  template <typename Call>
  void time(const Layer& layer, const char* what, std::int64_t read, std::int64_t written,
            double flops, const std::function<Call(const Layer&, const Buffers&)>& make) {
    const std::string name = layer.name + " " + what;
    if (name.find(only_) == std::string::npos) return;
    const int rotations =
        std::min(cuda::cold_rotations(static_cast<std::size_t>(read + written)), kMostRotations);
    std::vector<Buffers> sets;
    std::vector<Call> calls;
    for (int i = 0; i < rotations; ++i) {
      sets.emplace_back(layer);
      calls.push_back(make(layer, sets.back()));
    }
    const DeviceBuffer workspace(train::cuda::workspace_bytes(calls[0]) + 256);
    const std::vector<double> seconds =
        cuda::time_cold(stream_, rotations,
                        [&](int i) {
                          train::cuda::enqueue(calls[static_cast<std::size_t>(i)],
                                               workspace.as<void>(), stream_.get());
                        },
                        {8, 9});
    const double median = seconds[seconds.size() / 2];
    const double copy = copy_seconds(read, written);
    const double limit = std::max(copy, flops / kProductRate);
    std::printf(
        "%-34s %8.1f us  copy %7.1f us  products %7.1f us  %5.2f of the limit  %6.1f TFLOP/s\n",
        name.c_str(), median * 1e6, copy * 1e6, flops / kProductRate * 1e6, median / limit,
        flops / median * 1e-12);
    std::fflush(stdout);
  }

  const std::string& only_;
  cuda::Stream stream_;
};

}  // namespace

void bench_gradients(const BenchGradients& options) {
  Bench bench(options.only);
  bench.layer({"conv 64 to 64, 224, batch 8", 8, 64, 64, 224, 3, true}, true);
  bench.layer({"vgg 3 to 64, 224", 32, 3, 64, 224, 3}, false);
  bench.layer({"vgg 64 to 64, 224", 32, 64, 64, 224, 3}, true);
  bench.layer({"vgg 64 to 128, 112", 32, 64, 128, 112, 3}, true);
  bench.layer({"vgg 128 to 128, 112", 32, 128, 128, 112, 3}, true);
  bench.layer({"vgg 128 to 256, 56", 32, 128, 256, 56, 3}, true);
  bench.layer({"vgg 256 to 256, 56", 32, 256, 256, 56, 3}, true);
  bench.layer({"vgg 256 to 512, 28", 32, 256, 512, 28, 3}, true);
  bench.layer({"vgg 512 to 512, 28", 32, 512, 512, 28, 3}, true);
  bench.layer({"vgg 512 to 512, 14", 32, 512, 512, 14, 3}, true);
  bench.layer({"192 to 384, 8, batch 512", 512, 192, 384, 8, 3}, true);
  bench.layer({"384 to 256, 8, batch 512", 512, 384, 256, 8, 3}, true);
  bench.layer({"linear 25088 to 4096", 32, 25088, 4096, 1, 1}, true);
  bench.layer({"linear 4096 to 4096", 32, 4096, 4096, 1, 1}, true);
  bench.layer({"linear 4096 to 1000", 32, 4096, 1000, 1, 1}, true);
  bench.layer({"resnet 128 to 128, 56, stride 2", 32, 128, 128, 56, 3, false, 2}, true);
  bench.layer({"resnet 256 to 512, 56, 1x1, stride 2", 32, 256, 512, 56, 1, false, 2}, true);
  bench.layer({"groups 32 of 128, 56", 32, 128, 128, 56, 3, false, 1, 32}, true);
  bench.layer({"depthwise 32, 112", 32, 32, 32, 112, 3, false, 1, 32}, true);
  bench.layer({"depthwise 32, 112, NCHW", 32, 32, 32, 112, 3, true, 1, 32}, true);
  bench.layer({"depthwise 144, 56, stride 2", 32, 144, 144, 56, 3, false, 2, 144}, true);
  bench.layer({"depthwise 240, 28, 5x5", 32, 240, 240, 28, 5, false, 1, 240}, true);
  bench.pool({"64, 224", 32, 64, 64, 224, 3});
  bench.pool({"512, 14", 32, 512, 512, 14, 3});
}

}  // namespace qsim::golden_test
