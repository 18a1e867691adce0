#include "core/base/words.h"

#include <cmath>
#include <cstdio>

namespace qsim {

std::string number_text(double value, const char* format) {
  char text[384];  // DBL_MAX by "%.6f" takes 316
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string finite_text(double value, const char* format, const char* otherwise) {
  return std::isfinite(value) ? number_text(value, format) : otherwise;
}

}  // namespace qsim
