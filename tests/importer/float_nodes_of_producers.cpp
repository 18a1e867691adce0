// Counts the nodes that ONNX Runtime runs as float in the producers' files, as the importer says
// it, and compares with those of its optimizer (docs/reference/onnx.md#qdq-graphs).
//
// usage: float_nodes_of_producers FOLDER
#include <filesystem>
#include <iostream>
#include <map>

#include "core/base/error.h"
#include "formats/onnx/importer/onnx_importer.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr int kSkipped = 77;

using Counts = std::map<std::string, int>;

// By operator.
Counts float_nodes_of(const fs::path& file) {
  Counts counts;
  ImportOptions options;
  options.on_float_node = [&](const FloatNode& node) { ++counts[node.op]; };
  import_onnx(file, options);
  return counts;
}

std::string text_of(const Counts& counts) {
  std::string text;
  for (const auto& [op, count] : counts) text += " " + op + " " + std::to_string(count);
  return text;
}

int compare(const fs::path& folder) {
  std::map<std::string, Counts> expected;
  for (const std::string weights : {"tensor", "channel"}) {
    expected["residual.qdq_s8s8_" + weights] = {{"Conv", 4}, {"Add", 1}};
    expected["inception.qdq_s8s8_" + weights] = {{"Conv", 4}};
    expected["inverted_residual.qdq_s8s8_" + weights] = {
        {"Conv", 4}, {"Add", 2}, {"ReduceMean", 1}};
    for (const std::string types : {"u8s8", "u8u8"}) {
      expected["residual.qdq_" + types + "_" + weights] = {};
      expected["inception.qdq_" + types + "_" + weights] = {};
      expected["inverted_residual.qdq_" + types + "_" + weights] = {{"ReduceMean", 1}};
    }
    for (const std::string types : {"u8s8", "s8s8", "u8u8"}) {
      expected["residual.qop_" + types + "_" + weights] = {};
      expected["vgg.qdq_" + types + "_" + weights] = {};
      expected["mlp.qdq_" + types + "_" + weights] = {};
    }
  }
  int wrong = 0;
  for (const auto& [name, counts] : expected) {
    const Counts found = float_nodes_of(folder / (name + ".onnx"));
    const bool is_right = found == counts;
    wrong += is_right ? 0 : 1;
    std::cout << (is_right ? "" : "WRONG: ") << name << ":" << text_of(found);
    std::cout << (is_right ? "\n" : "; expected" + text_of(counts) + "\n");
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: float_nodes_of_producers FOLDER\n";
    return 2;
  }
  if (!std::filesystem::is_directory(argv[1])) {
    std::cout << "skipped: no folder " << argv[1] << ", which the tests onnx.* make\n";
    return qsim::kSkipped;
  }
  return qsim::compare(argv[1]);
}
