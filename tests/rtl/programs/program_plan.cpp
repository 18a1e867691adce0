#include "tests/rtl/programs/program_plan.h"

#include <algorithm>

#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/command_fields.h"
#include "core/machine/isa/commands.h"
#include "tests/rtl/programs/field_numbers.h"
#include "tests/rtl/programs/shape_draw.h"
#include "tests/rtl/programs/word_spans.h"

namespace qsim {

using namespace compiler;
namespace {

// The dataflows of a random program's EXECUTEs, and their column blocks. It draws apart, so that
// shapes do not depend on it.

// Some programs have one dataflow, some another for each EXECUTE, some a switch at each.
class DataflowDraw {
 public:
  explicit DataflowDraw(std::uint64_t seed);

  // From now on all have the same.
  void keep() { mode_ = kOne; }

  // Sets dataflow and blocks of an EXECUTE whose sizes are set. `psums`: accumulator words that it
  // may have; its folds fit a weight slot.
  void set(const ArchConfig& arch, std::int64_t psums, Execute& e);

 private:
  enum Mode : std::int64_t { kOne, kSwitching, kAny };  // kAny twice as often: 2 and 3

  Random random_;
  std::int64_t mode_;
  std::int64_t dataflow_ = 0;
};

constexpr std::int64_t kLast = static_cast<std::int64_t>(kDataflows) - 1;

DataflowDraw::DataflowDraw(std::uint64_t seed) : random_(seed), mode_(random_.uniform(0, 3)) {
  dataflow_ = random_.uniform(0, kLast);
}

void DataflowDraw::set(const ArchConfig& arch, std::int64_t psums, Execute& e) {
  if (mode_ >= kAny) dataflow_ = random_.uniform(0, kLast);
  if (mode_ == kSwitching) dataflow_ = (dataflow_ + random_.uniform(1, kLast)) % (kLast + 1);
  e.dataflow = u32(dataflow_);
  e.blocks = 1;
  if (static_cast<Dataflow>(dataflow_) != Dataflow::kInputStationary) return;
  const std::int64_t folds = std::int64_t{e.planes} * e.kernel_h * e.kernel_w;
  const std::int64_t most = std::min({arch.weight_slot_words() / arch.fold_words() / folds,
                                      psums / (std::int64_t{e.out_rows} * e.out_cols),
                                      random_.chance(0.05) ? max_of<Execute>("blocks") : 5});
  e.blocks = u32(random_.uniform(1, std::max<std::int64_t>(1, most)));
}

// The bins that a plan steers towards, counted off by its seed.
struct Focus {
  ExecuteBins execute;
  PoolBin pool;
  std::uint32_t rounding;
};

ExecuteBins draw_bins(Random& random) {
  const auto draw = [&](std::size_t bins) {
    return static_cast<std::size_t>(random.uniform(0, static_cast<std::int64_t>(bins) - 1));
  };
  return {draw(kKernelBins), draw(kStrideBins), static_cast<PadBin>(draw(kPadBins))};
}

Focus focus_of(std::uint64_t seed) {
  const auto take = [&](std::size_t bins) {
    const std::size_t bin = seed % bins;
    seed /= bins;
    return bin;
  };
  Focus focus;
  focus.pool = static_cast<PoolBin>(take(kPoolBins));
  focus.execute.kernel = take(kKernelBins);
  focus.execute.stride = take(kStrideBins);
  focus.execute.pad = static_cast<PadBin>(take(kPadBins));
  focus.rounding = static_cast<std::uint32_t>(take(kRoundingBins));
  return focus;
}

class PlanDraw {
 public:
  PlanDraw(const ArchConfig& arch, std::uint64_t seed)
      : random_(seed ^ static_cast<std::uint64_t>(arch.array_rows * 4099 + arch.array_cols)),
        dataflows_(seed * 31 + 7),
        focus_(focus_of(seed)) {
    plan_.seed = random_.next();
    plan_.arch = arch;
    plan_.arch.dram_latency_cycles =
        random_.chance(0.3) ? arch.dram_latency_cycles : random_.uniform(1, 150);
    more_slots();
    smooth_ = random_.chance(0.3);
    turn_cycles_ = random_.uniform(60, random_.chance(0.15) ? 1500 : 500);
  }

