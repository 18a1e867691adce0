#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "golden/device/cold_timer.h"
#include "golden/device/copy_time.h"
#include "golden/train/cuda/train_cuda.h"
#include "tests/golden/train/cuda/forward_check_commands.h"
#include "tests/golden/train/cuda/random_calls.h"

namespace qsim::golden_test {
namespace {

namespace train = golden::train;
using namespace golden::train;
using golden::cuda::DeviceBuffer;

// int8 products that the tensor cores of an H100 or H200 do in a second, of the datasheet.
constexpr double kProductsPerSecond = 1979e12;

struct Work {
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  double operations = 0;  // of tensor cores
};

// Prints a row: the median, and its ratio to a copy of as many bytes or to the tensor cores' time,
// whichever is longer. `enqueue(i, stream)` uses the buffers i.
void bench(const BenchForwardOptions& options, const std::string& name, const Work& work,
           const std::function<std::function<void(cudaStream_t)>(int)>& make) {
  if (name.find(options.only) == std::string::npos) return;
  const golden::cuda::Stream stream;
  const int rotations = std::min(
      golden::cuda::cold_rotations(static_cast<std::size_t>(work.read_bytes + work.written_bytes)),
      24);
  std::vector<std::function<void(cudaStream_t)>> calls;
  for (int i = 0; i < rotations; ++i) calls.push_back(make(i));
  golden::cuda::ColdTiming timing;
  timing.runs = 9;
  timing.fewest_launches = 4;
  const std::vector<double> seconds = golden::cuda::time_cold(
      stream, rotations, [&](int i) { calls[static_cast<std::size_t>(i)](stream.get()); }, timing);
  const double median = seconds[seconds.size() / 2];
  const double copy = golden::time_copy(work.read_bytes, work.written_bytes, 0);
  const double cores = work.operations / kProductsPerSecond;
  std::printf("%-66s %9.1f %9.1f %9.1f %7.2f %8.0f\n", name.c_str(), median * 1e6, copy * 1e6,
              cores * 1e6, median / std::max(copy, cores), work.operations / median * 1e-12);
  std::fflush(stdout);
}

// Random bytes, or floats near 1.
std::shared_ptr<DeviceBuffer> bytes(std::int64_t count, bool floats = false) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>((count + 7) / 8));
  Random random(7);
  for (std::uint64_t& word : words) {
    word = random.next();
    if (floats) word = (word & 0x80FFFFFF80FFFFFFULL) | 0x3F0000003F000000ULL;
  }
  return std::make_shared<DeviceBuffer>(golden::cuda::upload(words));
}

std::int64_t size_of(RealType type) { return type == RealType::kFloat32 ? 4 : 2; }
const char* name_of(RealType type) { return type == RealType::kFloat32 ? "fp32" : "bf16"; }

RealTensor tensor(const ImageShape& s, RealType type, bool nchw, void* data) {
  RealTensor made{data, type, {s.batch, s.height, s.width, s.channels}, {}};
  made.strides = nchw ? std::array<std::int64_t, 4>{s.channels * s.height * s.width, s.width, 1,
                                                    s.height * s.width}
                      : std::array<std::int64_t, 4>{s.height * s.width * s.channels,
                                                    s.width * s.channels, s.channels, 1};
  return made;
}

// Everything that a case's call points to.
struct Holder {
  std::vector<std::shared_ptr<DeviceBuffer>> buffers;
  template <typename T>
  T* add(std::int64_t count, bool floats = false) {
    buffers.push_back(bytes(count * static_cast<std::int64_t>(sizeof(T)), floats));
    return buffers.back()->as<T>();
  }
};

template <typename Call>
std::function<void(cudaStream_t)> enqueued(const Call& call, Holder holder) {
  void* workspace = holder.add<std::uint8_t>(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(cuda::workspace_bytes(call))));
  return [=](cudaStream_t stream) {
    (void)holder;
    cuda::enqueue(call, workspace, stream);
  };
}

std::string text_of(const ImageShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) +
         "x" + std::to_string(s.channels);
}

