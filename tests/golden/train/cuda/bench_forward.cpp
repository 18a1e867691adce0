#include <cstdio>

#include "tests/golden/train/cuda/bench_rows.h"

namespace qsim::golden_test {
namespace {

namespace train = golden::train;
using namespace golden::train;

void bench_quantize(const BenchForwardOptions& options, const ImageShape& shape, RealType type,
                    bool nchw) {
  const std::int64_t elems = shape.batch * shape.height * shape.width * shape.channels;
  const std::string kind = " " + text_of(shape) + " " + name_of(type) + (nchw ? " NCHW" : " NHWC");
  bench(options, "observe" + kind, {elems * size_of(type), 0, 0}, [&](int) {
    Holder holder;
    Observe call;
    call.x = bench_tensor(shape, type, nchw, holder.add<std::uint8_t>(elems * size_of(type), true));
    call.state = holder.add<float>(3, true);
    call.scale = holder.add<float>(1, true);
    return enqueued(call, holder);
  });
  bench(options, "quantize_levels" + kind, {elems * size_of(type), elems + elems / 8, 0}, [&](int) {
    Holder holder;
    QuantizeLevels call;
    call.x = bench_tensor(shape, type, nchw, holder.add<std::uint8_t>(elems * size_of(type), true));
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
          call.w = bench_tensor(shape, RealType::kFloat32, nchw, holder.add<float>(elems, true));
          call.scales = holder.add<float>(shape.batch, true);
          call.q = holder.add<std::int8_t>(elems);
          call.passes = holder.add<std::uint8_t>(elems / 8);
          return enqueued(call, holder);
        });
}

void bench_real(const BenchForwardOptions& options, const ConvRow& one, RealType type, bool nchw) {
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
          call.y = bench_tensor(y, type, nchw, holder.add<std::uint8_t>(elems * size_of(type)));
          call.passes = holder.add<std::uint8_t>(elems / 8);
          return enqueued(call, holder);
        });
}

// The calls of a layer's forward pass in training.
std::vector<EnqueueCall> layer_calls(const ConvRow& one, bool nchw) {
  constexpr RealType kFloat = RealType::kFloat32;
  Holder holder;
  const auto reals = [&](const ImageShape& s) {
    auto* const data = holder.add<float>(s.batch * s.height * s.width * s.channels, true);
    return bench_tensor(s, kFloat, nchw, data);
  };
  const LevelConv conv = one.conv(holder);
  const std::int64_t weight_count = one.outs * conv.depth();
  auto* const scale = holder.add<float>(1, true);
  QuantizeLevels levels;
  levels.x = reals(conv.x_shape);
  levels.levels.scale_kind = ScaleKind::kGiven;
  levels.scale = scale;
  levels.q = const_cast<std::int8_t*>(conv.q);
  levels.passes = holder.add<std::uint8_t>(levels.x.elems() / 8);
  Observe observe;
  observe.x = levels.x;
  observe.state = holder.add<float>(3, true);
  observe.scale = scale;
  QuantizeWeights weights;
  weights.w = reals({one.outs, one.kernel, one.kernel, one.channels});
  weights.scales = holder.add<float>(one.outs, true);
  weights.q = const_cast<std::int8_t*>(conv.w);
  weights.passes = holder.add<std::uint8_t>(weight_count / 8);
  ConvReal real;
  real.conv = conv;
  real.scale = scale;
  real.w_scales = weights.scales;
  real.bias = holder.add<float>(one.outs, true);
  real.y = reals(conv.y_shape);
  return {enqueued(observe, holder), enqueued(levels, holder), enqueued(weights, holder),
          enqueued(real, holder)};
}

// One after the other: each finds in the cache what the one before it left there.
void bench_layer(const BenchForwardOptions& options, const ConvRow& one, bool nchw) {
  const LevelConv shapes = one.shapes();
  const std::int64_t xs = one.batch * one.size * one.size * one.channels;
  Work work = one.work();
  work.read_bytes += 8 * xs;
  work.written_bytes = xs + xs / 8 + 4 * shapes.pixels() * one.outs;
  bench(options, "layer" + one.text() + (nchw ? " fp32 NCHW" : " fp32 NHWC"), work, [&](int) {
    const std::vector<EnqueueCall> calls = layer_calls(one, nchw);
    return [=](cudaStream_t stream) {
      for (const auto& call : calls) call(stream);
    };
  });
}

// The other calls with a convolution.
void bench_chain(const BenchForwardOptions& options, const ConvRow& one) {
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
  const ConvRow conv = {8, 224, 64, 64, 3};
  for (const bool nchw : {true, false}) bench_real(options, conv, kFloat, nchw);
  bench_real(options, conv, kBfloat, true);
  for (const bool nchw : {true, false}) bench_layer(options, conv, nchw);
  bench_chain(options, conv);
  const ConvRow vgg[] = {{32, 224, 3, 64, 3},   {32, 112, 64, 128, 3},  {32, 56, 128, 256, 3},
                         {32, 56, 256, 256, 3}, {32, 28, 256, 512, 3},  {32, 28, 512, 512, 3},
                         {32, 14, 512, 512, 3}, {32, 1, 25088, 4096, 1}};
  for (const ConvRow& one : vgg) bench_real(options, one, kBfloat, false);
  // Layers of ResNet-50, ResNeXt-50 and MobileNetV2, and one with a zero point.
  const ConvRow others[] = {{32, 56, 128, 128, 3, 2},      {32, 56, 256, 512, 1, 2},
                            {32, 56, 128, 128, 3, 1, 32},  {32, 112, 32, 32, 3, 1, 32},
                            {32, 56, 144, 144, 3, 2, 144}, {32, 56, 256, 256, 3, 1, 1, true}};
  for (const ConvRow& one : others) bench_real(options, one, kBfloat, false);
  bench_chain(options, {32, 56, 256, 256, 3});
  bench_pool(options, {32, 224, 224, 64});
  bench_pool(options, {32, 28, 28, 512});
  return ExitCode::kOk;
}

}  // namespace qsim::golden_test
