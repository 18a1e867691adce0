#include "report/csv_text.h"

#include "core/base/printable.h"
#include "core/base/words.h"

namespace qsim::report {

std::string csv_field(const std::string& name) {
  const std::string text = printable(name);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string csv_number(double value) { return number_text(value, "%.6f"); }

}  // namespace qsim::report
