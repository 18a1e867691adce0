// The text of the files in report/html/page, which the build puts into the executable.
#pragma once

#include <string_view>

namespace qsim::report {

extern const std::string_view kPageHtml;  // the frame; {{name}} is replaced
extern const std::string_view kPageCss;
extern const std::string_view kPageScript;  // all scripts, in the order of report/CMakeLists.txt

}  // namespace qsim::report
