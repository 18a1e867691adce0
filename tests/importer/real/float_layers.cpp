// What each layer of a float ONNX file computes, for float_files_test.py: imports the file and runs
// the float executor.
//
//   float_layers MODEL.onnx INPUT.npy FOLDER
//
// INPUT has the axes of the model's input. Writes FOLDER/<number>.npy (NHWC) for each layer, and a
// line: number, operation, name, ONNX tensor, with tabs between.
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "formats/onnx/importer/real_importer.h"
#include "formats/traces/npy.h"
#include "golden/common/thread_team.h"
#include "golden/graph/real/real_executor.h"

namespace qsim {

using namespace formats;
namespace {

// A tensor of the graph's input from one in the file's axes.
Tensor nhwc_input(const Graph& graph, const Tensor& file) {
  ImageShape shape = graph.input_shape();
  shape.batch = file.shape.at(0);
  Tensor input(DType::kFloat32, shape.nhwc());
  QSIM_CHECK(file.elems() == input.elems(), "the input is not as large as the model's");
  const bool is_nchw = graph.host.layout == HostInterface::Layout::kNchw;
  const std::span<const float> from = file.as<float>();
  const std::span<float> to = input.as<float>();
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto pixels = static_cast<std::size_t>(shape.height * shape.width);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t picture = i / (channels * pixels) * channels * pixels;
    const std::size_t within = i % (channels * pixels);
    const std::size_t at = within % pixels * channels + within / pixels;
    to[is_nchw ? picture + at : i] = from[i];
  }
  return input;
}

int run(const std::filesystem::path& model, const std::filesystem::path& input,
        const std::filesystem::path& folder) {
  const Graph graph = import_real_onnx(std::make_shared<const HeldFile>(model));
  const golden::RealExecutor executor(graph);
  golden::ThreadTeam team(1);
  std::size_t number = 0;
  executor.run(nhwc_input(graph, read_npy(input)), team, [&](TensorId id, const Tensor& tensor) {
    if (id == graph.input) return;
    const Layer& layer = graph.layers[number];
    QSIM_CHECK(layer.output == id, "tensors in another order than the layers");
    write_npy(folder / (std::to_string(number) + ".npy"), tensor);
    std::cout << number++ << '\t' << operation_name(layer.operation) << '\t' << layer.name << '\t'
              << layer.tensor << '\n';
  });
  return 0;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    return qsim::run(argv[1], argv[2], argv[3]);
  } catch (const qsim::Error& error) {
    std::cerr << error.what() << '\n' << error.details();
    return static_cast<int>(error.code());
  }
}
