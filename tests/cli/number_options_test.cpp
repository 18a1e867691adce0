// Every option that takes a number reads it by one rule: decimal digits alone.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/commands/commands.h"
#include "cli/terminal/command_line.h"
#include "core/base/error.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace cli;
namespace {

std::string error_of(const OptionRow& row, const std::string& value) {
  try {
    row.take({value});
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
}

// "N in 1..8": the least and the most; empty for another option.
std::vector<std::string> range_of(const OptionRow& row) {
  if (!row.value.starts_with("N in ")) return {};
  const std::string range = row.value.substr(5);
  const std::size_t dots = range.find("..");
  return {range.substr(0, dots), range.substr(dots + 2)};
}

template <typename Check>
int for_each_number(Check check) {
  int numbers = 0;
  for (const CommandRow* command : commands()) {
    Declarations declared;
    command->declare(declared);
    for (const OptionRow& row : declared.rows()) {
      if (range_of(row).empty()) continue;
      SCOPED_TRACE(std::string(command->name) + " " + row.name);
      check(row);
      ++numbers;
    }
  }
  return numbers;
}

TEST(NumberOptions, OfEveryCommandTakeDecimalDigitsOfTheirRange) {
  const int numbers = for_each_number([](const OptionRow& row) {
    for (const std::string& limit : range_of(row)) {
      EXPECT_EQ(error_of(row, limit), "");
      EXPECT_EQ(error_of(row, "00" + limit), "");
    }
  });
  EXPECT_GT(numbers, 40);
}

TEST(NumberOptions, OfEveryCommandRefuseAllElseAndSayWhatIsAllowed) {
  for_each_number([](const OptionRow& row) {
    const std::vector<std::string> range = range_of(row);
    std::vector<std::string> wrong = {
        "0x10", "0X10", "0b11", "0o17", "1e1", "12.0",   "+12",
        "-12",  " 12",  "12 ",  "1_2",  "1'2", "twelve", "99999999999999999999"};
    if (range[0] != "0") wrong.emplace_back("0");
    for (const std::string& text : wrong) {
      EXPECT_EQ(error_of(row, text), row.name + ": found '" + text + "'; allowed: " + range[0] +
                                         " to " + range[1] + ", in decimal digits");
    }
  });
}

TEST(NumberOptions, BecomeTheNumberThatTheDigitsSay) {
  Declarations declared;
  std::int64_t whole = 5;
  int small = 7;
  std::optional<std::int64_t> maybe;
  std::uint64_t seed = 3;
  EXPECT_EQ(declared.number("--whole", {1, 100}, whole, "").shown_default, "5");
  EXPECT_EQ(declared.number("--small", {1, 100}, small, "").shown_default, "7");
  EXPECT_EQ(declared.number("--maybe", {1, 100}, maybe, "").shown_default, "");
  declared.seed(seed, "");
  for (const OptionRow& row : declared.rows()) row.take({"0012"});
  EXPECT_EQ(whole, 12);
  EXPECT_EQ(small, 12);
  EXPECT_EQ(maybe, 12);
  EXPECT_EQ(seed, 12u);
  declared.rows().back().take({"18446744073709551615"});
  EXPECT_EQ(seed, UINT64_MAX);
}

// An option that CLI11 would read by its own rules: its help says another type than ours.
TEST(NumberOptions, AreAllThatHelpListsAsNumbers) {
  const TestFolder folder;
  for (const CommandRow* command : commands()) {
    const std::string help = run_qsim(folder, std::string(command->name) + " --help").out;
    EXPECT_EQ(help.find("INT"), std::string::npos) << help;
    EXPECT_EQ(help.find("FLOAT"), std::string::npos) << help;
  }
}

TEST(NumberOptions, OfATraceWindowFollowTheSameRule) {
  const auto window = [](const std::string& text) {
    parse_command_line(commands(),
                       {"qsim", "run", "--engine", "rtl", "--trace", "t", "--trace-window", text});
  };
  EXPECT_NO_THROW(window("0010:20"));
  for (const char* text : {"0x0:0x10", "+1:2", "1: 2", "1e1:20", "-1:2"}) {
    EXPECT_THROW(window(text), Error) << text;
  }
}

TEST(NumberOptions, AreGivenOnce) {
  for (const CommandRow* command : commands()) {
    Declarations declared;
    command->declare(declared);
    for (const OptionRow& row : declared.rows()) {
      if (range_of(row).empty()) continue;
      std::vector<std::string> argv = {"qsim"};
      std::istringstream words(command->name);
      for (std::string word; words >> word;) argv.push_back(word);
      const std::string value = range_of(row)[0];
      argv.insert(argv.end(), {row.name, value, row.name, value});
      try {
        parse_command_line(commands(), argv);
        ADD_FAILURE() << command->name << " " << row.name << " is taken twice";
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), row.name + ": given 2 times; expected once");
      }
    }
  }
}

}  // namespace
}  // namespace qsim
