#include "report/html/report_page.h"

#include <utility>

#include "core/base/error.h"
#include "report/html/page_files.h"

namespace qsim::report {
namespace {

// kPageHtml with each {{name}} replaced. What replaces it is not read again.
std::string filled(std::span<const std::pair<std::string_view, std::string_view>> values) {
  std::string page;
  std::string_view rest = kPageHtml;
  for (;;) {
    const std::size_t begin = rest.find("{{");
    page += rest.substr(0, begin);
    if (begin == std::string_view::npos) return page;
    const std::size_t end = rest.find("}}", begin);
    QSIM_CHECK(end != std::string_view::npos, "a place of the page has no end");
    const std::string_view name = rest.substr(begin + 2, end - begin - 2);
    bool is_known = false;
    for (const auto& [known, value] : values) {
      if (known != name) continue;
      page += value;
      is_known = true;
    }
    QSIM_CHECK(is_known, "the page has an unknown place '" + std::string(name) + "'");
    rest.remove_prefix(end + 2);
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string report_page(const PageContent& content, std::string_view chart_library) {
  QSIM_CHECK(!content.runs.empty(), "a report needs a run");
  const std::string title = html_text(page_title(content));
  const std::string summary = html_text(page_summary(content));
  const std::size_t frame = kPageHtml.size() + kPageCss.size() + kPageScript.size() +
                            chart_library.size() + 2 * title.size() + summary.size();
  QSIM_CHECK(frame < kMostPageBytes, "the chart library leaves no room for the page");
  const std::string data = page_data(content, kMostPageBytes - frame);
  const std::pair<std::string_view, std::string_view> values[] = {
      {"title", title}, {"summary", summary},       {"style", kPageCss},
      {"data", data},   {"library", chart_library}, {"script", kPageScript},
  };
  return filled(values);
}

}  // namespace qsim::report
