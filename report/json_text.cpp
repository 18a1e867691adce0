#include "report/json_text.h"

#include <nlohmann/json.hpp>

namespace qsim::report {

std::string json_text(const nlohmann::ordered_json& json) {
  constexpr int kIndent = 2;
  constexpr bool kAscii = true;
  return json.dump(kIndent, ' ', kAscii, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace qsim::report
