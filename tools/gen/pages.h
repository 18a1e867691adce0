// The generated files (reference pages, the RTL's package): what their text is, and how a
// checked-in copy is compared with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace qsim::gen {

struct Page {
  std::string path;  // relative to the repository root
  std::string text;
};

// docs/reference/isa.md, from the command table and the pseudo-code of `commands_header` (the text
// of core/machine/isa/commands.h).
std::string isa_page(const std::string& commands_header);

// docs/reference/config.md, from the field table of core/machine/arch_config.h.
std::string config_page();

// docs/reference/cli.md, from the declarations of the commands (cli/commands/commands.h).
std::string cli_page();
std::string host_page();  // golden/host, docs/reference/host.md

// rtl/src/qsim_pkg.sv, from the command table and the constants that hardware and C++ share.
std::string rtl_package();

// Every page, made from the tables and from the sources under `root`. Throws Error when a source
// is not there or does not hold the pseudo-code of a command.
std::vector<Page> make_pages(const std::filesystem::path& root);

// For each page that is missing under `root` or differs: "PATH:LINE: ...". Empty: all current.
std::vector<std::string> stale_pages(const std::vector<Page>& pages,
                                     const std::filesystem::path& root);

}  // namespace qsim::gen
