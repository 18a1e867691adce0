#include "quantize/calibration.h"

#include <algorithm>

#include "core/network/graph.h"
#include "golden/graph/real/real_executor.h"

namespace qsim::quantize {
namespace {

using AddBatch = void (*)(std::span<const float>, TensorStatistics&);

// What errors call a tensor.
std::string tensor_place(const Graph& graph, TensorId tensor) {
  for (const Layer& layer : graph.layers) {
    if (layer.output == tensor) return layer_place(layer.name, layer.source);
  }
  return "the network's input";
}

void check_finite(const Graph& graph, const std::vector<TensorStatistics>& statistics) {
  for (TensorId tensor = 0; tensor < statistics.size(); ++tensor) {
    if (statistics[tensor].not_finite == 0) continue;
    throw_bad_input(tensor_place(graph, tensor) + ": " +
                    std::to_string(statistics[tensor].not_finite) +
                    " of its numbers are not finite in calibration; expected finite numbers");
  }
}

void check_batch(const Graph& graph, const Tensor& batch, std::int64_t pictures) {
  Shape expected = graph.input_shape().nhwc();
  expected[0] = pictures;
  if (batch.dtype == DType::kFloat32 && batch.shape == expected) return;
  throw_bad_input("calibration pictures are " + std::string(dtype_name(batch.dtype)) + " " +
                  shape_text(batch.shape) + "; expected float32 " + shape_text(expected));
}

}  // namespace

std::vector<TensorStatistics> calibrate(const Graph& graph, const CalibrationPictures& pictures,
                                        golden::ThreadTeam& team,
                                        const std::function<void(std::int64_t)>& on_progress) {
  if (pictures.count < 1) throw_bad_input("no calibration pictures; expected 1 or more");
  const golden::RealExecutor executor(graph);
  std::vector<TensorStatistics> statistics(graph.tensors.size());
  std::int64_t done = 0;
  for (const AddBatch add : {AddBatch{add_range}, AddBatch{add_values}}) {
    for (std::int64_t first = 0; first < pictures.count; first += kCalibrationBatch) {
      const std::int64_t count = std::min(kCalibrationBatch, pictures.count - first);
      const Tensor batch = pictures.read(first, count);
      check_batch(graph, batch, count);
      executor.run(batch, team, [&](TensorId tensor, const Tensor& values) {
        add(values.as<float>(), statistics[tensor]);
      });
      check_finite(graph, statistics);
      done += count;
      if (on_progress) on_progress(done);
    }
  }
  return statistics;
}

}  // namespace qsim::quantize
