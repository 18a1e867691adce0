// The pseudo-code of core/machine/isa/commands.h as plain loops over memories of its own: what the
// SystemC engine's kernels are compared with. No time, no checks, no cleverness.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

struct ReferenceMachine {
  explicit ReferenceMachine(const ArchConfig& arch_config);

  // Random bytes everywhere, the extremes more often than chance would have it.
  void fill(Random& random);

  void load(const Load& load);
  void execute(const Execute& execute);
  void post(const Post& post);
  void store(const Store& store);

  ArchConfig arch;
  std::vector<std::int8_t> activations, weights, outputs, parameters, tables;
  std::array<std::vector<std::int32_t>, 2> psums;
  std::vector<std::byte> dram;

 private:
  // Its number and its plane, kernel row and kernel column.
  struct Fold {
    std::int64_t number, p, ky, kx;
  };
  // One psum of column c, requantized.
  std::int32_t level(const Post& post, std::int64_t c, std::int32_t acc) const;
  // The level that two psums make.
  std::int32_t sum(const Post& post, std::int32_t a, std::int32_t b) const;
  // The psums of one pixel of block b under one fold.
  void execute_pixel(const Execute& execute, const Fold& fold, std::int64_t b, std::int64_t oy,
                     std::int64_t ox);
};

}  // namespace qsim
