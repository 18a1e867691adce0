// The engines' names, as users and reports write them. cli/session/engines/engines.cpp has the
// table of what each engine can do.
#pragma once

#include <string_view>

namespace qsim {

inline constexpr std::string_view kSystemcEngine = "systemc";
inline constexpr std::string_view kInterpreterEngine = "interpreter";
inline constexpr std::string_view kRtlEngine = "rtl";
inline constexpr std::string_view kRecurrenceEngine = "recurrence";

}  // namespace qsim
