#include "tests/quantize/network/integer_output.h"

#include <algorithm>
#include <cmath>

#include "core/network/float_rules.h"
#include "golden/graph/cpu/graph_executor.h"
#include "golden/graph/real/real_executor.h"

namespace qsim::quantize {
namespace {

std::size_t first_largest(std::span<const float> numbers) {
  return static_cast<std::size_t>(std::ranges::max_element(numbers) - numbers.begin());
}

// A network of one picture at a time runs each by itself.
Tensor integer_output(const Graph& graph, const Tensor& pictures, golden::ThreadTeam& team) {
  Graph single = graph;
  for (Value& tensor : single.tensors) tensor.shape.batch = 1;
  golden::ExecutorOptions options;
  options.keep_every_layer = false;
  const golden::GraphExecutor executor(single, options);
  Shape shape = single.output_value().shape.nhwc();
  const std::size_t each = static_cast<std::size_t>(element_count(shape));
  shape[0] = pictures.shape[0];
  Tensor result(DType::kFloat32, shape);
  const Tensor levels = quantized_tensor(pictures, single.input_value());
  const std::size_t read = levels.bytes.size() / static_cast<std::size_t>(pictures.shape[0]);
  team.run(static_cast<std::size_t>(pictures.shape[0]), [&](std::size_t n) {
    Tensor input(levels.dtype, single.input_value().shape.nhwc());
    std::copy_n(levels.bytes.begin() + static_cast<std::ptrdiff_t>(n * read), read,
                input.bytes.begin());
    const Tensor output = dequantized_tensor(executor.run(input).back(), single.output_value());
    std::ranges::copy(output.as<float>(), result.as<float>().subspan(n * each, each).begin());
  });
  return result;
}

}  // namespace

OutputDistance distance(const Tensor& a, const Tensor& b) {
  QSIM_CHECK(a.shape == b.shape && !a.shape.empty(), "outputs of two shapes");
  const auto first = a.as<float>();
  const auto second = b.as<float>();
  OutputDistance result;
  double squares = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double apart = std::abs(static_cast<double>(first[i]) - static_cast<double>(second[i]));
    result.largest = std::max(result.largest, apart);
    result.mean += apart;
    squares += apart * apart;
  }
  const auto count = static_cast<double>(std::max<std::size_t>(first.size(), 1));
  result.mean /= count;
  result.root_mean_square = std::sqrt(squares / count);
  result.pictures = a.shape[0];
  const std::size_t each =
      first.size() / static_cast<std::size_t>(std::max<std::int64_t>(a.shape[0], 1));
  for (std::size_t n = 0; n < static_cast<std::size_t>(result.pictures); ++n) {
    result.equal_classes += first_largest(first.subspan(n * each, each)) ==
                            first_largest(second.subspan(n * each, each));
  }
  return result;
}

Tensor dequantized_tensor(const Tensor& levels, const Value& value) {
  const ByteFunction reals = dequantized_bytes(value);
  Tensor result(DType::kFloat32, levels.shape);
  std::ranges::transform(levels.bytes, result.as<float>().begin(),
                         [&](std::byte level) { return reals[static_cast<std::size_t>(level)]; });
  return result;
}

OutputDistance fake_against_integer(const FakeNetwork& fake, const QuantizedNetwork& integer,
                                    const Tensor& pictures, golden::ThreadTeam& team) {
  golden::RealExecutorOptions options;
  options.rules = fake.rules;
  const golden::RealExecutor executor(fake.graph, options);
  return distance(executor.run(pictures, team), integer_output(integer.graph, pictures, team));
}

}  // namespace qsim::quantize
