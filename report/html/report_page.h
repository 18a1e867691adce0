// The report's page: one HTML file with its style, scripts, charts and numbers inside, which opens
// without a network. docs/reference/output.md says what it shows.
#pragma once

#include <string>
#include <string_view>

#include "report/html/page_data.h"

namespace qsim::report {

// The whole page is at most this long, with the library inside.
inline constexpr std::size_t kMostPageBytes = 2'000'000;

// `chart_library` is the JavaScript that defines vegaEmbed; it must not hold "</script" or "<!--".
// There is at least one run, and each has times. Names and words of the content may hold anything:
// they become text, never markup.
std::string report_page(const PageContent& content, std::string_view chart_library);

// `text` as HTML shows it: & < > " ' are replaced by character references.
std::string html_text(std::string_view text);

}  // namespace qsim::report
