// Imports the ONNX files of a folder, runs them with golden's plain loops and compares with ONNX
// Runtime's outputs, number by number.
//
// usage: graph_agreement FOLDER EXCEPTIONS   files of fixtures_test.py: equal, or in the list
//        graph_agreement --random FOLDER     files of random_dag.py and random_qdq.py: all are
//        equal but those of kind `pools`
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "cli/host_tensors/host_layout.h"
#include "core/base/error.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "formats/traces/npy.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/importer/quantized_files.h"

namespace qsim {

using namespace cli;
using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr int kSkipped = 77;

// What became of a file: how many numbers differ, or what the importer says.
struct Outcome {
  std::int64_t values = 0;
  std::int64_t differ = 0;
  std::int64_t steps = 0;             // of the output's scale: the largest difference
  std::set<std::byte> distinct = {};  // of the output's bytes
  std::string refusal = {};
};

double number(const Tensor& tensor, std::size_t index) {
  if (tensor.dtype == DType::kFloat32) return double{tensor.as<float>()[index]};
  if (tensor.dtype == DType::kInt32) return tensor.as<std::int32_t>()[index];
  return tensor.dtype == DType::kUint8 ? tensor.as<std::uint8_t>()[index]
                                       : tensor.as<std::int8_t>()[index];
}

// "mlp" of mlp.qdq_u8s8_tensor.onnx
std::string network_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.'));
}

Outcome run_file(const fs::path& file) {
  Outcome outcome;
  Graph graph;
  fs::path input_path = file;
  input_path.replace_extension(".input.npy");
  if (!fs::exists(input_path)) {
    input_path = file.parent_path() / (network_of(file) + ".input.npy");
  }
  const Tensor input = read_npy(input_path);
  try {
    graph = import_onnx(file, input.shape[0]);
  } catch (const Error& error) {
    outcome.refusal = error.what();
    return outcome;
  }
  const std::vector<Tensor> ofmaps = golden::run_graph(
      graph, input_from_host(input, input_form(graph), file.string()), golden::Path::kPlain);
  const Tensor found = output_to_host(ofmaps.back(), output_form(graph), true);
  fs::path expected_path = file;
  expected_path.replace_extension(".output.npy");
  const Tensor expected = read_npy(expected_path);
  if (found.shape != expected.shape || found.dtype != expected.dtype) {
    outcome.refusal = "its output is " + shape_text(found.shape);
    return outcome;
  }
  const double step =
      found.dtype == DType::kFloat32 ? double{graph.output_value().scale->real()} : 1.0;
  outcome.values = found.elems();
  for (std::size_t i = 0; i < static_cast<std::size_t>(found.elems()); ++i) {
    const double difference = std::abs(number(found, i) - number(expected, i));
    if (difference == 0.0) continue;
    ++outcome.differ;
    outcome.steps = std::max<std::int64_t>(outcome.steps, std::lround(difference / step));
  }
  for (const std::byte byte : ofmaps.back().bytes) outcome.distinct.insert(byte);
  return outcome;
}

// Lines "FILE differ steps" and "NETWORK refused"; '#' begins a comment.
std::map<std::string, std::string> read_exceptions(const fs::path& path) {
  std::map<std::string, std::string> exceptions;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    exceptions[line.substr(0, space)] = line.substr(space + 1);
  }
  return exceptions;
}

std::string text_of(const Outcome& outcome) {
  if (!outcome.refusal.empty()) return "refused";
  return std::to_string(outcome.differ) + " " + std::to_string(outcome.steps);
}

// Each file but those of `pools` is equal and none is refused; of these, how many numbers differ.
int compare_random(const fs::path& folder) {
  int wrong = 0;
  int alive = 0;
  std::map<std::string, Outcome> totals;
  std::map<std::string, int> counts;
  for (const fs::path& file : quantized_files(folder)) {
    const Outcome outcome = run_file(file);
    const std::string kind = file.stem().extension().string().substr(1);
    Outcome& total = totals[kind];
    ++counts[kind];
    total.values += outcome.values;
    total.differ += outcome.differ;
    total.steps = std::max(total.steps, outcome.steps);
    alive += outcome.distinct.size() > 5 ? 1 : 0;
    if (outcome.refusal.empty() && (outcome.differ == 0 || kind == "pools")) continue;
    ++wrong;
    std::cout << "WRONG: " << file.filename().string() << ": " << outcome.differ << " of "
              << outcome.values << " differ by at most " << outcome.steps << "; " << outcome.refusal
              << "\n";
  }
  int files = 0;
  for (const auto& [kind, total] : totals) {
    files += counts[kind];
    std::cout << kind << ": " << counts[kind] << " graphs, " << total.values << " values, "
              << total.differ << " differ by at most " << total.steps << "\n";
  }
  std::cout << alive << " of " << files << " outputs have more than 5 values\n";
  return wrong == 0 && files >= 50 && 2 * alive > files ? 0 : 1;
}

int compare_all(const fs::path& folder, const fs::path& exceptions_path) {
  std::map<std::string, std::string> exceptions = read_exceptions(exceptions_path);
  const std::set<fs::path> files = quantized_files(folder);
  int wrong = 0;
  int ran = 0;
  Outcome total;
  for (const fs::path& file : files) {
    const std::string name = file.stem().string();
    const Outcome outcome = run_file(file);
    const std::string found = text_of(outcome);
    const auto exception = exceptions.find(name);
    const std::string expected = exception == exceptions.end() ? "0 0" : exception->second;
    if (exception != exceptions.end()) exceptions.erase(exception);
    wrong += found == expected ? 0 : 1;
    ran += outcome.refusal.empty() ? 1 : 0;
    total.values += outcome.values;
    total.differ += outcome.differ;
    std::cout << (found == expected ? "" : "WRONG: ") << name << ": " << outcome.values
              << " values, " << outcome.differ << " differ by at most " << outcome.steps
              << (outcome.refusal.empty() ? "" : "; " + outcome.refusal) << "\n";
  }
  for (const auto& [name, text] : exceptions) {
    std::cout << "WRONG: no file '" << name << "'\n";
    ++wrong;
  }
  std::cout << ran << " of " << files.size() << " files run; of " << total.values << " values "
            << total.differ << " differ\n";
  return wrong == 0 && files.size() > 100 ? 0 : 1;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: graph_agreement FOLDER EXCEPTIONS, graph_agreement --random FOLDER\n";
    return 2;
  }
  const bool is_random = std::string(argv[1]) == "--random";
  const std::filesystem::path folder = argv[is_random ? 2 : 1];
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "skipped: no folder " << folder << ", which the tests onnx.* make\n";
    return qsim::kSkipped;
  }
  return is_random ? qsim::compare_random(folder) : qsim::compare_all(folder, argv[2]);
}
