// Tests of --report: an executable of the test's own, whose chart library is the test's, and the
// data of the pages that it writes.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_qsim.h"

namespace qsim {

// A folder with the workload s.yaml and, in app/, a copy of the built executable, as an
// installation has it.
class OwnInstallation : public ::testing::Test {
 protected:
  explicit OwnInstallation(const std::string& workload) {
    folder_.write("s.yaml", workload);
    std::filesystem::create_directories(folder_ / "app/bin");
    std::filesystem::copy_file(QSIM_EXECUTABLE, folder_ / "app/bin/qsim");
  }

  // `place`: of app/, where the executable looks for it.
  void put_library(const std::string& place, const std::string& library) {
    folder_.write("app/" + place + "/charts/vega.js", library);
  }

  // `qsim COMMAND` of the copy, on s.yaml.
  Outcome run_own(const std::string& command, const std::string& arguments) {
    return run_qsim(folder_, command + " --quiet --model s.yaml " + arguments,
                    R"(sh -c 'shift; exec app/bin/qsim "$@"' sh)");
  }

  // What the scripts of a page of the folder draw.
  nlohmann::json page_data(const std::string& name) {
    const std::string text = read_file(folder_ / name);
    const std::string start = "id=\"page-data\">";
    const std::size_t begin = text.find(start) + start.size();
    return nlohmann::json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  }

  // Erases what differs from one run of a command to the next, in a run of a page's data.
  static void erase_times(nlohmann::json& run) {
    for (const char* times : {"wall_seconds", "phase_seconds"}) run.erase(times);
    run["provenance"].erase("argv");
  }

  TestFolder folder_;
};

}  // namespace qsim
