// Checks every #include of the tree against the table in docs/architecture.md: which folder may
// see which, and where each third-party header is confined.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace qsim {
namespace {

namespace fs = std::filesystem;

struct FolderRule {
  std::set<std::string> may_include;  // folders of the table; {"all"} for every one
  std::set<std::string> third_party;  // header prefixes; {"all"} for every one
};

struct Rules {
  std::map<std::string, FolderRule> folders;  // "golden/graph/cpu/" -> rule
  std::set<std::string> platform_headers;     // allowed everywhere

  // The longest folder of the table that `path` lies in; "" for none.
  std::string folder_of(const std::string& path) const {
    std::string best;
    for (const auto& [folder, rule] : folders) {
      if (path.starts_with(folder) && folder.size() > best.size()) best = folder;
    }
    return best;
  }
};

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The words in backquotes.
std::set<std::string> quoted_words(const std::string& cell) {
  static const std::regex kWord("`([^`]+)`");
  std::set<std::string> words;
  for (std::sregex_iterator it(cell.begin(), cell.end(), kWord), end; it != end; ++it) {
    words.insert((*it)[1]);
  }
  if (cell.find("all") != std::string::npos && words.empty()) words.insert("all");
  return words;
}

std::vector<std::string> split_row(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream row(line);
  for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
  return cells;
}

// Table rows "| `folder/` | holds | may include | third-party headers |", and the line that
// starts with "Platform headers".
Rules parse_rules(const std::string& markdown) {
  Rules rules;
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Platform headers")) rules.platform_headers = quoted_words(line);
    if (!line.starts_with("| `")) continue;
    const std::vector<std::string> cells = split_row(line);
    if (cells.size() < 5) continue;
    for (const std::string& folder : quoted_words(cells[1])) {
      rules.folders[folder] = {quoted_words(cells[3]), quoted_words(cells[4])};
    }
  }
  return rules;
}

bool has_prefix_of(const std::string& header, const std::set<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
    return prefix.ends_with("/") ? header.starts_with(prefix) : header == prefix;
  });
}

bool is_third_party_somewhere(const Rules& rules, const std::string& header) {
  return std::any_of(rules.folders.begin(), rules.folders.end(), [&](const auto& entry) {
    return has_prefix_of(header, entry.second.third_party);
  });
}

std::string check_own(const Rules& rules, const std::string& folder, const std::string& header) {
  const std::string target = rules.folder_of(header);
  const std::set<std::string>& allowed = rules.folders.at(folder).may_include;
  if (target.empty()) return "is in no folder of the table";
  const bool is_allowed = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
    return name == "all" || target.starts_with(name);
  });
  if (target.starts_with(folder) || is_allowed) return "";
  return "is in " + target + ", which " + folder + " may not include";
}

std::string check_foreign(const Rules& rules, const std::string& folder,
                          const std::string& header) {
  const std::set<std::string>& allowed = rules.folders.at(folder).third_party;
  if (allowed.contains("all") || has_prefix_of(header, allowed)) return "";
  if (is_third_party_somewhere(rules, header)) return "is confined to other folders";
  const bool standard = header.find_first_of("/.") == std::string::npos;
  if (standard || has_prefix_of(header, rules.platform_headers)) return "";
  return "is neither standard nor listed in the table";
}

// Violations of one file, "path:line: header reason".
std::vector<std::string> violations(const Rules& rules, const std::string& path,
                                    const std::string& text) {
  static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"].*");
  const std::string folder = rules.folder_of(path);
  if (folder.empty()) return {path + ": its folder is not in the table"};
  std::vector<std::string> found;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (line.find("include") == std::string::npos || !std::regex_match(line, match, kInclude)) {
      continue;
    }
    const std::string header = match[2];
    const std::string reason =
        match[1] == "\"" ? check_own(rules, folder, header) : check_foreign(rules, folder, header);
    if (!reason.empty()) {
      found.push_back(path + ":" + std::to_string(number) + ": " + header + " " + reason);
    }
  }
  return found;
}

// The tests run in the repository root.
Rules repository_rules() { return parse_rules(read("docs/architecture.md")); }

