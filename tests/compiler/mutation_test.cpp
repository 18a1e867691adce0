// Compiled programs with one fault planted: the verifier must refuse each, or the interpreter must
// give wrong bytes in program order (a wrong address is a wrong program, not a race). What passes
// both must be harmless, that is give golden's bytes in every order tried; the few kinds of mutant
// that are harmless by nature are explained where their number is asserted.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/verifier/verify.h"
#include "core/machine/isa/command_codec.h"
#include "core/machine/program_text.h"
#include "sim/interpreter/program_interpreter.h"
#include "tests/compiler/graph_builder.h"
#include "tests/core/program_draft.h"

namespace qsim {

using namespace compiler;
using namespace sim;
namespace {

using testing::GraphBuilder;
using testing::picture;
using testing::small_arch;
using testing::window;

struct Subject {
  Program program;
  Tensor input;
  std::vector<Tensor> ofmaps;
};

// Two layers, several tiles, input chunks and column blocks; several thousand psums.
Subject make_subject(std::int64_t rows, std::int64_t cols) {
  GraphBuilder builder(5, picture(1, 9, 8, 3, 7));
  const Graph graph = builder.conv(2 * cols + 1, window(3, 1, 1))
                          .max_pool(window(2, 2))
                          .conv(cols + 2, {3, 2, 1, 1, 1, 0, 1, 1})
                          .build();
  Subject subject{compile(graph, small_arch(rows, cols)), builder.random_input(), {}};
  subject.ofmaps =
      make_program_interpreter()->run(subject.program, subject.input, {true, 0}).ofmaps;
  return subject;
}

enum class Fate { kRefused, kWrongBytes, kHarmless, kUncaught };

// Whether a run of the mutant throws or gives other bytes.
bool run_shows_it(const Program& mutant, const Subject& subject, bool random_order,
                  std::uint64_t seed) {
  try {
    return make_program_interpreter(random_order)
               ->run(mutant, subject.input, {true, seed})
               .ofmaps != subject.ofmaps;
  } catch (const std::exception&) {
    return true;
  }
}

Fate fate_of(const Program& mutant, const Subject& subject) {
  if (!verify(mutant, subject.program.arch).empty()) return Fate::kRefused;
  if (run_shows_it(mutant, subject, false, 0)) return Fate::kWrongBytes;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    if (run_shows_it(mutant, subject, true, seed)) return Fate::kUncaught;
  }
  return Fate::kHarmless;
}

struct Tally {
  std::size_t refused = 0;
  std::size_t wrong_bytes = 0;
  std::vector<std::string> harmless;

