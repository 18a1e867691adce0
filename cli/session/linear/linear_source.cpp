#include "cli/session/linear/linear_source.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

#include "cli/terminal/context.h"
#include "core/base/checked_math.h"
#include "core/base/random.h"
#include "formats/files/memory.h"
#include "formats/traces/npy.h"
#include "golden/kernels/linear/quantizer.h"

namespace qsim::cli {

using formats::kNpyFloat16;
using formats::kNpyFloat32;
using formats::NpyArray;
using formats::NpyType;
using formats::read_npy_array;
namespace {

using golden::FloatMatrix;
using golden::FloatType;

constexpr std::int64_t kMostChannels = 1 << 20;

// About normal, of variance 1: the sum of four uniform numbers of 16 bits.
float normal(Random& random) {
  const std::uint64_t bits = random.next();
  std::int64_t sum = -2 * 65535;
  for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>(bits >> (16 * i) & 0xFFFF);
  return static_cast<float>(sum) * (1.7320508F / 65536);
}

FloatType float_type(const std::string& name) {
  return name == "fp32"   ? FloatType::kFloat32
         : name == "fp16" ? FloatType::kFloat16
                          : FloatType::kBfloat16;
}

void require_shape(const std::string& file, const Shape& shape, std::size_t dimensions,
                   const char* expected) {
  if (shape.size() == dimensions) return;
  throw_bad_input(file + ": an array of shape " + shape_text(shape) + " is not " + expected);
}

std::vector<float> floats_of(const FloatMatrix& matrix) {
  std::vector<float> floats(static_cast<std::size_t>(matrix.rows * matrix.columns));
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = golden::float_of(matrix.fp32_bits(i));
  return floats;
}

// Golden's own checks do not know of files.
void require_finite(const std::string& file, std::span<const float> values, std::int64_t columns) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const auto at = static_cast<std::int64_t>(i);
    throw_bad_input(file + ": element [" + std::to_string(at / columns) + ", " +
                    std::to_string(at % columns) +
                    "] is infinite or not a number; expected finite numbers");
  }
}

FloatMatrix matrix_of(NpyArray array) {
  FloatMatrix matrix;
  matrix.type = array.descr == kNpyFloat32.descr   ? FloatType::kFloat32
                : array.descr == kNpyFloat16.descr ? FloatType::kFloat16
                                                   : FloatType::kBfloat16;
  matrix.rows = array.shape[0];
  matrix.columns = array.shape.size() > 1 ? array.shape[1] : 1;
  matrix.bytes = std::move(array.bytes);
  return matrix;
}

FloatMatrix read_x(const std::string& file) {
  constexpr NpyType kTypes[] = {kNpyFloat32, kNpyFloat16, formats::kNpyUint16};
  NpyArray array = read_npy_array(file, kTypes);
  require_shape(file, array.shape, 2, "[M, K]");
  return matrix_of(std::move(array));
}

// An array of shape `expected`; a last dimension of 1 may be missing.
std::vector<float> read_floats(const std::string& file, const Shape& expected, const char* axes) {
  constexpr NpyType kTypes[] = {kNpyFloat32};
  NpyArray array = read_npy_array(file, kTypes);
  Shape shape = array.shape;
  if (shape.size() + 1 == expected.size() && expected.back() == 1) shape.push_back(1);
  if (shape != expected) {
    throw_bad_input(file + ": an array of shape " + shape_text(array.shape) + " is not " + axes +
                    ", here " + shape_text(expected));
  }
  std::vector<float> floats(array.bytes.size() / sizeof(float));
  std::memcpy(floats.data(), array.bytes.data(), array.bytes.size());
  return floats;
}

FloatMatrix random_matrix(Random& random, FloatType type, std::int64_t rows, std::int64_t columns) {
  FloatMatrix matrix(type, rows, columns);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows * columns); ++i) {
    matrix.set(i, golden::bits_of(normal(random)));
  }
  return matrix;
}

void quantize(const WeightOptions& options, std::int64_t out_features, std::int64_t in_features,
              LinearSource& source) {
  const std::int64_t group = std::stoll(options.group);
  timed(source.quantize_seconds, [&] {
    source.weights =
        options.bits == "8"
            ? golden::quantize_per_channel(source.float_weights, out_features, in_features, group)
            : golden::quantize_to_int4(source.float_weights, out_features, in_features, group,
                                       options.symmetric);
  });
}

// int8 weights with scales of their own.
void take_int8(const LinearOptions& options, const NpyArray& array, LinearSource& source) {
  if (options.scales.empty()) {
    throw Error(ExitCode::kUsage,
                "--w '" + options.w + "' has int8 weights, which need their scales; give --scales");
  }
  if (options.bits != "8") {
    throw Error(ExitCode::kUsage, "--bits " + options.bits + " does nothing here: '" + options.w +
                                      "' has int8 weights; leave it out");
  }
  golden::LinearWeights& weights = source.weights;
  weights.out_features = array.shape[0];
  weights.in_features = array.shape[1];
  weights.group_size = std::stoll(options.group);
  weights.values.resize(array.bytes.size());
  std::memcpy(weights.values.data(), array.bytes.data(), array.bytes.size());
  golden::check_sizes(weights.out_features, weights.in_features, weights.group_size, weights.bits);
  weights.scales =
      read_floats(options.scales, {weights.out_features, weights.groups()}, "[N, groups]");
  golden::check_weights(weights);
  const auto columns = static_cast<std::size_t>(weights.in_features);
  const auto groups = static_cast<std::size_t>(weights.groups());
  const auto elems = static_cast<std::size_t>(weights.group_elems());
  source.float_weights.resize(weights.values.size());
  for (std::size_t i = 0; i < weights.values.size(); ++i) {
    const std::size_t scale = i / columns * groups + i % columns / elems;
    source.float_weights[i] = static_cast<float>(weights.values[i]) * weights.scales[scale];
  }
}

