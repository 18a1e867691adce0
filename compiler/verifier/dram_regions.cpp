#include <algorithm>
#include <string>
#include <vector>

#include "compiler/verifier/checks.h"
#include "core/base/checked_math.h"
#include "core/base/limits.h"

namespace qsim::compiler::verifier {
namespace {

// The tensor has this machine's layout and is in the writable area.
void check_tensor(const Program& program, const std::string& name, const DramTensor& tensor,
                  Violations& violations) {
  if (tensor.block != program.arch.block_channels()) {
    violations.add(name + " has blocks of " + std::to_string(tensor.block) + " channels; " +
                   std::to_string(program.arch.block_channels()) + " are needed");
  }
  const std::int64_t end = checked_add(tensor.address, tensor.size_bytes());
  if (tensor.address >= 0 && end <= program.writable_bytes) return;
  violations.add(name + " lies at " + std::to_string(tensor.address) + ".." + std::to_string(end) +
                 ", outside the " + std::to_string(program.writable_bytes) + " writable bytes");
}

// The host writes what the taps make of the picture, so the tensor must have just that shape.
void check_taps(const HostInput& input, Violations& violations) {
  if (!input.taps || input.taps->packed_shape() == input.tensor.value.shape) return;
  violations.add("input is " + shape_text(input.tensor.value.shape.nhwc()) + "; its taps make " +
                 shape_text(input.taps->packed_shape().nhwc()));
}

// Every address of the runs is a multiple of `beat`, and the last byte has a 32-bit address.
template <typename Transfer>
std::string alignment_fault(const Transfer& c, std::int64_t beat) {
  const bool aligned = c.dram_addr % beat == 0 && (c.runs <= 1 || c.run_stride % beat == 0) &&
                       (c.groups <= 1 || c.group_stride % beat == 0);
  if (!aligned) {
    return "its address or strides are no multiples of the beat's " + std::to_string(beat) +
           " bytes";
  }
  const std::int64_t end = std::int64_t{c.dram_addr} +
                           (std::int64_t{c.groups} - 1) * c.group_stride +
                           (std::int64_t{c.runs} - 1) * c.run_stride + c.run_bytes;
  if (end <= kMaxDramBytes) return "";
  return "ends at DRAM address " + std::to_string(end) + "; addresses have 32 bits";
}

std::int64_t beat_bytes(const Load& load, const ArchConfig& arch) {
  switch (static_cast<LoadMemory>(load.memory)) {
    case LoadMemory::kActivation:
      return std::min(arch.bus_bytes, arch.array_rows);
    case LoadMemory::kWeight:
      return std::min(arch.bus_bytes, arch.weight_word_bytes());
    case LoadMemory::kParameter:
    case LoadMemory::kTable:
      break;
  }
  return arch.bus_bytes;
}

}  // namespace

void check_regions(const Program& program, Violations& violations) {
  check_tensor(program, "input", program.input.tensor, violations);
  check_taps(program.input, violations);
  for (const ProgramLayer& layer : program.layers) {
    check_tensor(program, "ofmap of " + layer.name, layer.ofmap, violations);
  }
  std::int64_t end = program.writable_bytes;
  for (const DramSegment& segment : program.segments) {
    if (segment.address < end) {
      violations.add("segment " + segment.name + " begins at " + std::to_string(segment.address) +
                     ", before the region below it ends at " + std::to_string(end));
    }
    end = segment.address + static_cast<std::int64_t>(segment.bytes.size());
  }
  if (end > kMaxDramBytes) {
    violations.add("DRAM ends at " + std::to_string(end) + "; addresses have 32 bits");
  }
}

void check_alignment(const Program& program, Violations& violations) {
  const CommandStream loads = program.stream(Unit::kLoad);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto load = loads.fields<Load>(i);
    const std::string fault = alignment_fault(load, beat_bytes(load, program.arch));
    if (!fault.empty()) violations.add(Unit::kLoad, i, fault);
  }
  const CommandStream stores = program.stream(Unit::kStore);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const std::string fault = alignment_fault(
        stores.fields<Store>(i), std::min(program.arch.bus_bytes, program.arch.array_cols));
    if (!fault.empty()) violations.add(Unit::kStore, i, fault);
  }
}

}  // namespace qsim::compiler::verifier
