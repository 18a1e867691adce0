#include "cli/session/schemes/scheme_results.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <sstream>

#include "cli/host_tensors/preprocess.h"
#include "formats/files/sha1.h"
#include "golden/common/thread_team.h"
#include "golden/graph/cpu/graph_executor.h"

namespace qsim::cli {
namespace {

constexpr std::int64_t kPicturesInCaches =
    25;  // the activations of so many pictures stay in the caches

template <typename Number>
std::ptrdiff_t best_of(std::span<const Number> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

template <typename Number>
std::int64_t right_ones(std::span<const Number> scores, const std::vector<int>& labels) {
  const std::size_t classes = scores.size() / labels.size();
  std::int64_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    right += best_of(scores.subspan(i * classes, classes)) == labels[i] ? 1 : 0;
  }
  return right;
}

// Pictures [first, first + count) into a tensor of their own, whose memory is used again.
void copy_part(const Tensor& pictures, std::int64_t first, std::int64_t count, Tensor& part) {
  part.dtype = pictures.dtype;
  part.shape = pictures.shape;
  part.shape[0] = count;
  const std::size_t one = pictures.bytes.size() / static_cast<std::size_t>(pictures.shape[0]);
  const auto begin = pictures.bytes.begin() + static_cast<std::ptrdiff_t>(one) * first;
  part.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(one) * count);
}

// The graph for another number of pictures.
Graph with_batch(Graph graph, std::int64_t batch) {
  for (Value& value : graph.tensors) value.shape.batch = batch;
  return graph;
}

// All outputs of the graph, in the order of the pictures.
Tensor run_all(const Graph& graph, const Tensor& pictures, golden::ThreadTeam& team) {
  const std::int64_t count = pictures.shape[0];
  const std::int64_t batch = std::min(kPicturesInCaches, count);
  const Graph of_batch = with_batch(graph, batch);
  const golden::GraphExecutor executor(of_batch, {.keep_every_layer = false});
  Value output = graph.output_value();
  output.shape.batch = count;
  Tensor all(output.dtype, output.shape.nhwc());
  const std::size_t one = all.bytes.size() / static_cast<std::size_t>(count);
  std::atomic<std::int64_t> next = 0;
  // A part is a thread, which keeps the memory of its tensors from batch to batch.
  team.run(static_cast<std::size_t>(team.threads()), [&](std::size_t) {
    std::vector<Tensor> outputs;
    Tensor part;
    while (true) {
      const std::int64_t wanted = batch * next.fetch_add(1);
      if (wanted >= count) return;
      const std::int64_t first = std::min(wanted, count - batch);  // the last ones fill a batch
      copy_part(pictures, first, batch, part);
      executor.run(quantize_input(part, of_batch.input_value()), outputs);
      const Tensor& last = outputs.back();  // an earlier batch has its first pictures then
      const auto skipped = static_cast<std::ptrdiff_t>(one) * (wanted - first);
      std::copy(last.bytes.begin() + skipped, last.bytes.end(),
                all.bytes.begin() + static_cast<std::ptrdiff_t>(one) * wanted);
    }
  });
  return all;
}

// All outputs of a float network.
Tensor run_all(const Graph& graph, const golden::RealExecutorOptions& options,
               const Tensor& pictures, golden::ThreadTeam& team) {
  const std::int64_t all = pictures.shape[0];
  ImageShape output = graph.output_shape();
  output.batch = all;
  Tensor outputs(DType::kFloat32, output.nhwc());
  const golden::RealExecutor executor(graph, options);
  auto to = outputs.bytes.begin();
  Tensor part;
  for (std::int64_t first = 0; first < all; first += kPicturesInCaches) {
    copy_part(pictures, first, std::min(kPicturesInCaches, all - first), part);
    const Tensor last = executor.run(part, team);
    to = std::copy(last.bytes.begin(), last.bytes.end(), to);
  }
  return outputs;
}

// 10 log10(signal / noise); infinite where there is no noise.
double sqnr_db(std::span<const float> signal, const Tensor& levels, const Value& value) {
  const bool is_unsigned = value.is_unsigned();
  double power = 0;
  double noise = 0;
  for (std::size_t i = 0; i < signal.size(); ++i) {
    const int level = is_unsigned ? static_cast<int>(levels.as<std::uint8_t>()[i])
                                  : static_cast<int>(levels.as<std::int8_t>()[i]);
    const double real = (level - value.zero_point) * static_cast<double>(value.scale->real());
    power += static_cast<double>(signal[i]) * signal[i];
    noise += (signal[i] - real) * (signal[i] - real);
  }
  return 10 * std::log10(power / noise);
}

}  // namespace

std::string result_line(const std::string& key, const SchemeResult& result) {
  std::ostringstream line;
  line.precision(17);
  line << key << ' ' << result.correct << ' ' << result.sqnr_db << ' ' << result.outputs << ' '
       << result.seconds;
  return line.str();
}

std::optional<std::pair<std::string, SchemeResult>> read_result_line(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string key;
  std::string sqnr;  // a stream cannot read "inf" as a number
  SchemeResult result;
  if (!(words >> key >> result.correct >> sqnr >> result.outputs >> result.seconds)) return {};
  try {
    result.sqnr_db = std::stod(sqnr);
  } catch (const std::exception&) {
    return {};
  }
  return std::pair(key, result);
}

Judges make_judges(const Graph& graph, const PictureSet& pictures, golden::ThreadTeam& team) {
  Judges judges;
  for (std::int64_t i = 0; i < pictures.count(); ++i) judges.labels.push_back(pictures.label(i));
  judges.pictures = pictures.read(0, pictures.count(), team);
  judges.outputs = run_all(graph, {}, judges.pictures, team);
  return judges;
}

std::int64_t correct_of(const Judges& judges) {
  return right_ones(judges.outputs.as<float>(), judges.labels);
}

SchemeResult judge(const QuantizedNetwork& network, const Judges& judges,
                   golden::ThreadTeam& team) {
  const Graph& graph = network.graph;
  const Tensor levels = run_all(graph, judges.pictures, team);
  SchemeResult result;
  result.correct = graph.output_value().is_unsigned()
                       ? right_ones(levels.as<std::uint8_t>(), judges.labels)
                       : right_ones(levels.as<std::int8_t>(), judges.labels);
  result.sqnr_db = sqnr_db(judges.outputs.as<float>(), levels, graph.output_value());
  formats::Sha1 sha1;
  sha1.add(levels.bytes);
  result.outputs = sha1.finish();
  return result;
}

SchemeResult judge(const Graph& graph, const golden::RealExecutorOptions& options,
                   const Judges& judges, golden::ThreadTeam& team) {
  const Tensor outputs = run_all(graph, options, judges.pictures, team);
  const auto numbers = outputs.as<float>();
  const auto reals = judges.outputs.as<float>();
  SchemeResult result;
  result.correct = right_ones(numbers, judges.labels);
  double power = 0;
  double noise = 0;
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const auto real = static_cast<double>(reals[i]);
    const double apart = real - static_cast<double>(numbers[i]);
    power += real * real;
    noise += apart * apart;
  }
  result.sqnr_db = 10 * std::log10(power / noise);
  formats::Sha1 sha1;
  sha1.add(outputs.bytes);
  result.outputs = sha1.finish();
  return result;
}

}  // namespace qsim::cli
