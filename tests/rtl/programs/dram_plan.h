// The DRAM side of a random program: where input, ofmaps, weights and parameters lie, their bytes,
// and what each LOAD reads of them.
#pragma once

#include "core/base/random.h"
#include "tests/core/program_draft.h"
#include "tests/rtl/programs/program_layout.h"

namespace qsim {

class DramDraft {
 public:
  // Fills the program's regions and segments.
  DramDraft(const ProgramPlan& plan, const ProgramLayout& layout, Random& random,
            ProgramDraft& program);

  // A STORE's address; its strides are set.
  void place(const PlacedCommand& placed, Store& store) const;
  // From now on LOADs may read what this STORE has written.
  void make_readable(const PlacedCommand& placed);
  // Address and strides of a LOAD. With `reads_ofmaps` from what is readable of the ofmaps, too.
  void place(Load& load, bool reads_ofmaps);

  Tensor input() const;

 private:
  struct Region {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
  };
  void add_regions(const ProgramLayout& layout);
  void add_segments();
  void add_weights(const char* name, std::int64_t address, std::int64_t bytes);
  void add_parameters(std::int64_t address);
  Region readable_region(std::int64_t least_bytes);
  Region segment(const std::string& name) const;
  void place_runs(Load& load, const Region& region, std::int64_t align);
  void place_weights(Load& load);

  const ProgramPlan& plan_;
  const ArchConfig& arch_;
  Random& random_;
  ProgramDraft& program_;
  std::int64_t param_pitch_ = 0;
  std::int64_t param_blocks_ = 0;
  std::int64_t tables_ = 0;                  // after the blocks
  std::vector<std::vector<bool>> readable_;  // by layer, of each word of its ofmap
};

// `count` bytes drawn in a style.
std::vector<std::byte> draw_bytes(Random& random, ValueStyle style, std::size_t count);

}  // namespace qsim
