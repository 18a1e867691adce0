// Cells of CSV files (RFC 4180).
#pragma once

#include <string>

namespace qsim::report {

// A name on one line, quoted where CSV wants it.
std::string csv_field(const std::string& name);

// The number with six decimal places.
std::string csv_number(double value);

}  // namespace qsim::report
