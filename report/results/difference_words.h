// Two results of a network side by side, in words: which is better, where the difference is, and
// what changed there. For `qsim profile`'s winner and `qsim compare`.
#pragma once

#include <string>
#include <vector>

#include "report/results/network_result.h"

namespace qsim::report {

// What results are ranked by.
enum class Measure : std::uint8_t { kCycles, kDramBytes, kEnergy, kEnergyDelay };

// Absent for results without energy, where the measure needs it, and for those that did not run.
std::optional<double> measured(const ResultLayer& layer, Measure measure);
// "67,799,403 cycles", "123.4 uJ". `unit` is that of the energies.
std::string measure_text(double value, Measure measure, const std::string& unit);

// "2.5% fewer cycles than OTHER", "as many cycles as OTHER": `value` against the `base` of `other`.
// `what` is " cycles", or "" to leave the unit out. Energy (and time) is less, all else is fewer.
std::string compared_words(double value, double base, const std::string& what,
                           const std::string& other, Measure measure = Measure::kCycles);

// Names of the two results, as sentences call them.
struct PairNames {
  std::string first;
  std::string second;
};

// "limited by the write bus (98.3% busy)", "limited by waits, mostly for the latency of DRAM (60.0%
// of its critical path)"
std::string limit_text(const ResultLayer& layer);

// Where the measure differs most, layers of one name compared, largest difference first, at most
// `most` sentences: what each costs, and what is different of it: limit, DRAM bytes, dataflow,
// mapping. Layers that only one has are named.
std::vector<std::string> difference_words(const NetworkResult& first, const NetworkResult& second,
                                          Measure measure, const PairNames& names,
                                          std::size_t most);

}  // namespace qsim::report
