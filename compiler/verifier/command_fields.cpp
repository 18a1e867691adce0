#include "core/machine/isa/command_fields.h"

#include "compiler/verifier/checks.h"
#include "compiler/verifier/for_each_command.h"
#include "core/machine/isa/parameter_block.h"

namespace qsim::compiler::verifier {
namespace {

// Reports the fields of one command.
class FieldRules {
 public:
  FieldRules(const ArchConfig& arch, Violations& violations, Unit unit, std::size_t index)
      : arch_(arch), violations_(violations), unit_(unit), index_(index) {}

  void within(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return;
    violations_.add(unit_, index_,
                    std::string(name) + " is " + std::to_string(value) +
                        "; allowed: " + std::to_string(low) + " to " + std::to_string(high));
  }
  void positive(const char* name, std::int64_t value) {
    if (value < 1)
      violations_.add(unit_, index_, std::string(name) + " is 0; at least 1 is needed");
  }

  template <typename Transfer>
  void transfer(const Transfer& c) {
    positive("run_bytes", c.run_bytes);
    positive("runs", c.runs);
    positive("groups", c.groups);
    if (c.runs > 1) positive("run_stride", c.run_stride);
    if (c.groups > 1) positive("group_stride", c.group_stride);
  }

  void check(const Load& c) {
    transfer(c);
    const LoadMemory last = arch_.is_dyadic() ? LoadMemory::kTable : LoadMemory::kParameter;
    within("memory", c.memory, 0, static_cast<std::int64_t>(last));
    if (c.memory == static_cast<std::uint32_t>(LoadMemory::kActivation)) {
      positive("plane_words", c.plane_words);
    }
  }

  void check(const Execute& c) {
    positive("in_rows", c.in_rows);
    positive("in_cols", c.in_cols);
    positive("kernel_h", c.kernel_h);
    positive("kernel_w", c.kernel_w);
    positive("stride_h", c.stride_h);
    positive("stride_w", c.stride_w);
    positive("planes", c.planes);
    positive("out_rows", c.out_rows);
    positive("out_cols", c.out_cols);
    if (c.in_rows > 1) positive("act_row_words", c.act_row_words);
    if (c.planes > 1) positive("act_plane_words", c.act_plane_words);
    within("dataflow", c.dataflow, 0, static_cast<std::int64_t>(kDataflows) - 1);
    const bool several = c.dataflow == static_cast<std::uint32_t>(Dataflow::kInputStationary);
    within("blocks", c.blocks, 1, several ? max_of<Execute>("blocks") : 1);
  }

  void check(const Post& c) {
    positive("in_rows", c.in_rows);
    positive("in_cols", c.in_cols);
    positive("out_rows", c.out_rows);
    positive("out_cols", c.out_cols);
    within("pool_h", c.pool_h, 1, kMostPoolWindow);
    within("pool_w", c.pool_w, 1, kMostPoolWindow);
    within("pool_stride_h", c.pool_stride_h, 1, kMostPoolWindow);
    within("pool_stride_w", c.pool_stride_w, 1, kMostPoolWindow);
    const std::string fault = rounding_fault(c.rounding, arch_);
    if (!fault.empty()) violations_.add(unit_, index_, fault);
    within("lo", c.lo, min_of<Post>("lo"), c.hi);
    if (c.add == 0) {
      within("second_addr", c.second_addr, 0, 0);
      within("second_half", c.second_half, 0, 0);
    }
    for (const std::string& text : {add_fault(c, arch_), lookup_fault(c, arch_)}) {
      if (!text.empty()) violations_.add(unit_, index_, text);
    }
  }

  void check(const Store& c) { transfer(c); }

 private:
  const ArchConfig& arch_;
  Violations& violations_;
  Unit unit_;
  std::size_t index_;
};

}  // namespace

void check_fields(const Program& program, Violations& violations) {
  for_each_command(program, [&](Unit unit, std::size_t index, const auto& fields) {
    const std::int32_t layer = program.stream(unit).origin(index).layer;
    if (layer < 0 || static_cast<std::size_t>(layer) >= program.layers.size()) {
      violations.add(unit, index, "its origin is no layer of the program");
    }
    FieldRules(program.arch, violations, unit, index).check(fields);
  });
}

}  // namespace qsim::compiler::verifier
