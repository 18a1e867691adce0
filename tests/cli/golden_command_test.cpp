// `qsim golden` as a word, and `golden info` and `golden bench`. What needs a GPU is skipped where
// there is none.
#include "tests/cli/golden_command.h"

#include <gtest/gtest.h>

namespace qsim {
namespace {

TEST(GoldenCommand, AloneOrMisspeltSaysWhatThereIs) {
  const TestFolder folder;
  expect_error(folder, "golden", 2, "qsim golden needs one more word: info, run, bench");
  expect_error(folder, "golden --json -", 2, "qsim golden needs one more word");
  expect_error(folder, "golden bnech", 2, "did you mean 'golden bench'?");
  expect_error(folder, "golden dance", 2, "Allowed after golden: info, run, bench");
  expect_error(folder, "goldn info", 2, "did you mean 'golden'?");
  expect_error(folder, "golden run --imags 3", 2, "of qsim golden run; did you mean '--images'?");
  expect_error(folder, "golden bench --runs 8", 2, "--runs");
  expect_error(folder, "golden info more", 2, "unexpected argument 'more'");
  const Outcome help = run_qsim(folder, "golden --help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"info", "run", "bench"}) {
    EXPECT_NE(help.out.find(std::string("\n  golden ") + word + " "), std::string::npos);
    const Outcome one = run_qsim(folder, std::string("golden ") + word + " --help");
    EXPECT_EQ(one.exit_code, 0) << word;
    EXPECT_NE(one.out.find("--json"), std::string::npos) << word;
  }
}

TEST(GoldenInfo, SaysWhyThereIsNoDeviceAndExitsWithZero) {
  const TestFolder folder;
  const Json json = json_of(folder, "golden info", "CUDA_VISIBLE_DEVICES=");
  EXPECT_EQ(json["schema"], "qsim.golden-info/1");
  EXPECT_EQ(json["cuda_usable"], false);
  EXPECT_FALSE(json["cuda_reason"].get<std::string>().empty());
  EXPECT_FALSE(json["cpu_vectors"].get<std::string>().empty());
  const Json doctor = json_of(folder, "doctor", "CUDA_VISIBLE_DEVICES=");
  EXPECT_EQ(doctor["cuda_device"], "not used: " + json["cuda_reason"].get<std::string>());
  EXPECT_EQ(doctor["golden"], "cpu");
}

TEST(GoldenInfo, ConfigThatIsNamedMustBeRightThoughNothingNeedsIt) {
  const TestFolder folder;
  for (const char* command : {"golden info", "doctor", "inspect vgg8"}) {
    expect_error(folder, std::string(command) + " --config nope", 3, "config 'nope' not found");
    EXPECT_EQ(run_qsim(folder, std::string(command) + " --config pe4x4").exit_code, 0) << command;
  }
}

TEST(GoldenInfo, ListsDevicesWithTheirKernels) {
  const TestFolder folder;
  const Json json = json_of(folder, "golden info");
  if (!json["cuda_usable"].get<bool>()) GTEST_SKIP() << "skipped: no CUDA device";
  ASSERT_FALSE(json["devices"].empty());
  EXPECT_GT(json["devices"][0]["multiprocessors"], 0);
  EXPECT_FALSE(json.contains("cuda_reason"));
  EXPECT_EQ(json_of(folder, "doctor")["golden"], "cpu, cuda");
}

TEST(GoldenBench, CpuGivesTheWholeNetworksMedian) {
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  const std::string bench = "golden bench --model small.yaml --batch 3 --runs 9 --backend cpu";
  const Json json = json_of(folder, bench);
  EXPECT_EQ(json["schema"], "qsim.golden-bench/1");
  EXPECT_EQ(json["batch"], 3);
  EXPECT_EQ(json["macs"], 3 * (6 * 5 * 8 * 27 + 6 * 5 * 8 * 7));
  EXPECT_GT(json["seconds"].get<double>(), 0);
  EXPECT_GT(json["pictures_per_second"], 0);
  EXPECT_FALSE(json.contains("kernels"));
  const Outcome text = run_qsim(folder, bench);
  EXPECT_NE(text.out.find("pictures per second"), std::string::npos) << text.out;
}

}  // namespace
}  // namespace qsim
