#include "tests/rtl/programs/differential.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/program_text.h"
#include "report/analysis/cycle_accounting.h"

namespace qsim {

using namespace report;
namespace {

// The STORE that brings byte `at` of layer `layer`'s ofmap.
std::string store_text(const Program& program, std::size_t layer, std::size_t at) {
  const std::int64_t address = program.layers[layer].ofmap.address + static_cast<std::int64_t>(at);
  const CommandStream stores = program.stream(Unit::kStore);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const auto s = stores.fields<Store>(i);
    for (std::int64_t g = 0; g < s.groups; ++g) {
      for (std::int64_t r = 0; r < s.runs; ++r) {
        const std::int64_t first = s.dram_addr + g * s.group_stride + r * s.run_stride;
        if (address >= first && address < first + s.run_bytes) {
          return command_label(program, Unit::kStore, i) + ": DRAM byte " + std::to_string(address);
        }
      }
    }
  }
  return "ofmap byte " + std::to_string(at) + " of layer " + program.layers[layer].name;
}

std::string byte_difference(const Program& program, const std::vector<Tensor>& right,
                            const std::vector<Tensor>& found) {
  if (right.size() != found.size()) return "has " + std::to_string(found.size()) + " ofmaps";
  for (std::size_t l = 0; l < right.size(); ++l) {
    if (right[l].bytes.size() != found[l].bytes.size()) return "an ofmap has another size";
    const auto [a, b] =
        std::mismatch(right[l].bytes.begin(), right[l].bytes.end(), found[l].bytes.begin());
    if (a == right[l].bytes.end()) continue;
    const auto value = [](std::byte byte) {
      return std::to_string(static_cast<int>(static_cast<std::int8_t>(byte)));
    };
    const auto at = static_cast<std::size_t>(a - right[l].bytes.begin());
    return store_text(program, l, at) + " is " + value(*b) + ", expected " + value(*a);
  }
  return "";
}

using Times = std::array<std::vector<CommandTime>, kUnits>;

// The difference that comes first in time; of one cycle's an end before the starts that it lets go.
std::string time_difference(const Program& program, const Times& right, const Times& found) {
  std::string text;
  constexpr std::uint64_t kStart = 2, kFree = 1, kDone = 0;
  constexpr std::array<const char*, 3> kFields = {"done", "free", "start"};
  std::uint64_t earliest = ~std::uint64_t{0};
  const auto compare = [&](std::size_t u, std::size_t i, std::uint64_t field, std::uint64_t a,
                           std::uint64_t b) {
    const std::uint64_t rank = std::min(a, b) * kFields.size() + field;
    if (a == b || rank >= earliest) return;
    earliest = rank;
    text = command_label(program, static_cast<Unit>(u), i) + ": " + kFields[field] + " at cycle " +
           std::to_string(b) + ", expected " + std::to_string(a);
  };
  for (std::size_t u = 0; u < kUnits; ++u) {
    if (found[u].size() != right[u].size()) {
      return std::string(kUnitNames[u]) + " unit ran " + std::to_string(found[u].size()) +
             " commands, expected " + std::to_string(right[u].size());
    }
    for (std::size_t i = 0; i < right[u].size(); ++i) {
      compare(u, i, kStart, right[u][i].start, found[u][i].start);
      compare(u, i, kFree, right[u][i].free, found[u][i].free);
      compare(u, i, kDone, right[u][i].done, found[u][i].done);
    }
  }
  return text;
}

}  // namespace

std::size_t Differential::first_timed() const {
  const auto timed = std::find_if(witnesses_.begin(), witnesses_.end(), [](const Witness& w) {
    return w.engine->has_time() && w.times_count;
  });
  return static_cast<std::size_t>(timed - witnesses_.begin());
}

template <typename Wanted>
DifferentialResult Differential::run(const RandomCase& made, Wanted wanted) {
  DifferentialResult result;
  std::vector<Tensor> right;
  const std::size_t timed = first_timed();
  for (std::size_t w = 0; w < witnesses_.size(); ++w) {
    if (!wanted(w)) continue;
    const Witness& witness = witnesses_[w];
    std::string text;
    try {
      const bool has_data = witness.engine->has_data();
      RunResult found = witness.engine->run(made.program, made.input, {.move_data = has_data});
      if (w == 0) right = std::move(found.ofmaps);
      if (w != 0 && has_data) text = byte_difference(made.program, right, found.ofmaps);
      if (text.empty() && witness.engine->has_time() && witness.times_count) {
        if (w == timed) {
          result.cycles = account(made.program, found.times).total_cycles;
          result.times = std::move(found.times);
        } else {
          text = time_difference(made.program, result.times, found.times);
          if (text.empty()) account(made.program, found.times);
        }
      }
    } catch (const std::exception& error) {
      text = error.what();
    }
    if (text.empty()) continue;
    result.difference = Difference{w, witness.name + ": " + text};
    return result;
  }
  return result;
}

DifferentialResult Differential::check(const RandomCase& made, std::size_t turn) {
  return run(made,
             [&](std::size_t w) { return turn % witnesses_[w].one_in == witnesses_[w].turn; });
}

DifferentialResult Differential::check_one(const RandomCase& made, std::size_t only) {
  return run(made, [&](std::size_t w) { return w == 0 || w == first_timed() || w == only; });
}

}  // namespace qsim
