#include "report/csv_text.h"

#include <cstdio>

#include "core/base/printable.h"

namespace qsim {

std::string csv_field(const std::string& name) {
  const std::string text = printable(name);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string csv_number(double value) {
  char buffer[320];  // any double
  std::snprintf(buffer, sizeof buffer, "%.6f", value);
  return buffer;
}

}  // namespace qsim
