// qsim_gen: writes the files that come from tables, the reference pages and the RTL's package.
// `qsim_gen DIR` writes them under the repository root DIR; `qsim_gen --check DIR` only compares
// (exit 0 current, 1 stale).
#include <exception>
#include <iostream>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "formats/files/files.h"
#include "tools/gen/pages.h"

namespace {

int check(const std::filesystem::path& root) {
  const auto stale = qsim::gen::stale_pages(qsim::gen::make_pages(root), root);
  for (const std::string& line : stale) std::cerr << line << "\n";
  if (stale.empty()) return 0;
  std::cerr << "run ./dev gen\n";
  return 1;
}

int write(const std::filesystem::path& root) {
  for (const qsim::gen::Page& page : qsim::gen::make_pages(root)) {
    qsim::formats::write_file_atomically(root / page.path, page.text);
    std::cout << page.path << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "--check") return check(arguments[1]);
    if (arguments.size() == 1 && !arguments[0].starts_with("-")) return write(arguments[0]);
  } catch (const qsim::Error& error) {
    std::cerr << "qsim_gen: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "qsim_gen: internal error: " << error.what() << "\n";
    return static_cast<int>(qsim::ExitCode::kInternal);
  }
  std::cerr << "usage: qsim_gen [--check] DIR\n";
  return static_cast<int>(qsim::ExitCode::kUsage);
}
