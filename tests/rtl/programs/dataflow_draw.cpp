#include "tests/rtl/programs/dataflow_draw.h"

#include <algorithm>

#include "core/isa/command_fields.h"
#include "tests/rtl/programs/field_numbers.h"

namespace qsim {
namespace {

constexpr std::int64_t kLast = static_cast<std::int64_t>(kDataflows) - 1;

}  // namespace

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

}  // namespace qsim
