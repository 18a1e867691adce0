#include "core/machine/energy.h"

#include <cmath>

#include "core/base/error.h"

namespace qsim {
namespace {

double times(std::uint64_t count, double energy) { return static_cast<double>(count) * energy; }

std::optional<double> times(std::uint64_t count, const std::optional<double>& energy) {
  if (!energy) return std::nullopt;
  return times(count, *energy);
}

double accesses(const MemoryEvents& memory, const SramRule& rule, double kib) {
  return times(memory.read_bits + memory.write_bits, rule.per_bit(kib));
}

}  // namespace

double SramRule::per_bit(double kib) const { return scale * std::pow(kib, exponent); }

SramRule sram_rule(const std::vector<SramPoint>& points) {
  QSIM_CHECK(!points.empty(), "an energy table without SRAM");
  const auto n = static_cast<double>(points.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const SramPoint& point : points) {
    mean_x += std::log(point.kib) / n;
    mean_y += std::log(point.energy / point.bits) / n;
  }
  double xx = 0;
  double xy = 0;
  for (const SramPoint& point : points) {
    const double x = std::log(point.kib) - mean_x;
    xx += x * x;
    xy += x * (std::log(point.energy / point.bits) - mean_y);
  }
  const double exponent = xx > 1e-12 ? xy / xx : 0;  // logs of equal sizes may differ in rounding
  return {std::exp(mean_y - exponent * mean_x), exponent};
}

double Energy::total() const {
  double sum = 0;
  for (const std::optional<double>& part : parts) sum += part.value_or(0);
  return sum;
}

Energy energy(const EnergyEvents& events, const EnergyTable& table, const ArchConfig& arch) {
  const SramRule rule = sram_rule(table.sram);
  const auto kib = [](std::int64_t size) { return static_cast<double>(size); };
  const std::uint64_t hop_bits =
      events.activation_hop_bits + events.psum_hop_bits + events.weight_hop_bits;
  const double parameter_kib = kib(kParamSlots * arch.param_block_bytes()) / 1024;
  Energy result;
  const auto part = [&](EnergyPart p) -> std::optional<double>& {
    return result.parts[static_cast<std::size_t>(p)];
  };
  part(EnergyPart::kMacs) = times(events.pe_macs, table.mac);
  part(EnergyPart::kHops) = times(hop_bits, table.hop);
  part(EnergyPart::kAdds) = times(events.adds, table.add);
  part(EnergyPart::kActivation) = accesses(events.activation, rule, kib(arch.act_scratchpad_kib));
  part(EnergyPart::kWeight) = accesses(events.weight, rule, kib(arch.weight_scratchpad_kib));
  part(EnergyPart::kAccumulator) =
      accesses(events.accumulator, rule, kib(arch.accumulator_kib) / kAccumulatorHalves);
  part(EnergyPart::kOutput) = accesses(events.output, rule, kib(arch.output_scratchpad_kib));
  part(EnergyPart::kParameter) = accesses(events.parameter, rule, parameter_kib);
  part(EnergyPart::kDramRead) = times(events.dram_read_bits, table.dram);
  part(EnergyPart::kDramWrite) = times(events.dram_write_bits, table.dram);
  return result;
}

double total_energy(const EnergyEvents& events, const EnergyTable& table, const ArchConfig& arch) {
  return energy(events, table, arch).total();
}

}  // namespace qsim