void bench_quantize(const BenchForwardOptions& options, const ImageShape& shape, RealType type,
                    bool nchw) {
  const std::int64_t elems = shape.batch * shape.height * shape.width * shape.channels;
  const std::string kind = " " + text_of(shape) + " " + name_of(type) + (nchw ? " NCHW" : " NHWC");
  bench(options, "observe" + kind, {elems * size_of(type), 0, 0}, [&](int) {
    Holder holder;
    Observe call;
    call.x = tensor(shape, type, nchw, holder.add<std::uint8_t>(elems * size_of(type), true));
    call.state = holder.add<float>(3, true);
    call.scale = holder.add<float>(1, true);
    return enqueued(call, holder);
  });
  bench(options, "quantize_levels" + kind, {elems * size_of(type), elems + elems / 8, 0}, [&](int) {
    Holder holder;
    QuantizeLevels call;
    call.x = tensor(shape, type, nchw, holder.add<std::uint8_t>(elems * size_of(type), true));
    call.scale = holder.add<float>(1, true);
    call.q = holder.add<std::int8_t>(elems);
    call.passes = holder.add<std::uint8_t>(elems / 8);
    return enqueued(call, holder);
  });
}

void bench_weights(const BenchForwardOptions& options, const ImageShape& shape, bool nchw) {
  const std::int64_t elems = shape.batch * shape.height * shape.width * shape.channels;
  bench(options, "quantize_weights " + text_of(shape) + (nchw ? " NCHW" : " NHWC"),
        {elems * 4, elems + elems / 8, 0}, [&](int) {
          Holder holder;
          QuantizeWeights call;
          call.w = tensor(shape, RealType::kFloat32, nchw, holder.add<float>(elems, true));
          call.scales = holder.add<float>(shape.batch, true);
          call.q = holder.add<std::int8_t>(elems);
          call.passes = holder.add<std::uint8_t>(elems / 8);
          return enqueued(call, holder);
        });
}

struct ConvCase {
  std::int64_t batch, size, channels, outs, kernel;
  std::int64_t stride = 1, groups = 1;
  bool has_zero_point = false;