  ProgramPlan draw() {
    const std::int64_t kind = random_.uniform(0, 9);
    const std::int64_t layers = kind < 6 ? 1 : kind < 9 ? 2 : 3;
    for (std::int64_t l = 0; l < layers; ++l) {
      LayerPlan layer;
      const std::int64_t turns = random_.uniform(1, layers > 1 ? 2 : 4);
      for (std::int64_t t = 0; t < turns; ++t) layer.turns.push_back(draw_turn());
      plan_.layers.push_back(layer);
    }
    draw_surroundings();
    return plan_;
  }

  // Whether a weight slot holds a kernel of which the pad is the larger part.
  bool can_wrap() const {
    return plan_.arch.weight_slot_words() / plan_.arch.fold_words() >= 16 &&
           plan_.arch.accumulator_half_words() >= plan_.arch.array_rows;
  }

  // One turn in which the same lowest weights meet the lowest pad value often enough that the sum
  // passes 2^31: R x 2^14 a fold of R cycles, so 2^17 cycles whatever the array (input_stationary
  // takes C / R times as many where C > R).
  ProgramPlan draw_wrapping() {
    Execute e;
    e.out_rows = e.out_cols = 1;
    const std::int64_t most_folds =
        std::min<std::int64_t>(512, plan_.arch.weight_slot_words() / plan_.arch.fold_words());
    e.planes = 1;
    while (e.planes * 64 < most_folds) e.planes *= 2;
    e.kernel_h = 8;
    e.kernel_w = most_folds < 64 ? u32(std::max<std::int64_t>(1, most_folds / 8)) : 8;
    e.stride_h = e.stride_w = e.out_rows = 1;
    e.out_cols = static_cast<std::uint32_t>(random_.uniform(1, plan_.arch.array_rows));
    e.in_rows = e.in_cols = 1;
    e.act_row_words = e.act_plane_words = 1;
    e.origin_row = e.origin_col = static_cast<std::int32_t>(random_.uniform(-3, 1));
    e.pad_value = random_.chance(0.5) ? -128 : 127;
    dataflows_.set(plan_.arch, e.out_cols, e);
    const std::int64_t fold_sum = plan_.arch.array_rows * 128 * 127;
    // The one resident pixel of a plane may add the same with the other sign.
    const std::int64_t folds = std::int64_t{e.planes} * (e.kernel_h * e.kernel_w - 2);
    const std::int64_t executes = (std::int64_t{1} << 31) / (fold_sum * folds) + 2;
    TurnPlan turn;
    for (std::int64_t i = 0; i < executes; ++i) {
      e.accumulate = i > 0 ? 1 : 0;
      turn.executes.push_back({e, i == 0, i == 0, random_.next()});
    }
    draw_posts(turn, e.out_cols);
    plan_.layers.push_back({{turn, draw_turn()}});
    draw_surroundings();
    plan_.weight_style = ValueStyle::kLowest;
    return plan_;
  }

  // Two turns by turns, so that EXECUTEs come from both halves, or one after the other. A switch of
  // the dataflow empties the array, so most plans have none.
  ProgramPlan draw_back_to_back() {
    plan_.back_to_back = true;
    if (random_.chance(0.8)) dataflows_.keep();
    LayerPlan layer;
    const std::int64_t turns = random_.uniform(1, 2) * 2;
    for (std::int64_t t = 0; t < turns; ++t) {
      layer.turns.push_back(draw_turn_back_to_back());
      layer.turns.back().interleaves = t % 2 == 1 && random_.chance(0.8);
    }
    plan_.layers.push_back(layer);
    draw_surroundings();
    plan_.noise.clear();
    plan_.flights[static_cast<std::size_t>(compiler::verifier::Memory::kAccumulator)] = {2, 2};
    return plan_;
  }

