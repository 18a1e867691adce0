// The shipped networks against torchvision's own: every layer with its shapes, the parameters and
// the multiply-adds. shapes.txt is what shapes.py found by running torchvision's.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/workload/workload.h"

namespace qsim {

using namespace formats;
namespace {

using Lines = std::vector<std::string>;

std::map<std::string, Lines> torchvisions_networks() {
  std::map<std::string, Lines> networks;
  std::ifstream file("tests/system/torchvision/shapes.txt");
  for (std::string name; file >> name;) {
    std::string line;
    std::getline(file >> std::ws, line);
    networks[name].push_back(line);
  }
  return networks;
}

std::string by(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + "x" + std::to_string(b);
}

std::string window_words(const Window& w) {
  EXPECT_EQ(w.pad_top, w.pad_bottom);
  EXPECT_EQ(w.pad_left, w.pad_right);
  EXPECT_EQ(w.dilation_h * w.dilation_w, 1);
  return "kernel " + by(w.kernel_h, w.kernel_w) + " stride " + by(w.stride_h, w.stride_w) +
         " pad " + by(w.pad_top, w.pad_left);
}

// The line that shapes.py prints for a layer.
std::string line_of(const Graph& graph, std::size_t index) {
  const Operation& operation = graph.layers[index].operation;
  const ImageShape& in = graph.input_of(index).shape;
  const ImageShape& out = graph.output_of(index).shape;
  const std::string to = " to " + by(out.height, out.width) + "x" + std::to_string(out.channels);
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    return "conv " + std::to_string(in.channels) + " " + std::to_string(out.channels) + " " +
           window_words(conv->window) + " groups " + std::to_string(conv->groups) + to;
  }
  if (std::holds_alternative<FullyConnected>(operation)) {
    return "linear " + std::to_string(in.channels) + " " + std::to_string(out.channels);
  }
  if (const auto* pool = std::get_if<MaxPool>(&operation)) {
    return "max_pool " + window_words(pool->window) + to;
  }
  if (const auto* pool = std::get_if<AveragePool>(&operation)) {
    return "average_pool " + by(pool->window.kernel_h, pool->window.kernel_w) + to;
  }
  return "";
}

// The line of sums: torchvision counts a weight and a bias of each batch normalization, of which
// folding leaves the bias.
std::string sums_of(const Graph& graph, bool has_batch_norm) {
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (const auto* conv = std::get_if<Conv2d>(&graph.layers[i].operation)) {
      const std::int64_t channels = conv->weights.shape[0];
      parameters += conv->weights.elems() + channels * (has_batch_norm ? 2 : 1);
    } else if (const auto* fc = std::get_if<FullyConnected>(&graph.layers[i].operation)) {
      parameters += fc->weights.elems() + fc->weights.shape[0];
    } else {
      continue;
    }
    macs += layer_macs(graph, i);
  }
  return "parameters " + std::to_string(parameters) + " macs " + std::to_string(macs);
}

Lines lines_of(const std::string& name) {
  const std::string file = name + ".yaml";
  const bool is_network = std::filesystem::exists("models/networks/" + file);
  const Graph graph =
      load_workload_shapes((is_network ? "models/networks/" : "models/workloads/") + file);
  Lines lines;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const std::string line = line_of(graph, i);
    if (!line.empty()) lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  const bool has_batch_norm = name.starts_with("resnet") || name.starts_with("mobilenet");
  lines.insert(lines.begin(), sums_of(graph, has_batch_norm));
  return lines;
}

TEST(Torchvision, EveryShippedNetworkHasItsLayersParametersAndMultiplyAdds) {
  const std::map<std::string, Lines> networks = torchvisions_networks();
  EXPECT_EQ(networks.size(), 8u);
  for (const auto& [name, lines] : networks) EXPECT_EQ(lines_of(name), lines) << name;
  for (const auto& entry : std::filesystem::directory_iterator("models/networks")) {
    EXPECT_TRUE(networks.contains(entry.path().stem())) << entry.path();
  }
}

}  // namespace
}  // namespace qsim
