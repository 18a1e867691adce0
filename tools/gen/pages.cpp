#include "tools/gen/pages.h"

#include <sstream>

#include "core/base/error.h"
#include "formats/files/files.h"

namespace qsim::gen {
namespace {

// Number of the first line in which two texts differ.
int first_different_line(const std::string& a, const std::string& b) {
  std::istringstream lines_a(a);
  std::istringstream lines_b(b);
  std::string line_a;
  std::string line_b;
  for (int number = 1;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(lines_a, line_a));
    const bool more_b = static_cast<bool>(std::getline(lines_b, line_b));
    if (more_a != more_b || line_a != line_b || !more_a) return number;
  }
}

}  // namespace

std::vector<Page> make_pages(const std::filesystem::path& root) {
  return {{"docs/reference/isa.md",
           isa_page(formats::read_text_file(root / "core/machine/isa/commands.h"))},
          {"docs/reference/config.md", config_page()},
          {"docs/reference/cli.md", cli_page()},
          {"docs/reference/host.md", host_page()},
          {"rtl/src/qsim_pkg.sv", rtl_package()}};
}

std::vector<std::string> stale_pages(const std::vector<Page>& pages,
                                     const std::filesystem::path& root) {
  std::vector<std::string> stale;
  for (const Page& page : pages) {
    if (!std::filesystem::exists(root / page.path)) {
      stale.push_back(page.path + ": missing");
      continue;
    }
    const std::string found = formats::read_text_file(root / page.path);
    if (found == page.text) continue;
    stale.push_back(page.path + ":" + std::to_string(first_different_line(found, page.text)) +
                    ": differs from what the tables say");
  }
  return stale;
}

}  // namespace qsim::gen
