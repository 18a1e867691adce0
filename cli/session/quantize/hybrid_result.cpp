#include "cli/session/quantize/hybrid_result.h"

#include <algorithm>
#include <cmath>

#include "core/base/words.h"
#include "golden/graph/real/real_executor.h"
#include "quantize/layer_weights.h"
#include "report/text_table.h"

namespace qsim::cli {
namespace {

constexpr std::int64_t kPicturesAtOnce = 16;

std::string weights_text(const HybridResult& result, std::size_t layer) {
  const auto integers = result.network.weights.find(layer);
  if (integers == result.network.weights.end()) return "";
  const auto real = quantize::weights_of(result.graph.layers[layer].operation);
  quantize::TensorError error;
  quantize::add_pairs(real->weights->as<float>(), dequantized(integers->second).as<float>(), error);
  return finite_text(quantize::sqnr_db(error), "%.1f", "-");
}

report::SheetTable layer_table(const HybridResult& result) {
  report::SheetTable table{
      "layers", {"layer", "operation", "weights_sqnr_db", "sqnr_db", "cosine_distance"}, {}};
  for (std::size_t i = 0; i < result.graph.layers.size(); ++i) {
    const quantize::TensorError& error = result.errors.layers[i];
    const Layer& layer = result.graph.layers[i];
    table.rows.push_back({layer.name, std::string(operation_name(layer.operation)),
                          weights_text(result, i),
                          finite_text(quantize::sqnr_db(error), "%.1f", "-"),
                          finite_text(quantize::cosine_distance(error), "%.2g", "-")});
  }
  return table;
}

}  // namespace

HybridErrors measure_hybrid(const Graph& graph, const HybridNetwork& network,
                            const quantize::CalibrationPictures& pictures,
                            golden::ThreadTeam& team) {
  const golden::RealExecutor real(graph);
  const golden::RealExecutor hybrid(network.graph, golden::executor_options(network));
  HybridErrors errors;
  errors.layers.resize(graph.layers.size());
  // Layers write their tensors in order, the first of them tensor 1.
  std::vector<Tensor> tensors(graph.tensors.size());
  for (std::int64_t first = 0; first < pictures.count; first += kPicturesAtOnce) {
    const Tensor input = pictures.read(first, std::min(kPicturesAtOnce, pictures.count - first));
    real.run(input, team, [&](TensorId id, const Tensor& tensor) { tensors[id] = tensor; });
    hybrid.run(input, team, [&](TensorId id, const Tensor& tensor) {
      if (id == graph.input) return;
      quantize::add_pairs(tensors[id].as<float>(), tensor.as<float>(), errors.layers[id - 1]);
    });
  }
  errors.output = errors.layers[graph.output - 1];
  return errors;
}

report::Sheet hybrid_sheet(const HybridResult& result, const QuantizeOptions& options, bool json) {
  report::Sheet sheet;
  sheet.schema = "qsim.quantize-mode/1";
  sheet.add("model", options.model);
  sheet.add("output", options.out);
  sheet.add("mode", options.mode);
  sheet.add("pictures", result.pictures);
  sheet.add("output_sqnr_db", finite_text(quantize::sqnr_db(result.errors.output), "%.1f", "-"));
  sheet.add("float_bytes", result.float_bytes);
  sheet.add("quantized_bytes", std::ssize(result.bytes));
  double seconds = 0;
  for (const auto& phase : result.seconds) seconds += phase.second;
  sheet.add("seconds", json ? report::Cell(seconds) : report::Cell(report::seconds_text(seconds)));
  sheet.tables.push_back(layer_table(result));
  return sheet;
}

}  // namespace qsim::cli
