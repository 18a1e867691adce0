// One program through several engines, and where the first of them differs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/engine.h"
#include "tests/rtl/programs/program_generator.h"

namespace qsim {

struct Witness {
  std::string name;
  std::unique_ptr<Engine> engine;
  bool times_count = true;  // false: an engine that may take other cycles
  std::size_t one_in = 1;   // of several that take turns, this one runs
  std::size_t turn = 0;     // programs of this number modulo `one_in`
};

struct Difference {
  std::size_t witness = 0;
  std::string text;  // engine, command, origin, field, both values
};

struct DifferentialResult {
  std::optional<Difference> difference;
  std::array<std::vector<CommandTime>, kUnits> times;  // of the first witness that has time
  std::uint64_t cycles = 0;
};

class Differential {
 public:
  // The first witness has the right bytes, the first with time the right times.
  explicit Differential(std::vector<Witness> witnesses) : witnesses_(std::move(witnesses)) {}

  // Every witness whose turn it is; bytes, start, free and done of every command, and the cycle
  // accounting. An engine that throws differs.
  DifferentialResult check(const RandomCase& made, std::size_t turn = 0);
  // The references and witness `only`.
  DifferentialResult check_one(const RandomCase& made, std::size_t only);

  const std::vector<Witness>& witnesses() const { return witnesses_; }

 private:
  template <typename Wanted>
  DifferentialResult run(const RandomCase& made, Wanted wanted);
  std::size_t first_timed() const;

  std::vector<Witness> witnesses_;
};

}  // namespace qsim
