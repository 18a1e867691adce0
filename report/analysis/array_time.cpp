#include "report/analysis/array_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qsim::report {
namespace {

// Labels by PathPart. The path is never at the array while the array waits.
constexpr std::array<const char*, kPathParts> kWaitLabels = {
    "",
    "",
    "waiting while weights are loaded",
    "waiting while activations are loaded",
    "waiting while parameters are loaded",
    "waiting while the ofmap is stored",
    "waiting while psums are requantized",
    "waiting for the latency of DRAM",
    "waiting for the pipeline of the array",
    "waiting for the pipeline of POST"};

void add_part(std::vector<ArrayTimePart>& parts, std::string id, std::string label,
              std::uint64_t pe_cycles) {
  if (pe_cycles > 0) parts.push_back({std::move(id), std::move(label), pe_cycles});
}

}  // namespace

std::vector<ArrayTimePart> array_time(const Program& program, const LayerAccount& account) {
  const auto pes = static_cast<std::uint64_t>(program.arch.array_rows * program.arch.array_cols);
  QSIM_CHECK(account.streamed_macs >= account.macs, "more useful MACs than the array streamed");
  std::vector<ArrayTimePart> parts;
  parts.push_back({"useful", "useful MACs", account.macs});
  add_part(parts, "edge_lanes", "idle rows and columns of the array",
           account.streamed_macs - account.macs);
  add_part(parts, "fold_bubbles", "folds with fewer pixels than rows",
           account.fold_bubble_cycles * pes);
  for (std::size_t p = 0; p < kPathParts; ++p) {
    add_part(parts, "wait_" + std::string(kPathPartNames[p]), kWaitLabels[p],
             account.path.waits[p] * pes);
  }
  std::uint64_t sum = 0;
  for (const ArrayTimePart& part : parts) sum += part.pe_cycles;
  QSIM_CHECK(sum == account.cycles() * pes, "array time: the parts are " + std::to_string(sum) +
                                                " PE-cycles of " +
                                                std::to_string(account.cycles() * pes));
  return parts;
}

std::vector<std::int64_t> tenths_of_percent(const std::vector<ArrayTimePart>& parts) {
  double total = 0;
  for (const ArrayTimePart& part : parts) total += static_cast<double>(part.pe_cycles);
  std::vector<std::int64_t> tenths(parts.size(), 0);
  if (total <= 0) return tenths;
  std::vector<double> rest(parts.size());
  std::int64_t left = 1000;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double exact = 1000.0 * static_cast<double>(parts[i].pe_cycles) / total;
    tenths[i] = static_cast<std::int64_t>(i == 0 ? std::round(exact) : std::floor(exact));
    rest[i] = exact - static_cast<double>(tenths[i]);
    left -= tenths[i];
  }
  // Rounding part 0 takes at most half a tenth from the others: 0 <= left <= their number.
  std::vector<std::size_t> order(parts.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{1});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rest[a] > rest[b]; });
  for (std::size_t i = 0; i < order.size() && left > 0; ++i, --left) ++tenths[order[i]];
  return tenths;
}

}  // namespace qsim::report
