#include "tests/golden/convert/random_conversion.h"

namespace qsim::golden {
namespace {

// Codes of few exponents, of all, of zeros, and of all bit patterns, NaN and infinity among them.
std::uint16_t random_code(Random& random, int kind) {
  const auto word = static_cast<std::uint16_t>(random.next());
  switch (kind) {
    case 0:
      return word;
    case 1:
      return (word & 0x83FF) | 0x3C00;
    case 2:
      return random.chance(0.9) ? word & 0x8000 : word & 0xBFFF;
    case 3:
      return word & 0x81FF;  // subnormal in FP16 and small in BF16
    default:
      return word & 0xBFFF;
  }
}

Shape random_shape(Random& random) {
  Shape shape(static_cast<std::size_t>(random.uniform(0, 4)));
  for (std::int64_t& dim : shape) dim = random.uniform(random.chance(0.05) ? 0 : 1, 5);
  if (shape.empty()) return shape;
  const std::int64_t most = random.chance(0.02) ? 9000 : random.chance(0.3) ? 700 : 80;
  shape.back() = random.chance(0.02) ? 0 : random.uniform(1, most);
  return shape;
}

// Rows of whole groups and 8 elements, for which there are kernels of their own; `how` gives up
// what those do not have.
Shape regular_shape(Random& random, Quantization& how) {
  how.stochastic = false;
  how.clip_percentile = kWhole;
  const std::int64_t unit = how.group > 0 ? how.group : 8;
  // Rows of more than 512 elements that are one group each have a kernel of their own too.
  const bool rows = how.group == kPerToken && random.chance(0.5);
  const std::int64_t most = random.chance(0.03) ? 9000 : rows ? 3000 : 600;
  return {random.uniform(1, 3), unit * random.uniform(1, std::max<std::int64_t>(1, most / unit))};
}

void fill(Random& random, RandomConversion& c, std::int64_t size) {
  const int kind = static_cast<int>(random.uniform(0, 4));
  c.storage.resize(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
  for (std::uint16_t& code : c.storage) code = random_code(random, kind);
}

// A place in storage for each element: contiguous, padded, reversed or repeated dimensions.
void place(Random& random, RandomConversion& c) {
  const Shape& shape = c.x.shape;
  std::int64_t size = 1;
  std::int64_t first = 0;
  const bool contiguous = random.chance(0.4);
  c.x.strides.assign(contiguous ? 0 : shape.size(), 0);
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (contiguous) {
      size *= shape[i];
      continue;
    }
    const bool inner = i + 1 == shape.size();
    const std::int64_t step = inner && random.chance(0.6) ? 1 : size + random.uniform(0, 3);
    const std::int64_t reach = step * std::max<std::int64_t>(shape[i] - 1, 0);
    const int kind = static_cast<int>(random.uniform(0, 5));
    c.x.strides[i] = kind == 0 ? 0 : kind == 1 ? -step : step;
    if (kind == 0) continue;
    if (kind == 1) first += reach;
    size += reach;
  }
  fill(random, c, size);
  c.x.data = c.storage.data() + first;
}

Quantization random_quantization(Random& random, ElementFormat format) {
  Quantization how;
  how.format = format;
  const int group = static_cast<int>(random.uniform(0, 5));
  how.group = group == 0 ? kPerToken : group == 1 ? kPerTensor : 16 * random.uniform(1, 32);
  if (group == 2) how.group = 16 << random.uniform(0, 5);
  how.scales = static_cast<ScaleFormat>(random.uniform(0, 2));
  how.scale_rounding = static_cast<PowerRounding>(random.uniform(0, 2));
  how.order = static_cast<ScaleOrder>(random.uniform(0, 1));
  if (is_integer(format) && random.chance(0.4)) {
    how.zero_point = true;
    how.scales = ScaleFormat::kFp32;
  }
  if (random.chance(0.2)) how.clip_value = 0.25F * static_cast<float>(random.uniform(1, 20));
  if (random.chance(0.2)) how.clip_percentile = random.uniform(1, kWhole);
  how.stochastic = random.chance(0.2);
  how.seed = random.next();
  return how;
}

}  // namespace

RandomConversion random_conversion(std::uint64_t seed, ElementFormat format) {
  Random random(seed * 8 + static_cast<std::uint64_t>(format));
  RandomConversion c;
  c.x.format = random.chance(0.5) ? ElementFormat::kHalf : ElementFormat::kBfloat16;
  c.how = random_quantization(random, format);
  if (random.chance(0.3)) {
    c.x.shape = regular_shape(random, c.how);
    fill(random, c, element_count(c.x.shape));
    c.x.data = c.storage.data();
  } else {
    c.x.shape = random_shape(random);
    place(random, c);
  }
  c.threads = random.chance(0.1) ? 3 : 1;
  return c;
}

std::string RandomConversion::text() const {
  std::string line = std::string(element_format_name(x.format)) + " " + shape_text(x.shape);
  line +=
      " strides " + shape_text(x.strides) + " to " + std::string(element_format_name(how.format));
  line += " group " + std::to_string(how.group);
  line += " scales " + std::to_string(static_cast<int>(how.scales));
  line += how.zero_point ? " zero_point" : "";
  line += how.stochastic ? " stochastic" : "";
  return line + " percentile " + std::to_string(how.clip_percentile);
}

void disturb(QuantizedTensor& q, std::uint64_t seed) {
  Random random(seed);
  for (std::uint8_t& value : q.values) {
    if (random.chance(0.3)) value = static_cast<std::uint8_t>(random.next());
  }
  for (float& scale : q.scales) {
    if (random.chance(0.2)) scale = float_of(static_cast<std::uint32_t>(random.next()));
  }
  for (std::uint8_t& code : q.scale_codes) {
    if (random.chance(0.2)) code = static_cast<std::uint8_t>(random.next());
  }
  for (std::int8_t& zero_point : q.zero_points) {
    if (random.chance(0.2)) zero_point = static_cast<std::int8_t>(random.next());
  }
}

}  // namespace qsim::golden
