#include "tests/rtl/programs/shrinker.h"

#include <algorithm>

#include "compiler/verifier/verify.h"
#include "core/base/error.h"
#include "core/machine/isa/command_codec.h"
#include "tests/core/program_draft.h"

namespace qsim {

using namespace compiler;
namespace {

constexpr std::uint64_t kPartSeeds = 6;
constexpr std::uint64_t kShapeSeeds = 6;

using Change = std::function<void(ProgramPlan&)>;

// Positions of a plan's parts; a step that follows an erased part finds the next in its place.
struct Place {
  std::size_t layer, turn, item;
};

class Shrinker {
 public:
  Shrinker(const ProgramPlan& plan, const StillFails& fails, std::size_t most_runs)
      : plan_(plan), fails_(fails), most_runs_(most_runs) {
    BuiltCase built = build_case(plan, "shrunk");
    QSIM_CHECK(built.violation.empty() && fails(built.made), "the plan to shrink does not fail");
    case_ = std::move(built.made);
  }

  ShrinkResult shrink() {
    bool smaller = true;
    while (smaller && runs_ < most_runs_) {
      smaller = drop_parts();
      smaller = simplify_surroundings() || smaller;
      smaller = simplify_shapes() || smaller;
    }
    simplify_fields();
    zero_values();
    return {std::move(case_), runs_};
  }

 private:
  // Values and places follow from the seed, and a failure may hang on them: other seeds get a
  // chance.
  bool try_plan(const Change& change, std::uint64_t seeds = 1) {
    for (std::uint64_t i = 0; i < seeds && runs_ < most_runs_; ++i) {
      ProgramPlan next = plan_;
      change(next);
      if (next == plan_) return false;
      next.seed += i;
      BuiltCase built = build_case(next, "shrunk");
      if (!built.violation.empty() || built.made.program == case_.program) continue;
      ++runs_;
      if (!fails_(built.made)) continue;
      plan_ = std::move(next);
      case_ = std::move(built.made);
      return true;
    }
    return false;
  }

  // Erases each element of a list that `of` finds in a plan, and keeps at least `least` of them.
  template <typename ListOf>
  bool drop_each(std::size_t least, ListOf of) {
    bool any = false;
    for (std::size_t i = of(plan_).size(); i-- > 0 && of(plan_).size() > least;) {
      const Change erase = [&](ProgramPlan& p) {
        of(p).erase(of(p).begin() + static_cast<std::ptrdiff_t>(i));
      };
      any = try_plan(erase, kPartSeeds) || any;
    }
    return any;
  }

  bool drop_parts() {
    bool any = drop_each(
        1, [](ProgramPlan & p) -> auto& { return p.layers; });
    for (std::size_t l = 0; l < plan_.layers.size(); ++l) {
      any = drop_each(
                1, [&](ProgramPlan & p) -> auto& { return p.layers[l].turns; }) ||
            any;
      for (std::size_t t = 0; t < plan_.layers[l].turns.size(); ++t) {
        const auto turn = [&](ProgramPlan& p) -> TurnPlan& { return p.layers[l].turns[t]; };
        any = drop_each(
                  1, [&](ProgramPlan & p) -> auto& { return turn(p).executes; }) ||
              any;
        any = drop_each(
                  0, [&](ProgramPlan & p) -> auto& { return turn(p).posts; }) ||
              any;
      }
    }
    return drop_each(
               0, [](ProgramPlan & p) -> auto& { return p.noise; }) ||
           any;
  }

  bool simplify_surroundings() {
    bool any = false;
    const auto change = [&](const Change& c) { any = try_plan(c) || any; };
    change([](ProgramPlan& p) { p.load_pieces = 1; });
    change([](ProgramPlan& p) { p.layers_follow = false; });
    change([](ProgramPlan& p) { p.back_to_back = false; });
    change([](ProgramPlan& p) { p.reads_ofmaps = false; });
    change([](ProgramPlan& p) { p.arch.dram_latency_cycles = 1; });
    change([](ProgramPlan& p) { p.order = {1, 1, 1, 1}; });
    for (std::size_t m = 0; m < kTurnMemories; ++m) {
      change([m](ProgramPlan& p) { p.flights[m] = {1, 1}; });
    }
    return any;
  }

  template <typename Visit>
  void for_each_shape(Visit visit) {
    for (std::size_t l = 0; l < plan_.layers.size(); ++l) {
      for (std::size_t t = 0; t < plan_.layers[l].turns.size(); ++t) {
        // A visit may replace the plan, but not how many parts it has.
        const std::size_t executes = plan_.layers[l].turns[t].executes.size();
        const std::size_t posts = plan_.layers[l].turns[t].posts.size();
        for (std::size_t i = 0; i < executes; ++i) visit(Place{l, t, i}, true);
        for (std::size_t i = 0; i < posts; ++i) visit(Place{l, t, i}, false);
      }
    }
  }

  bool simplify_shapes() {
    bool any = false;
    for_each_shape([&](const Place& at, bool is_execute) {
      const auto turn = [at](ProgramPlan& p) -> TurnPlan& {
        return p.layers[at.layer].turns[at.turn];
      };
      if (is_execute) {
        const auto e = [=](ProgramPlan& p) -> ExecutePlan& { return turn(p).executes[at.item]; };
        any = simplify_execute(e) || any;
      } else {
        const auto post = [=](ProgramPlan& p) -> PostPlan& { return turn(p).posts[at.item]; };
        any = simplify_post(post) || any;
      }
    });
    return any;
  }

