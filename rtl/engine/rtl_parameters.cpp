#include "rtl/engine/rtl_parameters.h"

#include <array>

namespace qsim::rtl {
namespace {

struct Row {
  const char* name;
  std::uint32_t RtlParameters::*value;
};

using P = RtlParameters;
constexpr std::array<Row, 10> kRows = {{{"ArrayRows", &P::array_rows},
                                        {"ArrayCols", &P::array_cols},
                                        {"ActWords", &P::act_words},
                                        {"WeightWords", &P::weight_words},
                                        {"AccHalfWords", &P::acc_half_words},
                                        {"OutWords", &P::out_words},
                                        {"BusBytes", &P::bus_bytes},
                                        {"BurstBeats", &P::burst_beats},
                                        {"OutstandingBursts", &P::outstanding_bursts},
                                        {"Dyadic", &P::dyadic}}};

std::string text_of(const Row& row, const RtlParameters& parameters) {
  return std::string(row.name) + "=" + std::to_string(parameters.*row.value);
}

}  // namespace

RtlParameters rtl_parameters(const ArchConfig& arch) {
  const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  return {number(arch.array_rows),
          number(arch.array_cols),
          number(arch.act_words()),
          number(arch.weight_words()),
          number(arch.accumulator_half_words()),
          number(arch.output_words()),
          number(arch.bus_bytes),
          number(arch.burst_beats),
          number(arch.outstanding_bursts),
          arch.is_dyadic() ? 1U : 0U};
}

std::vector<std::string> rtl_parameter_texts(const RtlParameters& parameters) {
  std::vector<std::string> texts;
  for (const Row& row : kRows) texts.push_back(text_of(row, parameters));
  return texts;
}

std::string rtl_parameter_difference(const RtlParameters& found, const RtlParameters& wanted) {
  std::string text;
  for (const Row& row : kRows) {
    if (found.*row.value == wanted.*row.value) continue;
    text += (text.empty() ? "" : ", ") + text_of(row, found) + " (wanted " +
            std::to_string(wanted.*row.value) + ")";
  }
  return text;
}

}  // namespace qsim::rtl
