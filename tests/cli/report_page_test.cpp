// `qsim run --report`: the file, the chart library beside the executable, and what is refused. The
// page itself is looked at by tests/system/report/report_page_test.py.
#include "tests/cli/own_installation.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReported =
    "name: small\nseed: 3\ninput: {shape: [1, 12, 10, 5], dtype: uint8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 20, kernel: 3, pad: 1, relu: true}\n";

class ReportPage : public OwnInstallation {
 protected:
  ReportPage() : OwnInstallation(kReported) {}

  Outcome run(const std::string& arguments) { return run_own("run", arguments); }
};

constexpr const char* kLibrary = "function vegaEmbed() { return 'ours'; }";

TEST_F(ReportPage, HasTheLibraryBesideTheExecutable) {
  put_library("bin", kLibrary);
  const Outcome outcome = run("--no-data --report page.html");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string page = read_file(folder_ / "page.html");
  EXPECT_NE(page.find(std::string("<script>") + kLibrary + "</script>"), std::string::npos);
  EXPECT_NE(page.find("<h1>s.yaml on pe16x16</h1>"), std::string::npos) << page.substr(0, 2000);
}

TEST_F(ReportPage, HasTheLibraryOfAnInstallation) {
  put_library("bin", "vegaEmbed: the other one");
  put_library("share/qsim", kLibrary);
  EXPECT_EQ(run("--no-data --report page.html").exit_code, 0);
  EXPECT_NE(read_file(folder_ / "page.html").find("'ours'"), std::string::npos);
}

TEST_F(ReportPage, WithoutTheLibraryIsRefusedBeforeTheWork) {
  const Outcome outcome = run("--report page.html --json run.json");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(
      outcome.err.find("--report: the chart library " + folder_.path().string() +
                       "/app/bin/charts/vega.js is not there; `./dev build` gets it from PyPI"),
      std::string::npos)
      << outcome.err;
  EXPECT_FALSE(fs::exists(folder_ / "page.html"));
  EXPECT_FALSE(fs::exists(folder_ / "run.json"));
}

TEST_F(ReportPage, RefusesAnotherFileInPlaceOfTheLibrary) {
  for (const std::string& wrong :
       {std::string("no library"), "vegaEmbed </script>" + std::string(kLibrary),
        "vegaEmbed <!-- " + std::string(kLibrary), kLibrary + std::string(1'500'000, ' ')}) {
    put_library("bin", wrong);
    const Outcome outcome = run("--no-data --report page.html");
    EXPECT_EQ(outcome.exit_code, 3) << wrong.substr(0, 40);
    EXPECT_NE(outcome.err.find("vega.js is not the chart library; remove it"), std::string::npos)
        << outcome.err;
    EXPECT_FALSE(fs::exists(folder_ / "page.html"));
  }
}

TEST_F(ReportPage, ReplacesTheFileAndLeavesNothingElse) {
  put_library("bin", kLibrary);
  folder_.write("out/page.html", "old");
  EXPECT_EQ(run("--no-data --report out/page.html").exit_code, 0);
  EXPECT_NE(read_file(folder_ / "out/page.html").substr(0, 15), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), fs::directory_iterator()), 1);
}

TEST_F(ReportPage, IsTheSameTwiceButForTimes) {
  put_library("bin", kLibrary);
  const auto data = [&](const std::string& name) {
    EXPECT_EQ(run("--report " + name).exit_code, 0);
    nlohmann::json json = page_data(name);
    erase_times(json["runs"][0]["run"]);
    return json;
  };
  EXPECT_EQ(data("a.html"), data("b.html"));
}

TEST_F(ReportPage, NeedsTimes) {
  expect_error(folder_, "run --model s.yaml --engine interpreter --report page.html", 2,
               "--report needs an engine with times; allowed: systemc, rtl, recurrence");
}

TEST_F(ReportPage, GoesToNoStandardOutput) {
  expect_error(folder_, "run --model s.yaml --report -", 2,
               "--report: expected a file; - is not stdout here, and a file of that name is ./-");
}

TEST_F(ReportPage, IsAFileOfItsOwn) {
  expect_error(folder_, "run --model s.yaml --report x --json x", 2,
               "--json and --report would both write 'x'");
  expect_error(folder_, "run --model s.yaml --report s.yaml", 2,
               "--report would overwrite 's.yaml', the workload of this run");
  expect_error(folder_, "run --model s.yaml --report none/page.html", 3, "none/page.html");
}

}  // namespace
}  // namespace qsim
