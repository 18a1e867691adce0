#include "tests/rtl/programs/coverage.h"

#include <algorithm>

#include "core/machine/isa/parameter_block.h"
#include "tests/rtl/programs/word_spans.h"

namespace qsim {
namespace {

using compiler::verifier::Memory;
using Times = std::array<std::vector<CommandTime>, kUnits>;

constexpr std::array<std::size_t, 7> kSizes = {kKernelBins,   kStrideBins, kPadBins,  kPoolBins,
                                               kRoundingBins, kShiftBins,  kStallBins};
constexpr std::array<std::string_view, 7> kDimensions = {"kernel",   "stride", "padding", "pool",
                                                         "rounding", "shift",  "stall"};

std::string_view bin_name(std::size_t dimension, std::size_t bin) {
  switch (dimension) {
    case 0:
      return kKernelBinNames[bin];
    case 1:
      return kStrideBinNames[bin];
    case 2:
      return kPadBinNames[bin];
    case 3:
      return kPoolBinNames[bin];
    case 4:
      return kRoundingBinNames[bin];
    case 5:
      return kShiftBinNames[bin];
    default:
      return kStallBinNames[bin];
  }
}

std::array<std::size_t, 7> bins_at(std::size_t index) {
  std::array<std::size_t, 7> bins{};
  for (std::size_t d = kSizes.size(); d-- > 0; index /= kSizes[d]) bins[d] = index % kSizes[d];
  return bins;
}

std::size_t index_of(const std::array<std::size_t, 7>& bins) {
  std::size_t index = 0;
  for (std::size_t d = 0; d < kSizes.size(); ++d) index = index * kSizes[d] + bins[d];
  return index;
}

// Which shift bins the slot has that a parameter LOAD fills.
unsigned shift_bins(const Program& program, const Load& load) {
  unsigned bins = 0;
  for (const DramSegment& segment : program.segments) {
    const std::int64_t at = std::int64_t{load.dram_addr} - segment.address;
    if (at < 0 || at + load.run_bytes > static_cast<std::int64_t>(segment.bytes.size())) continue;
    const std::int64_t columns = program.arch.array_cols;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::span block = std::span(segment.bytes).subspan(static_cast<std::size_t>(at));
      const Requantizer requantizer = read_channel(block, program.arch, c, {}).requantizer;
      bins |= 1u << shift_bin_of(requantizer.shift - (kMultiplierBits - 1));
    }
  }
  return bins;
}

// Follows the words of a program in the order of the starts, which is one that the tokens allow.
class Flow {
 public:
  Flow(const Program& program, const Times& times) : program_(program) {
    const auto traits = compiler::verifier::memory_traits(program.arch);
    for (std::size_t m = 0; m < compiler::verifier::kMemories; ++m) {
      writers_[m].resize(static_cast<std::size_t>(traits[m].words));
    }
    for (std::size_t u = 0; u < kUnits; ++u) {
      std::uint64_t free = 0;
      for (std::size_t i = 0; i < times[u].size(); ++i) {
        stalled_[u].push_back(times[u][i].start > free);
        free = times[u][i].free;
        order_.push_back({times[u][i].start, u, i});
      }
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [](const Step& a, const Step& b) { return a.start < b.start; });
    reaching_.resize(program.stream(Unit::kExecute).size());
    load_stalled_.resize(reaching_.size());
    posts_.resize(program.stream(Unit::kPost).size());
  }

  template <typename Visit>
  void run(Visit visit) {
    for (const Step& step : order_) follow(step);
    for (const PostFlow& post : posts_) {
      for (const std::size_t e : post.executes) visit_pair(post, e, visit);
    }
  }

 private:
  struct Step {
    std::uint64_t start;
    std::size_t unit;
    std::size_t index;
  };
  struct PostFlow {
    Post post;
    std::size_t index = 0;
    std::vector<std::size_t> executes;  // ascending
    unsigned shifts = 0;
    bool store_stalled = false;
  };

  void follow(const Step& step) {
    const Command command = program_.streams[step.unit].command(step.index);
    const compiler::verifier::LocalAccess access = local_access(command, program_.arch);
    for (const compiler::verifier::WordRange& range : access.reads) {
      const auto& writers = writers_[static_cast<std::size_t>(range.memory)];
      for (std::int64_t w = range.begin; w < range.end; ++w) {
        take(step, range.memory, writers[static_cast<std::size_t>(w)]);
      }
    }
    for (const compiler::verifier::WordRange& range : access.writes) {
      auto& writers = writers_[static_cast<std::size_t>(range.memory)];
      const auto* execute = std::get_if<Execute>(&command.fields);
      for (std::int64_t w = range.begin; w < range.end; ++w) {
        std::size_t& writer = writers[static_cast<std::size_t>(w)];
        if (execute != nullptr && execute->accumulate != 0) {
          join(reaching_[step.index], reaching_[writer]);
        }
        writer = step.index;
      }
    }
    if (step.unit == static_cast<std::size_t>(Unit::kExecute)) {
      join(reaching_[step.index], {step.index});
    }
    if (const auto* post = std::get_if<Post>(&command.fields)) {
      posts_[step.index].post = *post;
      posts_[step.index].index = step.index;
    }
  }

