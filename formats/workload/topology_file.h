// SCALE-Sim's topology files (.csv): a list of layers that do not depend on each other, each a row
// of sizes. Two forms, told apart by the header: convolutions, and matrix products (M, N, K).
// docs/reference/scale_sim.md describes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/network/graph.h"

namespace qsim::formats {

// One row as the convolution that computes it.
struct TopologyLayer {
  std::string name;   // unique in the file
  std::string place;  // "net.csv:4:1"
  ImageShape input;
  Window window;
  std::int64_t out_channels = 1;
  bool is_first = false;  // its ifmap comes from the host; the others' are ofmaps of some layer
};

struct Topology {
  std::string name;  // the file's stem
  std::vector<TopologyLayer> layers;
};

// The first layer of the same sizes, whose commands are the same; `layer` itself where it is the
// first.
std::size_t first_alike(const Topology& topology, std::size_t layer);

// By the file's name: whether it ends in .csv.
bool is_topology_file(const std::filesystem::path& path);

// Reads the file. The convolution of each row has SCALE-Sim's ofmap: its ifmap is padded already,
// and a last window that hangs over the ifmap's end counts. An axis on which the filter is as long
// as the ifmap has one position; its elements become channels. Throws Error with file:line:column.
Topology read_topology(const std::filesystem::path& path);

}  // namespace qsim::formats