  template <typename At>
  bool simplify_execute(At at) {
    bool any = false;
    const auto change = [&](auto set) {
      any = try_plan([&](ProgramPlan& p) { set(at(p).shape); }, kShapeSeeds) || any;
    };
    any = try_plan([&](ProgramPlan& p) { at(p).new_act_turn = at(p).new_weight_turn = false; });
    change([](Execute& e) { e.blocks = 1; });
    change([](Execute& e) { e.blocks -= e.blocks > 1 ? 1 : 0; });
    change([](Execute& e) {
      e.dataflow = 0;
      e.blocks = 1;
    });
    change([](Execute& e) { e.planes = 1; });
    change([](Execute& e) { e.planes -= e.planes > 1 ? 1 : 0; });
    change([](Execute& e) { e.kernel_h = 1; });
    change([](Execute& e) { e.kernel_w = 1; });
    change([](Execute& e) { e.stride_h = 1; });
    change([](Execute& e) { e.stride_w = 1; });
    change([](Execute& e) { e.out_rows = 1; });
    change([](Execute& e) { e.out_cols = 1; });
    change([](Execute& e) { e.out_cols = (e.out_cols + 1) / 2; });
    change([](Execute& e) { e.out_rows = (e.out_rows + 1) / 2; });
    change([](Execute& e) { e.origin_row = e.origin_col = 0; });
    change([](Execute& e) { e.in_rows = (e.out_rows - 1) * e.stride_h + e.kernel_h; });
    change([](Execute& e) { e.in_cols = (e.out_cols - 1) * e.stride_w + e.kernel_w; });
    change([](Execute& e) { e.act_row_words = e.in_cols; });
    change([](Execute& e) { e.act_plane_words = e.in_cols * e.in_rows; });
    change([](Execute& e) { e.pad_value = 0; });
    change([](Execute& e) { e.accumulate = 0; });
    return any;
  }

  template <typename At>
  bool simplify_post(At at) {
    bool any = false;
    const auto change = [&](auto set) {
      any = try_plan([&](ProgramPlan& p) { set(at(p).shape); }, kShapeSeeds) || any;
    };
    any = try_plan([&](ProgramPlan& p) { at(p).new_param_turn = at(p).new_out_turn = false; });
    change([](Post& p) { p.pool_h = p.pool_w = 1; });
    change([](Post& p) { p.pool_stride_h = p.pool_stride_w = 1; });
    change([](Post& p) { p.out_rows = 1; });
    change([](Post& p) { p.out_cols = 1; });
    change([](Post& p) { p.out_rows = (p.out_rows + 1) / 2; });
    change([](Post& p) { p.out_cols = (p.out_cols + 1) / 2; });
    change([](Post& p) { p.origin_row = p.origin_col = 0; });
    change([](Post& p) { p.in_rows = (p.out_rows - 1) * p.pool_stride_h + p.pool_h; });
    change([](Post& p) { p.in_cols = (p.out_cols - 1) * p.pool_stride_w + p.pool_w; });
    return any;
  }

  bool try_case(const std::function<void(RandomCase&)>& change) {
    if (runs_ >= most_runs_) return false;
    RandomCase next = case_;
    change(next);
    if (next.program == case_.program && next.input == case_.input) return false;
    if (!verify(next.program, next.program.arch).empty()) return false;
    ++runs_;
    if (!fails_(next)) return false;
    case_ = std::move(next);
    return true;
  }

  void simplify_fields() {
    for (std::size_t u = 0; u < kUnits; ++u) {
      const auto fields = command_fields(static_cast<Unit>(u)).size();
      for (std::size_t i = 0; i < case_.program.streams[u].size(); ++i) {
        for (std::size_t f = 0; f < fields; ++f) simplify_field(u, i, f);
      }
    }
  }

  void simplify_field(std::size_t unit, std::size_t index, std::size_t field) {
    const Command command = case_.program.streams[unit].command(index);
    const std::int64_t now = field_value(command, field);
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{1}, now / 2}) {
      if (value == now || (now == 1 && value != 0)) continue;
      if (try_case([&](RandomCase& c) {
            ProgramDraft draft(std::move(c.program));
            set_field(draft.streams()[unit][index].command, field, value);
            c.program = draft.program();
          })) {
        return;
      }
    }
  }

  // Zeroes a stretch of bytes, or what of its halves can be.
  template <typename BytesOf>
  void zero(BytesOf of, std::size_t begin, std::size_t end) {
    constexpr std::size_t kLeastBytes = 16;
    const auto& bytes = of(case_);
    if (std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                    bytes.begin() + static_cast<std::ptrdiff_t>(end),
                    [](std::byte b) { return b == std::byte{0}; })) {
      return;
    }
    if (try_case([&](RandomCase& c) {
          std::fill(of(c).begin() + static_cast<std::ptrdiff_t>(begin),
                    of(c).begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
        })) {
      return;
    }
    if (end - begin <= kLeastBytes) return;
    const std::size_t middle = begin + (end - begin) / 2;
    zero(of, begin, middle);
    zero(of, middle, end);
  }

  void zero_values() {
    zero(
        [](RandomCase & c) -> auto& { return c.input.bytes; }, 0, case_.input.bytes.size());
    for (std::size_t s = 0; s < case_.program.segments.size(); ++s) {
      zero(
          [s](RandomCase & c) -> auto& { return c.program.segments[s].bytes; }, 0,
          case_.program.segments[s].bytes.size());
    }
  }

  ProgramPlan plan_;
  RandomCase case_;
  const StillFails& fails_;
  std::size_t most_runs_;
  std::size_t runs_ = 0;
};

}  // namespace

ShrinkResult shrink(const ProgramPlan& plan, const StillFails& fails, std::size_t most_runs) {
  return Shrinker(plan, fails, most_runs).shrink();
}

}  // namespace qsim