  // A word that command `step` reads, written by command `writer` of its memory's writing unit.
  void take(const Step& step, Memory memory, std::size_t writer) {
    switch (memory) {
      case Memory::kActivation:
      case Memory::kWeight:
        if (stalled_[0][writer]) load_stalled_[step.index] = true;
        return;
      case Memory::kParameter: {
        const auto load = program_.stream(Unit::kLoad).fields<Load>(writer);
        posts_[step.index].shifts = shift_bins(program_, load);
        return;
      }
      case Memory::kAccumulator:
        return join(posts_[step.index].executes, reaching_[writer]);
      case Memory::kTable:
        return;
      case Memory::kOutput:
        if (stalled_[3][step.index]) posts_[writer].store_stalled = true;
        return;
    }
  }

  static void join(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
    if (std::includes(to.begin(), to.end(), from.begin(), from.end())) return;
    std::vector<std::size_t> both;
    std::set_union(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(both));
    to = std::move(both);
  }

  template <typename Visit>
  void visit_pair(const PostFlow& flow, std::size_t execute, Visit visit) const {
    const ExecuteBins e = bins_of(program_.stream(Unit::kExecute).fields<Execute>(execute));
    const std::array<bool, 4> stalls = {load_stalled_[execute], stalled_[1][execute],
                                        stalled_[2][flow.index], flow.store_stalled};
    const bool any = std::find(stalls.begin(), stalls.end(), true) != stalls.end();
    for (std::size_t shift = 0; shift < kShiftBins; ++shift) {
      if (((flow.shifts >> shift) & 1) == 0) continue;
      for (std::size_t stall = 0; stall < kStallBins; ++stall) {
        if (stall == 0 ? any : !stalls[stall - 1]) continue;
        visit(index_of({e.kernel, e.stride, static_cast<std::size_t>(e.pad),
                        static_cast<std::size_t>(pool_bin_of(flow.post)),
                        rounding_bin_of(flow.post), shift, stall}));
      }
    }
  }

  const Program& program_;
  std::vector<Step> order_;
  std::array<std::vector<bool>, kUnits> stalled_;
  std::array<std::vector<std::size_t>, compiler::verifier::kMemories> writers_;  // of each word
  std::vector<std::vector<std::size_t>> reaching_;  // EXECUTEs whose psums an EXECUTE leaves
  std::vector<bool> load_stalled_;                  // by EXECUTE
  std::vector<PostFlow> posts_;
};

}  // namespace

void Coverage::add(const Program& program, const Times& times) {
  Flow(program, times).run([&](std::size_t bin) { ++counts_[bin]; });
}

void Coverage::add(std::span<const std::uint64_t> counts) {
  for (std::size_t i = 0; i < kCoverageBins; ++i) counts_[i] += counts[i];
}

std::size_t Coverage::filled() const {
  return kCoverageBins - static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), 0u));
}

std::vector<std::string> Coverage::empty_bins() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCoverageBins; ++i) {
    if (counts_[i] != 0) continue;
    const auto bins = bins_at(i);
    std::string name;
    for (std::size_t d = 0; d < bins.size(); ++d) {
      name += (d == 0 ? "" : ", ") + std::string(kDimensions[d]) + " " +
              std::string(bin_name(d, bins[d]));
    }
    names.push_back(name);
  }
  return names;
}

std::string Coverage::table() const {
  std::string text;
  for (std::size_t d = 0; d < kSizes.size(); ++d) {
    std::vector<std::uint64_t> hits(kSizes[d], 0);
    for (std::size_t i = 0; i < kCoverageBins; ++i) hits[bins_at(i)[d]] += counts_[i];
    text += "  " + std::string(kDimensions[d]) + ":";
    for (std::size_t bin = 0; bin < kSizes[d]; ++bin) {
      text += " " + std::string(bin_name(d, bin)) + " " + std::to_string(hits[bin]) +
              (bin + 1 < kSizes[d] ? "," : "\n");
    }
  }
  return text;
}

}  // namespace qsim