 private:
  // The first EXECUTE overwrites, the others accumulate. The stream of each dataflow is filled to
  // its end, or nearly so.
  TurnPlan draw_turn_back_to_back() {
    const ArchConfig& arch = plan_.arch;
    const std::int64_t most = std::min({arch.accumulator_half_words(), arch.act_slot_words() / 4,
                                        arch.output_half_words(), std::int64_t{120}});
    TurnPlan turn;
    std::int64_t psums = 0;
    const std::int64_t executes = random_.uniform(4, 8);
    for (std::int64_t i = 0; i < executes; ++i) {
      Execute e;
      e.kernel_h = e.kernel_w = e.stride_h = e.stride_w = e.out_rows = e.out_cols = 1;
      e.planes = u32(random_.uniform(
          1, std::min<std::int64_t>(2, arch.weight_slot_words() / arch.fold_words())));
      dataflows_.set(arch, i == 0 ? arch.accumulator_half_words() : psums, e);
      const bool by_columns = static_cast<Dataflow>(e.dataflow) == Dataflow::kInputStationary;
      std::int64_t pixels =
          (by_columns ? arch.array_cols : arch.array_rows) * (i == 0                 ? 5
                                                              : random_.chance(0.75) ? 1
                                                                                     : 2);
      if (random_.chance(0.3)) pixels += random_.uniform(-2, 2);
      if (i > 0) pixels = std::min(pixels, psums / e.blocks);
      pixels = std::clamp<std::int64_t>(pixels, 1, std::max<std::int64_t>(1, most / e.blocks));
      e.in_rows = 1;
      e.out_cols = e.in_cols = e.act_row_words = e.act_plane_words = u32(pixels);
      e.pad_value = static_cast<std::int32_t>(random_.uniform(-128, 127));
      e.accumulate = i > 0 ? 1 : 0;
      if (i == 0) psums = e.blocks * pixels;
      turn.executes.push_back({e, false, false, random_.next()});
    }
    PostPlan post;
    Post& p = post.shape;
    p.in_rows = p.out_rows = p.pool_h = p.pool_w = p.pool_stride_h = p.pool_stride_w = 1;
    p.in_cols = p.out_cols = u32(std::min(psums, arch.output_half_words()));
    draw_epilogue(random_, plan_.arch, p);
    post.seed = random_.next();
    turn.posts.push_back(post);
    return turn;
  }

  // More and smaller slots: the hardware does not know their number. A weight slot holds a fold, an
  // activation slot twice what a LOAD that deinterleaves writes at least.
  void more_slots() {
    ArchConfig& arch = plan_.arch;
    const std::int64_t act_words = 4 * (arch.block_channels() / arch.array_rows);
    const auto more = [&](std::int64_t& slots, std::int64_t slot_words, std::int64_t least) {
      const bool fits = slots < 8 && slot_words / 2 >= least;
      if (fits) slots *= 2;
      return fits;
    };
    while (random_.chance(0.5) && more(arch.act_slots, arch.act_slot_words(), act_words)) {
    }
    while (random_.chance(0.5) &&
           more(arch.weight_slots, arch.weight_slot_words(), arch.fold_words())) {
    }
  }

  TurnPlan draw_turn() {
    TurnPlan turn;
    std::int64_t psums = 0;
    const std::int64_t executes = random_.uniform(1, 4);
    const bool needs_several =
        focus_.pool == PoolBin::kDisjoint || focus_.pool == PoolBin::kOverlapping;
    for (std::int64_t i = 0; i < executes; ++i) {
      ExecuteLimits limits;
      limits.cycles = std::max<std::int64_t>(turn_cycles_ / executes, plan_.arch.array_rows);
      limits.min_pixels = i == 0 && needs_several
                              ? std::min<std::int64_t>(3, plan_.arch.accumulator_half_words())
                              : 1;
      limits.max_pixels = std::min<std::int64_t>(plan_.arch.accumulator_half_words() - psums,
                                                 random_.chance(0.1) ? 300 : 80);
      limits.act_words = std::min<std::int64_t>(plan_.arch.act_slot_words() / 4, 500);
      if (limits.max_pixels < limits.min_pixels) break;
      const ExecuteBins bins = random_.chance(0.7) ? focus_.execute : draw_bins(random_);
      Execute e = draw_execute(random_, plan_.arch, bins, limits);
      dataflows_.set(plan_.arch, plan_.arch.accumulator_half_words() - psums, e);
      const std::int64_t words = std::int64_t{e.blocks} * e.out_rows * e.out_cols;
      e.accumulate = words <= psums && random_.chance(0.5) ? 1 : 0;
      if (e.accumulate == 0) psums += words;
      turn.executes.push_back({e, new_turn(0.4), new_turn(0.4), random_.next()});
    }
    draw_posts(turn, psums);
    turn.interleaves = random_.chance(0.3);
    return turn;
  }

