// golden_export_onnx WORKLOAD.yaml DIR: writes DIR/model.onnx, DIR/input.npy (in the model's own
// layout) and DIR/expected.npy (the golden's last layer, for the comparison to check).
#include <cstdio>
#include <filesystem>

#include "formats/traces/npy.h"
#include "formats/workload/workload.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/onnx/onnx_writer.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: golden_export_onnx WORKLOAD.yaml DIR\n");
    return static_cast<int>(qsim::ExitCode::kUsage);
  }
  try {
    const std::filesystem::path folder = argv[2];
    std::filesystem::create_directories(folder);
    const qsim::formats::Workload workload = qsim::formats::load_workload(argv[1]);
    qsim::Tensor input = workload.input;
    if (std::holds_alternative<qsim::FullyConnected>(workload.graph.layers[0].operation)) {
      const qsim::ImageShape& shape = workload.graph.input_value().shape;
      input.shape = {shape.batch, shape.channels};  // as the ONNX file has it
    }
    qsim::write_onnx(workload.graph, folder / "model.onnx");
    qsim::formats::write_npy(folder / "input.npy", input);
    qsim::formats::write_npy(folder / "expected.npy",
                             qsim::golden::run_graph(workload.graph, workload.input).back());
  } catch (const qsim::Error& error) {
    std::fprintf(stderr, "golden_export_onnx: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