  LevelConv conv(Holder& holder) const {
    LevelConv made = shapes();
    made.q = holder.add<std::int8_t>(batch * size * size * channels);
    made.w = holder.add<std::int8_t>(outs * made.depth());
    if (has_zero_point) {
      const std::vector<std::int32_t> one = {-7};
      holder.buffers.push_back(std::make_shared<DeviceBuffer>(golden::cuda::upload(one)));
      made.zero_point = holder.buffers.back()->as<std::int32_t>();
    }
    return made;
  }
  LevelConv shapes() const {
    LevelConv made;
    made.x_shape = {batch, size, size, channels};
    const std::int64_t pad = kernel / 2, y_size = (size + 2 * pad - kernel) / stride + 1;
    made.y_shape = {batch, y_size, y_size, outs};
    made.window = {kernel, kernel, stride, stride, pad, pad, pad, pad, 1, 1};
    made.groups = groups;
    return made;
  }
  // What a kernel reads, without y, and computes.
  Work work() const {
    const LevelConv made = shapes();
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

void bench_real(const BenchForwardOptions& options, const ConvCase& one, RealType type, bool nchw) {
  Work work = one.work();
  const ImageShape y = one.shapes().y_shape;
  const std::int64_t elems = y.batch * y.height * y.width * y.channels;
  work.written_bytes = elems * size_of(type) + elems / 8;
  bench(options, "conv_real" + one.text() + " " + name_of(type) + (nchw ? " NCHW" : " NHWC"), work,
        [&](int) {
          Holder holder;
          ConvReal call;
          call.conv = one.conv(holder);
          call.scale = holder.add<float>(1, true);
          call.w_scales = holder.add<float>(one.outs, true);
          call.bias = holder.add<float>(one.outs, true);
          call.relu = true;
          call.y = tensor(y, type, nchw, holder.add<std::uint8_t>(elems * size_of(type)));
          call.passes = holder.add<std::uint8_t>(elems / 8);
          return enqueued(call, holder);
        });
}

// The other calls with a convolution.
void bench_chain(const BenchForwardOptions& options, const ConvCase& one) {
  const ImageShape y = one.shapes().y_shape;
  const std::int64_t elems = y.batch * y.height * y.width * y.channels;
  Work work = one.work();
  bench(options, "conv_statistics" + one.text(), work, [&](int) {
    Holder holder;
    ConvStatistics call;
    call.conv = one.conv(holder);
    call.sums = holder.add<std::int64_t>(one.outs * 3);
    return enqueued(call, holder);
  });
  work.written_bytes = elems + elems / 8;
  bench(options, "conv_levels" + one.text(), work, [&](int) {
    Holder holder;
    ConvLevels call;
    call.conv = one.conv(holder);
    call.multipliers = holder.add<float>(one.outs, true);
    call.bias = holder.add<std::int32_t>(one.outs);
    call.relu = true;
    call.y = holder.add<std::int8_t>(elems);
    call.passes = holder.add<std::uint8_t>(elems / 8);
    call.range = holder.add<float>(2);
    return enqueued(call, holder);
  });
  work.read_bytes += elems * 2;
  work.written_bytes = 0;
  bench(options, "conv_gradient_sums" + one.text(), work, [&](int) {
    Holder holder;
    ConvGradientSums call;
    call.conv = one.conv(holder);
    call.g = holder.add<std::uint16_t>(elems, true);
    call.sums = holder.add<float>(one.outs * 2);
    return enqueued(call, holder);
  });
  work.written_bytes = elems * 2;
  bench(options, "conv_normalize_gradient" + one.text(), work, [&](int) {
    Holder holder;
    ConvNormalizeGradient call;
    call.conv = one.conv(holder);
    call.factors = holder.add<float>(one.outs * 3, true);
    call.g = holder.add<std::uint16_t>(elems, true);
    return enqueued(call, holder);
  });
}

void bench_pool(const BenchForwardOptions& options, const ImageShape& x) {
  const std::int64_t elems = x.batch * x.height * x.width * x.channels;
  bench(options, "max_pool 2x2 " + text_of(x), {elems, elems / 4, 0}, [&](int) {
    Holder holder;
    train::MaxPool call;
    call.x_shape = x;
    call.y_shape = {x.batch, x.height / 2, x.width / 2, x.channels};
    call.window = {2, 2, 2, 2, 0, 0, 0, 0, 1, 1};
    call.q = holder.add<std::int8_t>(elems);
    call.y = holder.add<std::int8_t>(elems / 4);
    return enqueued(call, holder);
  });
}

}  // namespace

ExitCode bench_forward(const BenchForwardOptions& options) {
  std::printf("%-66s %9s %9s %9s %7s %8s\n", "us; medians, cold", "call", "copy", "cores", "ratio",
              "TOP/s");
  constexpr RealType kFloat = RealType::kFloat32;
  constexpr RealType kBfloat = RealType::kBfloat16;
  const ImageShape target = {8, 224, 224, 64};
  for (const bool nchw : {true, false}) bench_quantize(options, target, kFloat, nchw);
  bench_quantize(options, {32, 56, 56, 256}, kBfloat, true);
  bench_quantize(options, {32, 224, 224, 3}, kFloat, true);
  bench_weights(options, {64, 3, 3, 64}, true);
  bench_weights(options, {512, 3, 3, 512}, true);
  bench_weights(options, {4096, 1, 1, 25088}, false);
  const ConvCase conv = {8, 224, 64, 64, 3};
  for (const bool nchw : {true, false}) bench_real(options, conv, kFloat, nchw);
  bench_real(options, conv, kBfloat, true);
  bench_chain(options, conv);
  const ConvCase vgg[] = {{32, 224, 3, 64, 3},   {32, 112, 64, 128, 3},  {32, 56, 128, 256, 3},
                          {32, 56, 256, 256, 3}, {32, 28, 256, 512, 3},  {32, 28, 512, 512, 3},
                          {32, 14, 512, 512, 3}, {32, 1, 25088, 4096, 1}};
  for (const ConvCase& one : vgg) bench_real(options, one, kBfloat, false);
  // Layers of ResNet-50, ResNeXt-50 and MobileNetV2, and one with a zero point.
  const ConvCase others[] = {{32, 56, 128, 128, 3, 2},      {32, 56, 256, 512, 1, 2},
                             {32, 56, 128, 128, 3, 1, 32},  {32, 112, 32, 32, 3, 1, 32},
                             {32, 56, 144, 144, 3, 2, 144}, {32, 56, 256, 256, 3, 1, 1, true}};
  for (const ConvCase& one : others) bench_real(options, one, kBfloat, false);
  bench_chain(options, {32, 56, 256, 256, 3});
  bench_pool(options, {32, 224, 224, 64});
  bench_pool(options, {32, 28, 28, 512});
  return ExitCode::kOk;
}

}  // namespace qsim::golden_test