void read_weights(const LinearOptions& options, LinearSource& source) {
  constexpr NpyType kTypes[] = {kNpyFloat32, kNpyFloat16, formats::kNpyInt8};
  NpyArray array = read_npy_array(options.w, kTypes);
  require_shape(options.w, array.shape, 2, "[N, K]");
  if (array.descr == formats::kNpyInt8.descr) return take_int8(options, array, source);
  if (!options.scales.empty()) {
    throw Error(ExitCode::kUsage, "--scales does nothing here: it needs int8 weights in --w; '" +
                                      options.w +
                                      "' has floats, which get their own; leave it out");
  }
  const FloatMatrix matrix = matrix_of(std::move(array));
  source.float_weights = floats_of(matrix);
  require_finite(options.w, source.float_weights, matrix.columns);
  quantize(options, matrix.rows, matrix.columns, source);
}

LinearSize size_of(const std::string& text) {
  LinearSize size{0, 0};
  const char* const end = text.data() + text.size();
  const auto [cross, first_error] = std::from_chars(text.data(), end, size.in_features);
  const bool has_cross = first_error == std::errc() && cross < end && *cross == 'x';
  const auto [last, second_error] =
      std::from_chars(has_cross ? cross + 1 : end, end, size.out_features);
  const bool fits = size.in_features >= 1 && size.in_features <= golden::kMostInFeatures &&
                    size.out_features >= 1 && size.out_features <= kMostChannels;
  if (!has_cross || second_error != std::errc() || last != end || !fits) {
    throw Error(ExitCode::kUsage, "--sizes '" + text + "' is not KxN, K from 1 to " +
                                      std::to_string(golden::kMostInFeatures) +
                                      " and N from 1 to " + std::to_string(kMostChannels));
  }
  return size;
}

}  // namespace

std::vector<LinearSize> linear_sizes(const LinearOptions& options) {
  if (!options.bench && !options.sizes.empty()) {
    throw Error(ExitCode::kUsage, "--sizes needs --bench; give --K and --N for one size");
  }
  if (!options.bench) return {{options.in_features, options.out_features}};
  if (!options.x.empty() || !options.w.empty() || !options.b.empty()) {
    throw Error(ExitCode::kUsage, "--bench makes its own numbers; leave out --x, --w and --b");
  }
  std::vector<LinearSize> sizes;
  for (const std::string& text : options.sizes) sizes.push_back(size_of(text));
  return sizes.empty() ? std::vector<LinearSize>{{512, 2048}, {1024, 4096}, {2048, 8192}} : sizes;
}

LinearSource load_linear(const LinearOptions& linear, const LinearSize& size) {
  Random random(linear.seed);
  LinearSource source;
  if (linear.w.empty()) {
    // Memory holds the weights as floats, as integers and packed.
    formats::require_memory(checked_mul(6, checked_mul(size.in_features, size.out_features)),
                            "weights of " + std::to_string(size.in_features) + " x " +
                                std::to_string(size.out_features));
    source.float_weights.resize(static_cast<std::size_t>(size.in_features * size.out_features));
    for (float& weight : source.float_weights) weight = 0.02F * normal(random);
    quantize(linear, size.out_features, size.in_features, source);
  } else {
    read_weights(linear, source);
  }
  const golden::LinearWeights& weights = source.weights;
  source.x = linear.x.empty()
                 ? random_matrix(random, float_type(linear.dtype), linear.rows, weights.in_features)
                 : read_x(linear.x);
  if (!linear.b.empty()) {
    source.bias = read_floats(linear.b, {weights.out_features}, "[N]");
  } else if (linear.bias == "1") {
    source.bias = floats_of(random_matrix(random, FloatType::kFloat32, weights.out_features, 1));
  }
  golden::check_shapes(source.x, weights, source.bias);
  if (linear.check == "1") {
    if (!linear.x.empty()) require_finite(linear.x, floats_of(source.x), source.x.columns);
    if (!linear.b.empty()) require_finite(linear.b, source.bias, 1);
  }
  if (linear.check == "1") golden::check_values(source.x, weights, source.bias);
  return source;
}

LinearSource load_quantized(const WeightOptions& linear) {
  constexpr NpyType kTypes[] = {kNpyFloat32, kNpyFloat16};
  NpyArray array = read_npy_array(linear.w, kTypes);
  require_shape(linear.w, array.shape, 2, "[N, K]");
  const FloatMatrix matrix = matrix_of(std::move(array));
  LinearSource source;
  source.float_weights = floats_of(matrix);
  require_finite(linear.w, source.float_weights, matrix.columns);
  quantize(linear, matrix.rows, matrix.columns, source);
  return source;
}

golden::FloatType linear_y_type(const LinearOptions& options, FloatType x_type) {
  return options.y_dtype.empty() ? x_type : float_type(options.y_dtype);
}

void write_matrix(Context& context, const std::string& path, const FloatMatrix& matrix) {
  const NpyType& type = matrix.type == FloatType::kFloat32   ? kNpyFloat32
                        : matrix.type == FloatType::kFloat16 ? kNpyFloat16
                                                             : formats::kNpyUint16;
  std::string file = formats::npy_array_header(type.descr, {matrix.rows, matrix.columns});
  file.append(reinterpret_cast<const char*>(matrix.bytes.data()), matrix.bytes.size());
  context.write_file(path, file);
}

}  // namespace qsim::cli