  bool new_turn(double probability) { return random_.chance(smooth_ ? 0.05 : probability); }

  void draw_posts(TurnPlan& turn, std::int64_t psums) {
    const std::int64_t posts = random_.uniform(smooth_ ? 2 : 1, smooth_ ? 4 : 3);
    for (std::int64_t i = 0; i < posts; ++i) {
      const auto other = static_cast<PoolBin>(random_.uniform(0, kPoolBins - 1));
      PostPlan post;
      post.shape = draw_post(random_, plan_.arch, random_.chance(0.75) ? focus_.pool : other, psums,
                             std::max<std::int64_t>(turn_cycles_ / 2, 8));
      if (random_.chance(plan_.arch.is_dyadic() ? 0.5 : 0.8)) post.shape.rounding = focus_.rounding;
      post.new_param_turn = new_turn(0.35);
      post.new_out_turn = new_turn(0.45);
      post.seed = random_.next();
      turn.posts.push_back(post);
    }
  }

  void draw_surroundings() {
    const std::array<std::int64_t, kTurnMemories> most = {plan_.arch.act_slots,
                                                          plan_.arch.weight_slots, kParamSlots,
                                                          kAccumulatorHalves, kOutputHalves};
    for (std::size_t m = 0; m < kTurnMemories; ++m) {
      FlightPlan& flight = plan_.flights[m];
      flight.turns = static_cast<std::size_t>(random_.uniform(1, most[m]));
      flight.initial = random_.chance(0.7) ? flight.turns
                                           : static_cast<std::size_t>(random_.uniform(
                                                 0, static_cast<std::int64_t>(flight.turns)));
    }
    for (std::int64_t& weight : plan_.order) weight = random_.chance(0.5) ? 10 : 1;
    const std::int64_t noise = smooth_ || random_.chance(0.4) ? 0 : random_.uniform(1, 5);
    for (std::int64_t i = 0; i < noise; ++i) plan_.noise.push_back(random_.next());
    plan_.input_style = static_cast<ValueStyle>(random_.uniform(0, 3));
    plan_.weight_style =
        random_.chance(0.04) ? ValueStyle::kLowest : static_cast<ValueStyle>(random_.uniform(0, 3));
    plan_.load_pieces = random_.uniform(1, 4);
    plan_.reads_ofmaps = random_.chance(0.8);
    plan_.layers_follow = plan_.reads_ofmaps && random_.chance(0.5);
  }

  Random random_;
  DataflowDraw dataflows_;
  Focus focus_;
  ProgramPlan plan_;
  std::int64_t turn_cycles_ = 0;
  bool smooth_ = false;  // few tokens: commands that nothing holds up
};

}  // namespace

ProgramPlan draw_plan(const ArchConfig& arch, std::uint64_t seed) {
  const bool is_small = arch.array_rows * arch.array_cols <= 16;
  const bool has_turn = is_small ? seed % 400 == 7 : seed % 2000 == 1007;
  PlanDraw draw(arch, seed);
  if (has_turn && draw.can_wrap()) return draw.draw_wrapping();
  constexpr std::uint64_t kApart = 0x9e3779b97f4a7c15ull;
  return Random(seed ^ kApart).chance(0.15) ? draw.draw_back_to_back() : draw.draw();
}

}  // namespace qsim
