// The C interface of golden/kernels/linear's quantizers: float weights to 8 and 4 bits.
#include "golden/c_interface/linear_views.h"
#include "golden/c_interface/threads.h"
#include "golden/kernels/linear/quantizer.h"

namespace ci = qsim::golden::c_interface;

namespace qsim::golden::c_interface {
namespace {

std::vector<std::uint8_t> packed_nibbles(const LinearWeights& weights, int flip) {
  const auto columns = static_cast<std::size_t>(weights.in_features);
  const std::size_t row_bytes = (columns + 1) / 2;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(weights.out_features) * row_bytes);
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    const std::size_t k = i % columns;
    bytes[i / columns * row_bytes + k / 2] |=
        static_cast<std::uint8_t>((weights.values[i] ^ flip) << (k % 2 * 4));
  }
  return bytes;
}

// Quantizes rows by `quantize(floats, first row, rows)` -> LinearWeights, divided among the call's
// threads; `store(weights, first row)` takes each part. A message about a weight names its row of
// all, so that after a fault the first thread goes through all rows again.
template <typename Quantize, typename Store>
void quantize_rows(const Call& call, const std::vector<float>& floats, const View& w,
                   const Quantize& quantize, const Store& store) {
  const auto columns = static_cast<std::size_t>(w.dim(1));
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    const std::span<const float> rows(floats.data() + static_cast<std::size_t>(begin) * columns,
                                      static_cast<std::size_t>(end - begin) * columns);
    store(quantize(rows, end - begin), begin);
  };
  CallThreads threads(call.run());
  if (threads.team().threads() == 1) return part(0, w.dim(0));
  try {
    divide(threads.team(), w.dim(0), part);
  } catch (const Error&) {
    part(0, w.dim(0));
    throw;
  }
}

// Elements of a part of the rows into an array of all.
template <typename T>
void place_rows(const std::vector<T>& from, std::int64_t first_row, std::int64_t row_elems,
                std::vector<T>& to) {
  std::copy(from.begin(), from.end(), to.begin() + first_row * row_elems);
}

// The float weights of a quantizer as FP32, which is exact.
std::vector<float> float_weights(const View& w) {
  const FloatMatrix matrix = matrix_of(w);
  std::vector<float> floats(static_cast<std::size_t>(w.elems()));
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = float_of(matrix.fp32_bits(i));
  return floats;
}

// The checked tensors of a quantizer of weights.
QuantizerViews quantizer_views(Call& call, const qsim_tensor* w, std::int64_t group_size,
                               const qsim_tensor* values, std::initializer_list<std::int32_t> types,
                               const qsim_tensor* scales, const qsim_tensor* zero_points) {
  QuantizerViews views{
      call.tensor("w", w, kFloats, 2), call.output("values", values, types, 2), {}, {}, group_size};
  views.values.require_shape(views.w.shape);
  const std::int64_t channels = views.w.dim(0);
  const std::int64_t groups = group_count(call, views.w.dim(1), group_size);
  views.scales = grouped_tensor(call, "scales", scales, QSIM_FLOAT32, channels, groups);
  if (zero_points != nullptr) {
    const std::int32_t type = views.values.dtype == QSIM_INT4 ? QSIM_INT8 : QSIM_UINT8;
    views.zero_points = grouped_tensor(call, "zero_points", zero_points, type, channels, groups);
  }
  check_sizes(channels, views.w.dim(1), group_size, views.values.dtype == QSIM_INT8 ? 8 : 4);
  return views;
}

void quantize_to_8_bits(const Call& call, const QuantizerViews& views) {
  const std::int64_t columns = views.w.dim(1);
  std::vector<std::int8_t> values(static_cast<std::size_t>(views.values.elems()));
  std::vector<float> scales(static_cast<std::size_t>(views.scales.elems()));
  quantize_rows(
      call, float_weights(views.w), views.w,
      [&](std::span<const float> floats, std::int64_t rows) {
        return golden::quantize_per_channel(floats, rows, columns, views.group_size);
      },
      [&](const LinearWeights& part, std::int64_t first) {
        place_rows(part.values, first, columns, values);
        place_rows(part.scales, first, part.groups(), scales);
      });
  views.values.store(values.data());
  views.scales.store(scales.data());
}

void quantize_to_4_bits(const Call& call, const QuantizerViews& views) {
  const std::int64_t columns = views.w.dim(1);
  const int flip = views.values.dtype == QSIM_INT4 ? 8 : 0;
  std::vector<std::uint8_t> values(views.values.bytes());
  std::vector<float> scales(static_cast<std::size_t>(views.scales.elems()));
  std::vector<std::uint8_t> points(scales.size());
  quantize_rows(
      call, float_weights(views.w), views.w,
      [&](std::span<const float> floats, std::int64_t rows) {
        return golden::quantize_to_int4(floats, rows, columns, views.group_size,
                                        !views.zero_points);
      },
      [&](const LinearWeights& part, std::int64_t first) {
        place_rows(packed_nibbles(part, flip), first, (columns + 1) / 2, values);
        place_rows(part.scales, first, part.groups(), scales);
        place_rows(part.zero_points, first, part.groups(), points);
      });
  views.values.store(values.data());
  views.scales.store(scales.data());
  if (!views.zero_points) return;
  for (std::uint8_t& point : points) point = static_cast<std::uint8_t>(point - flip);
  views.zero_points->store(points.data());
}

}  // namespace
}  // namespace qsim::golden::c_interface

qsim_status qsim_quantize_per_channel(const qsim_tensor* w, int64_t group_size,
                                      const qsim_tensor* values, const qsim_tensor* scales,
                                      const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("quantize_per_channel", run);
    const ci::QuantizerViews views =
        ci::quantizer_views(call, w, group_size, values, {QSIM_INT8}, scales, nullptr);
    if (call.is_cuda()) return ci::quantize_weights_on_device(call, views);
    if (!call.answers_query(0)) ci::quantize_to_8_bits(call, views);
  });
}

qsim_status qsim_quantize_to_int4(const qsim_tensor* w, int64_t group_size,
                                  const qsim_tensor* values, const qsim_tensor* scales,
                                  const qsim_tensor* zero_points, const qsim_run* run) {
  return ci::guarded([&] {
    ci::Call call("quantize_to_int4", run);
    const ci::QuantizerViews views = ci::quantizer_views(
        call, w, group_size, values, {QSIM_INT4, QSIM_UINT4}, scales, zero_points);
    if (call.is_cuda()) return ci::quantize_weights_on_device(call, views);
    if (!call.answers_query(0)) ci::quantize_to_4_bits(call, views);
  });
}
