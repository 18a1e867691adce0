// JSON as every file and stream of qsim gets it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace qsim::report {

// The document, indented, with a line end. It is ASCII: other characters are escaped, so that a
// reader gets them back exactly and a terminal shows nothing else. A byte that is not UTF-8, which
// JSON cannot hold, becomes U+FFFD. Never throws for what a text holds.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace qsim::report