  void add(const Program& mutant, const Subject& subject, const std::string& what) {
    switch (fate_of(mutant, subject)) {
      case Fate::kRefused:
        ++refused;
        break;
      case Fate::kWrongBytes:
        ++wrong_bytes;
        break;
      case Fate::kHarmless:
        harmless.push_back(what);
        break;
      case Fate::kUncaught:
        ADD_FAILURE() << "verify() passes what goes wrong in some order: " << what;
        break;
    }
  }
  std::string harmless_text() const {
    std::string text;
    for (const std::string& what : harmless) text += "\n" + what;
    return text;
  }
};

// Calls visit(unit, index, mutant's command) for about `count` commands all over the program, each
// on a fresh copy, and tallies what visit leaves there (visit returns "" to skip).
using Mutate = std::function<std::string(ProgramDraft&, Unit, std::size_t, Random&)>;
Tally mutate_all(const Subject& subject, std::size_t count, std::uint64_t seed,
                 const Mutate& mutate) {
  Random random(seed);
  Tally tally;
  for (std::size_t i = 0; i < count; ++i) {
    const auto unit = static_cast<Unit>(i % kUnits);
    const std::size_t size = subject.program.stream(unit).size();
    const auto index =
        static_cast<std::size_t>(random.uniform(0, static_cast<std::int64_t>(size) - 1));
    ProgramDraft mutant(subject.program);
    const std::string what = mutate(mutant, unit, index, random);
    if (what.empty()) continue;
    tally.add(mutant.program(), subject,
              command_label(subject.program, unit, index) + ": " + what + "\n  " +
                  command_text(subject.program, subject.program.stream(unit).command(index)));
  }
  return tally;
}

constexpr std::int64_t kArrays[][2] = {{4, 4}, {8, 4}, {4, 16}};

void for_each_subject(const std::function<void(const Subject&)>& check) {
  for (const auto& [rows, cols] : kArrays) {
    SCOPED_TRACE("array " + std::to_string(rows) + "x" + std::to_string(cols));
    const Subject subject = make_subject(rows, cols);
    ASSERT_TRUE(verify(subject.program, subject.program.arch).empty());
    check(subject);
  }
}

TEST(Mutation, EveryTokenBitDroppedOrAddedIsRefused) {
  for_each_subject([](const Subject& subject) {
    const Tally tally = mutate_all(
        subject, 400, 1, [](ProgramDraft& p, Unit unit, std::size_t index, Random& random) {
          Command& c = p.stream(unit)[index].command;
          const auto bit = static_cast<std::uint16_t>(1u << random.uniform(0, 10));
          (random.chance(0.5) ? c.wait_mask : c.signal_mask) ^= bit;
          return "token bit " + std::to_string(bit) + " flipped";
        });
    EXPECT_EQ(tally.refused, 400u) << tally.harmless_text();
  });
}

// The token of one wait and of the signal that feeds it: counts stay equal, only order is lost.
// Harmless where another token, or the order within a unit, implies the same.
TEST(Mutation, TokenDroppedOnBothSidesIsRefusedOrImpliedByOthers) {
  for_each_subject([](const Subject& subject) {
    const Tally tally = mutate_all(
        subject, 400, 2,
        [](ProgramDraft& p, Unit unit, std::size_t index, Random& random) -> std::string {
          const auto bit = static_cast<std::uint16_t>(1u << random.uniform(0, 10));
          if ((p.stream(unit)[index].command.wait_mask & bit) == 0) return "";
          std::size_t waits = 0;
          for (std::size_t i = 0; i < index; ++i) {
            waits += (p.stream(unit)[i].command.wait_mask & bit) != 0 ? 1 : 0;
          }
          for (auto& stream : p.streams()) {
            for (Instruction& other : stream) {
              if ((other.command.signal_mask & bit) == 0 || waits-- != 0) continue;
              other.command.signal_mask ^= bit;
              p.stream(unit)[index].command.wait_mask ^= bit;
              return "semaphore bit " + std::to_string(bit) + " dropped on both sides";
            }
          }
          return "";
        });
    EXPECT_GT(tally.refused, 30u);
    EXPECT_EQ(tally.wrong_bytes, 0u);
    EXPECT_LE(tally.harmless.size(), tally.refused / 2) << tally.harmless_text();
  });
}

// Local and DRAM addresses, by one beat, word or slot. Harmless where an EXECUTE finds the same
// bytes in another slot: the rows that two psum tiles share.
TEST(Mutation, EveryAddressShiftedIsRefusedOrGivesWrongBytes) {
  for_each_subject([](const Subject& subject) {
    const Tally tally = mutate_all(
        subject, 400, 3, [](ProgramDraft& p, Unit unit, std::size_t index, Random& random) {
          Command& c = p.stream(unit)[index].command;
          std::vector<std::size_t> addresses;
          const auto fields = command_fields(unit);
          for (std::size_t i = 0; i < fields.size(); ++i) {
            // A POST that adds nothing may have no second_addr: one check refuses any.
            if (fields[i].name == "second_addr") continue;
            if (fields[i].name.ends_with("_addr")) addresses.push_back(i);
          }
          const std::size_t field = addresses[random.next() % addresses.size()];
          const std::int64_t step = std::int64_t{1} << random.uniform(0, 7);
          const std::int64_t value = field_value(c, field);
          const std::int64_t shifted =
              value >= step && random.chance(0.5) ? value - step : value + step;
          set_field(c, field, shifted);
          return std::string(fields[field].name) + " is " + std::to_string(shifted);
        });
    EXPECT_GT(tally.refused, 200u);
    EXPECT_GT(tally.wrong_bytes, 2u);
    EXPECT_LE(tally.harmless.size(), 1u) << tally.harmless_text();
    for (const std::string& mutation : tally.harmless) {
      EXPECT_NE(mutation.find(": act_addr is "), std::string::npos) << mutation;
    }
  });
}

// Fields other than addresses, raised or lowered by one. Harmless by nature: strides of a single
// run, plane_words where R >= C, resident rows and columns that no window reaches, psums that no
// POST takes, pooling windows that grow over the tile's edge, pad_value where no pad is read,
// clamps that no value reaches, rounding without a tie, output_stationary for weight_stationary,
// which sets the time alone, and one more run of a LOAD, whose words nobody reads.
TEST(Mutation, EveryCountChangedIsRefusedOrGivesWrongBytesOrIsNotUsed) {
  for_each_subject([](const Subject& subject) {
    const Tally tally = mutate_all(
        subject, 600, 4,
        [](ProgramDraft& p, Unit unit, std::size_t index, Random& random) -> std::string {
          Command& c = p.stream(unit)[index].command;
          const auto fields = command_fields(unit);
          const std::size_t field = random.next() % fields.size();
          if (fields[field].name.ends_with("_addr")) return "";
          const std::int64_t value = field_value(c, field);
          const std::int64_t changed = value > 0 && random.chance(0.5) ? value - 1 : value + 1;
          try {
            set_field(c, field, changed);
          } catch (const Error&) {
            return "";
          }
          return std::string(fields[field].name) + " is " + std::to_string(changed);
        });
    EXPECT_GT(tally.refused, 100u);
    EXPECT_GT(tally.wrong_bytes, 20u);
    constexpr const char* kExplained[] = {"stride",  "plane_words", "row_words", "in_rows",
                                          "in_cols", "pool_h",      "pool_w",    "lo is",
                                          "hi is",   "rounding",    "pad_value", "dataflow is 1"};
    for (const std::string& what : tally.harmless) {
      const std::string mutation = what.substr(0, what.find('\n'));
      bool explained = mutation.starts_with("execute") && mutation.find("out_") < mutation.size();
      explained = explained ||
                  (mutation.starts_with("load") && mutation.find(": runs is") < mutation.size());
      for (const char* field : kExplained) {
        explained = explained || mutation.find(field) != std::string::npos;
      }
      EXPECT_TRUE(explained) << what;
    }
  });
}

// Neighbours in a stream. Harmless for LOADs of different memories whose readers wait anyway, and
// for EXECUTEs of different groups near the end, whose weights are both there already and whose
// slots nobody takes again. POSTs and STOREs never commute: each has its half.
TEST(Mutation, SwappedCommandsAreRefusedOrGiveWrongBytesOrMayGoEitherWay) {
  for_each_subject([](const Subject& subject) {
    const Tally tally = mutate_all(
        subject, 400, 5, [](ProgramDraft& p, Unit unit, std::size_t index, Random&) -> std::string {
          auto& stream = p.stream(unit);
          if (index + 1 == stream.size()) return "";
          std::swap(stream[index], stream[index + 1]);
          return "swapped with the next";
        });
    EXPECT_GT(tally.refused + tally.wrong_bytes, 100u);
    for (const std::string& what : tally.harmless) {
      EXPECT_TRUE(what.starts_with("load ") || what.starts_with("execute ")) << what;
    }
  });
}

}  // namespace
}  // namespace qsim
