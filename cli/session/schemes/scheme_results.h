// What each scheme of the catalogue does to a network: right answers, noise, and whether another
// scheme gives the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session/inputs/picture_set.h"
#include "core/network/quantized_network.h"
#include "golden/graph/real/real_executor.h"

namespace qsim::cli {

struct SchemeResult {
  std::int64_t correct = 0;
  double sqnr_db = 0;   // of the outputs against the float network's
  std::string outputs;  // SHA-1 of all bytes of the outputs
  double seconds = 0;   // to quantize and judge
};

// One line of text there and back; nothing for a line that is none.
std::string result_line(const std::string& key, const SchemeResult& result);
std::optional<std::pair<std::string, SchemeResult>> read_result_line(std::string_view line);

// The pictures that judge, in memory, and the float network's outputs for them.
struct Judges {
  Tensor pictures;          // float32 [N][H][W][C]
  std::vector<int> labels;  // one a picture
  Tensor outputs;           // float32 [N][1][1][C]
};

Judges make_judges(const Graph& graph, const PictureSet& pictures, golden::ThreadTeam& team);

// How many of the float network's own answers are right.
std::int64_t correct_of(const Judges& judges);

// Golden's answers, on all threads of the team. Their `seconds` are the caller's to set.
SchemeResult judge(const QuantizedNetwork& network, const Judges& judges, golden::ThreadTeam& team);

// The same for a float network with those options: `outputs` is of float32 numbers.
SchemeResult judge(const Graph& graph, const golden::RealExecutorOptions& options,
                   const Judges& judges, golden::ThreadTeam& team);

}  // namespace qsim::cli
