// JSON from files: nested no deeper than qsim writes it, since a copy of a value recurses.
#pragma once

#include <string>
#include <string_view>

namespace qsim::formats {

inline constexpr int kMaxJsonDepth = 64;

// Whether lists and objects in `json` are nested deeper than kMaxJsonDepth.
bool is_nested_too_deep(std::string_view json);

// What `text` says, or a discarded value where it is no JSON or nested too deep. Json: a type of
// nlohmann::basic_json.
template <typename Json>
Json parse_shallow(const std::string& text) {
  if (is_nested_too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace qsim::formats
