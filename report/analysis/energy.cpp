#include "report/analysis/energy.h"

namespace qsim::report {

std::optional<double> tops_per_watt(const EnergyEvents& events, const Energy& energy,
                                    const EnergyTable& table) {
  const double total = energy.total();
  if (table.unit != kPicojoules || total <= 0) return std::nullopt;
  return 2 * static_cast<double>(events.useful_macs) / total;
}

}  // namespace qsim::report