std::vector<std::string> source_files() {
  const std::set<std::string> kSuffixes = {".h", ".cpp", ".cu", ".cuh"};
  std::vector<std::string> files;
  for (const char* top :
       {"bench", "cli", "compiler", "core", "examples", "formats", "golden", "include", "models",
        "quantize", "report", "rtl", "sim", "tests", "tools"}) {
    if (!fs::exists(top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      if (entry.is_regular_file() && kSuffixes.contains(entry.path().extension())) {
        files.push_back(entry.path().generic_string());
      }
    }
  }
  return files;
}

TEST(IncludeLayers, TheTableOfTheArchitecturePageIsRead) {
  const Rules rules = repository_rules();
  EXPECT_GE(rules.folders.size(), 12u);
  EXPECT_TRUE(rules.folders.contains("core/base/"));
  EXPECT_TRUE(rules.folders.contains("sim/systemc/"));
  EXPECT_TRUE(rules.platform_headers.contains("unistd.h"));
}

TEST(IncludeLayers, EveryIncludeOfTheTreeObeysTheTable) {
  const Rules rules = repository_rules();
  const std::vector<std::string> files = source_files();
  EXPECT_GT(files.size(), 20u);
  for (const std::string& path : files) {
    for (const std::string& violation : violations(rules, path, read(path))) {
      ADD_FAILURE() << violation;
    }
  }
}

TEST(IncludeLayers, AStageThatSeesAnotherStageIsSeen) {
  const Rules rules = repository_rules();
  const auto count = [&](const std::string& path, const std::string& text) {
    return violations(rules, path, text).size();
  };
  EXPECT_EQ(count("golden/graph/cpu/a.cpp", "#include \"compiler/compile.h\"\n"), 1u);
  EXPECT_EQ(count("sim/systemc/a.cpp", "#include \"golden/graph/cpu/graph_executor.h\"\n"), 1u);
  EXPECT_EQ(count("compiler/verifier/a.cpp", "#include \"compiler/lowering/tiling.h\"\n"), 1u);
  EXPECT_EQ(count("core/network/a.h", "  #  include \"formats/traces/npy.h\"  // x\n"), 1u);
  EXPECT_EQ(count("core/network/a.h", "#include \"graph.h\"\n"), 1u);
  EXPECT_EQ(count("cli/terminal/a.cpp", "#include \"cli/session/run/network.h\"\n"), 1u);
  EXPECT_EQ(count("cli/host_tensors/a.cpp", "#include \"cli/session/run/network.h\"\n"), 1u);
  EXPECT_EQ(count("cli/session/inputs/a.cpp", "#include \"cli/session/run/network.h\"\n"), 1u);
  EXPECT_EQ(count("cli/session/engines/a.cpp", "#include \"golden/graph/cpu/graph_executor.h\"\n"),
            0u);
  EXPECT_EQ(
      count("golden/graph/cpu/a.cpp", "#include \"core/network/graph.h\"\n#include <vector>\n"),
      0u);
}

TEST(IncludeLayers, AThirdPartyHeaderOutsideItsFolderIsSeen) {
  const Rules rules = repository_rules();
  const auto count = [&](const std::string& path, const std::string& text) {
    return violations(rules, path, text).size();
  };
  EXPECT_EQ(count("golden/graph/cpu/a.cpp", "#include <systemc>\n"), 1u);
  EXPECT_EQ(count("core/network/graph.cpp", "#include <yaml-cpp/yaml.h>\n"), 1u);
  EXPECT_EQ(count("compiler/passes/a.cpp", "#include <onnx/onnx_pb.h>\n"), 1u);
  EXPECT_EQ(count("report/a.cpp", "#include <boost/any.hpp>\n"), 1u);
  EXPECT_EQ(count("sim/systemc/a.cpp", "#include <systemc>\n"), 0u);
  EXPECT_EQ(count("formats/text/a.cpp", "#include <yaml-cpp/yaml.h>\n#include <unistd.h>\n"), 0u);
}

// Folder of the table -> the folders that its files include, without those that may include all.
std::map<std::string, std::set<std::string>> arrows(const Rules& rules) {
  static const std::regex kInclude("(?:^|\\n)#include \"([^\"]+)\"");
  std::map<std::string, std::set<std::string>> found;
  for (const std::string& path : source_files()) {
    const std::string folder = rules.folder_of(path);
    if (folder.empty() || rules.folders.at(folder).may_include.contains("all")) continue;
    const std::string text = read(path);
    for (std::sregex_iterator it(text.begin(), text.end(), kInclude), end; it != end; ++it) {
      const std::string target = rules.folder_of((*it)[1]);
      if (target != folder) found[folder].insert(target);
    }
  }
  return found;
}

// Takes away folders that include none of those left, until nothing changes: a circle stays.
TEST(IncludeLayers, NoFoldersIncludeEachOtherInACircle) {
  std::map<std::string, std::set<std::string>> left = arrows(repository_rules());
  EXPECT_GT(left.size(), 20u);
  const auto has_no_arrow = [&](const auto& entry) {
    return std::none_of(entry.second.begin(), entry.second.end(),
                        [&](const std::string& target) { return left.contains(target); });
  };
  while (std::erase_if(left, has_no_arrow) > 0) {
  }
  for (const auto& [folder, targets] : left) {
    for (const std::string& target : targets) {
      if (left.contains(target)) ADD_FAILURE() << folder << " includes " << target;
    }
  }
}

TEST(IncludeLayers, AFolderThatTheTableDoesNotKnowIsSeen) {
  EXPECT_EQ(violations(repository_rules(), "elsewhere/a.cpp", "").size(), 1u);
}

// The wall of the style rules.
TEST(IncludeLayers, NoSourceFileIsLongerThan500Lines) {
  for (const std::string& path : source_files()) {
    const std::string text = read(path);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 500) << path;
  }
}

}  // namespace
}  // namespace qsim
