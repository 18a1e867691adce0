#include "core/machine/area.h"

#include <cmath>

#include "core/machine/area_law.h"
#include "core/machine/isa/commands.h"

namespace qsim {
namespace {

// Terms [first, last) of a law.
std::int64_t cells(const LawTerms& law, const LawTerms& terms, std::size_t first,
                   std::size_t last) {
  double sum = 0;
  for (std::size_t t = first; t < last; ++t) sum += law[t] * terms[t];
  return std::llround(sum);
}

CellCounts logic(const PartLaw& law, const LawTerms& terms) {
  return {cells(law.gates, terms, 0, kLawTerms), cells(law.flip_flops, terms, 0, kLawTerms), 0};
}

CellCounts pes(const PartLaw& array, const LawTerms& terms) {
  return {cells(array.gates, terms, kPeTerm, kPeTerm + 1),
          cells(array.flip_flops, terms, kPeTerm, kPeTerm + 1), 0};
}

CellCounts minus(const CellCounts& whole, const CellCounts& part) {
  return {whole.gates - part.gates, whole.flip_flops - part.flip_flops,
          whole.sram_bits - part.sram_bits};
}

// Bits of an address of that many words; at least one.
std::int64_t address_bits(std::int64_t words) {
  std::int64_t bits = 1;
  while ((std::int64_t{1} << bits) < words) ++bits;
  return bits;
}

// Widths and depths as in rtl/src: four queues of 4 commands of 256 bits; the signal masks (16
// bits) of EXECUTEs and POSTs in flight; bursts and commands of the load unit (10 and 58 bits) and
// of the store unit (1 and 16); and the accumulator's address, half, lane and overwrite of each
// psum on its way.
std::int64_t queue_bits(const ArchConfig& arch) {
  const std::int64_t bursts = arch.outstanding_bursts;
  const std::int64_t executes = 3 + (arch.array_cols + 7) / arch.array_rows + 1;
  const std::int64_t psum_bits =
      address_bits(arch.block_channels()) + address_bits(arch.accumulator_half_words()) + 2;
  const std::int64_t posts = arch.is_dyadic() ? 11 : 8;
  return 4 * 4 * 256 + 16 * executes + 16 * posts + bursts * (10 + 1) + (bursts + 1) * (58 + 16) +
         (arch.array_rows + arch.array_cols + 1) * psum_bits;
}

// The bits of both slots of POST's table, a copy for each lane.
std::int64_t table_bits(const ArchConfig& arch) {
  return kParamSlots * kTableBytes * 8 * arch.array_cols;
}

CellCounts memory(std::int64_t kib) { return {0, 0, kib * 1024 * 8}; }

}  // namespace

CellCounts& CellCounts::operator+=(const CellCounts& other) {
  gates += other.gates;
  flip_flops += other.flip_flops;
  sram_bits += other.sram_bits;
  return *this;
}

CellCounts AreaReport::total() const {
  CellCounts sum;
  for (const CellCounts& part : parts) sum += part;
  return sum;
}

AreaReport area_of(const ArchConfig& arch) {
  const LawTerms terms = law_terms(arch);
  const auto& [array, operands, accumulate, post, dma, control, dyadic_post] = area_law();
  AreaReport report;
  const auto part = [&](AreaPart p) -> CellCounts& {
    return report.parts[static_cast<std::size_t>(p)];
  };
  part(AreaPart::kPes) = pes(array, terms);
  part(AreaPart::kArrayEdges) = minus(logic(array, terms), pes(array, terms));
  part(AreaPart::kOperands) = logic(operands, terms);
  part(AreaPart::kPsumAdders) = logic(accumulate, terms);
  part(AreaPart::kPost) = logic(arch.is_dyadic() ? dyadic_post : post, terms);
  if (arch.is_dyadic()) part(AreaPart::kPost).sram_bits = table_bits(arch);
  part(AreaPart::kDma) = logic(dma, terms);
  part(AreaPart::kControl) = logic(control, terms);
  part(AreaPart::kQueues).sram_bits = queue_bits(arch);
  part(AreaPart::kActivations) = memory(arch.act_scratchpad_kib);
  part(AreaPart::kWeights) = memory(arch.weight_scratchpad_kib);
  part(AreaPart::kAccumulator) = memory(arch.accumulator_kib);
  part(AreaPart::kOutputs) = memory(arch.output_scratchpad_kib);
  report.outside = beyond_counted(arch);
  return report;
}

double mm2(const CellCounts& counts, const AreaTable& table) {
  return (static_cast<double>(counts.gates) * table.gate +
          static_cast<double>(counts.flip_flops) * table.flip_flop +
          static_cast<double>(counts.sram_bits) * table.sram_bit) *
         1e-6;
}

double total_mm2(const AreaReport& area, const AreaTable& table) {
  return mm2(area.total(), table);
}

}  // namespace qsim
