#include "golden/kernels/train/real_spans.h"

#include <algorithm>

#include "golden/common/float_formats.h"

namespace qsim::golden::train {
namespace {

std::int64_t place_of(const RealTensor& x, std::int64_t row) {
  const std::int64_t w = row % x.shape[2];
  const std::int64_t h = row / x.shape[2] % x.shape[1];
  const std::int64_t b = row / x.shape[2] / x.shape[1];
  return b * x.strides[0] + h * x.strides[1] + w * x.strides[2];
}

// visit(a place of data, the element's number in the span, elements that follow in this row)
template <typename Visit>
void each_row(const RealTensor& x, std::int64_t first, std::int64_t count, Visit visit) {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t c = (first + done) % x.shape[3];
    const std::int64_t length = std::min(count - done, x.shape[3] - c);
    visit(place_of(x, (first + done) / x.shape[3]) + c * x.strides[3], done, length);
    done += length;
  }
}

template <typename Element, typename Decode>
void load(const RealTensor& x, std::int64_t first, std::int64_t count, float* to, Decode decode) {
  const auto* data = static_cast<const Element*>(x.data);
  each_row(x, first, count, [&](std::int64_t place, std::int64_t done, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) to[done + i] = decode(data[place + i * x.strides[3]]);
  });
}

template <typename Element, typename Encode>
void store(const RealTensor& x, std::int64_t first, std::int64_t count, const float* from,
           Encode encode) {
  auto* data = static_cast<Element*>(x.data);
  each_row(x, first, count, [&](std::int64_t place, std::int64_t done, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) {
      data[place + i * x.strides[3]] = encode(from[done + i]);
    }
  });
}

float same(float value) { return value; }

}  // namespace

void load_span(const RealTensor& x, std::int64_t first, std::int64_t count, float* to) {
  switch (x.type) {
    case RealType::kFloat32:
      return load<float>(x, first, count, to, same);
    case RealType::kFloat16:
      return load<std::uint16_t>(x, first, count, to, float_from_half);
    case RealType::kBfloat16:
      return load<std::uint16_t>(x, first, count, to, float_from_bfloat16);
  }
}

void store_span(const RealTensor& x, std::int64_t first, std::int64_t count, const float* from) {
  switch (x.type) {
    case RealType::kFloat32:
      return store<float>(x, first, count, from, same);
    case RealType::kFloat16:
      return store<std::uint16_t>(x, first, count, from, half_from_float);
    case RealType::kBfloat16:
      return store<std::uint16_t>(x, first, count, from, bfloat16_from_float);
  }
}

}  // namespace qsim::golden::train
