// `qsim schemes`: one row a scheme, what --resume keeps, and what it refuses.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/traces/npy.h"
#include "quantize/scheme_catalogue.h"
#include "tests/cli/picture_files.h"
#include "tests/cli/small_network.h"

namespace qsim {
namespace {

using Json = nlohmann::json;

// A small residual network that PyTorch exported, 30 labelled pictures, and 12 to calibrate on.
class Schemes : public testing::Test {
 protected:
  Schemes() {
    folder_.write("net.onnx",
                  read_file(source_folder() / "tests/onnx/float/files/residual.dynamo.onnx"));
    folder_.write(
        "net.yaml",
        "preprocess: {resize: [12, 12], mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}\n");
    folder_.write("judges.bin", batch(30, 7));
    folder_.write("calibration.bin", batch(12, 1000));
  }

  static std::string batch(int records, std::uint64_t seed) {
    std::string bytes;
    for (int i = 0; i < records; ++i) {
      bytes += cifar_record(i % 10, seed + static_cast<std::uint64_t>(i));
    }
    return bytes;
  }

  const std::string arguments_ =
      "schemes --model net.onnx --calibrate calibration.bin --data judges.bin --pictures 10";
  TestFolder folder_;
};

TEST_F(Schemes, JudgesEachSchemeOfTheCatalogueOnce) {
  const Json json = quiet_json_of(folder_, arguments_ + " --csv table.csv");
  EXPECT_EQ(json["schema"], "qsim.schemes/1");
  EXPECT_EQ(json["pictures"], 30);
  EXPECT_EQ(json["calibration_pictures"], 10);
  ASSERT_EQ(json["schemes"].size(), quantize::scheme_catalogue().size());
  std::set<std::string> names;
  for (const Json& row : json["schemes"]) {
    names.insert(row["observer"].get<std::string>() + row["granularity"].get<std::string>() +
                 row["range"].get<std::string>() + row["scales"].get<std::string>());
    EXPECT_GT(std::stod(row["sqnr_db"].get<std::string>()), 5);
    EXPECT_LT(std::stod(row["sqnr_db"].get<std::string>()), 60);
  }
  EXPECT_EQ(names.size(), json["schemes"].size());
  EXPECT_GE(json["distinct_outputs"].get<int>(), 60);
  const std::string csv = read_file(folder_ / "table.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            static_cast<std::ptrdiff_t>(json["schemes"].size()) + 1);
}

// Finer scales lose less: 2^n is the coarsest grid, float32 the finest.
TEST_F(Schemes, FindLessNoiseWithFinerScalesOnAverage) {
  const Json json = quiet_json_of(folder_, arguments_);
  double power_of_two = 0;
  double real = 0;
  for (const Json& row : json["schemes"]) {
    const double sqnr = std::stod(row["sqnr_db"].get<std::string>());
    if (row["scales"] == "power_of_two") power_of_two += sqnr;
    if (row["scales"] == "float") real += sqnr;
  }
  EXPECT_GT(real, power_of_two);
}

// The second run takes every row from the file, although its rows say something else by then.
TEST_F(Schemes, TakeFinishedRowsFromTheFileOfResume) {
  const Json first = quiet_json_of(folder_, arguments_ + " --resume rows.txt");
  std::string rows = read_file(folder_ / "rows.txt");
  const std::size_t space = rows.find(' ');
  const std::size_t next = rows.find(' ', space + 1);
  rows.replace(space + 1, next - space - 1, "29");
  folder_.write("rows.txt", rows);
  const Json second = quiet_json_of(folder_, arguments_ + " --resume rows.txt");
  EXPECT_EQ(second["schemes"][0]["correct"], 29);
  EXPECT_EQ(second["schemes"][1], first["schemes"][1]);
  // Other pictures are another question: nothing is taken.
  const Json other = quiet_json_of(folder_, arguments_ + " --seed 5 --resume rows.txt");
  EXPECT_NE(other["schemes"][0]["correct"], 29);
}

// A row needs one of the words that are given for each column, and keeps its number in the
// catalogue.
TEST_F(Schemes, OnlyJudgesTheRowsThatHaveTheWords) {
  const Json json =
      quiet_json_of(folder_, arguments_ + " --only mse,min_max,channel --only dyadic");
  ASSERT_EQ(json["schemes"].size(), 2U * 4U);
  EXPECT_EQ(json["finished"], 8);
  for (const Json& row : json["schemes"]) {
    EXPECT_TRUE(row["observer"] == "mse" || row["observer"] == "min_max");
    EXPECT_EQ(row["granularity"], "channel");
    EXPECT_EQ(row["scales"], "dyadic");
  }
  EXPECT_EQ(json["schemes"][0]["row"], 14);
  const Json one = quiet_json_of(folder_, arguments_ + " --only mse,channel,affine,dyadic");
  ASSERT_EQ(one["schemes"].size(), 1U);
  EXPECT_EQ(one["schemes"][0]["row"], 86);
  EXPECT_EQ(
      quiet_json_of(folder_,
                    arguments_ + " --modes --judges 5 --only fake,int8_channel,uint8")["schemes"]
          .size(),
      1U);
}

TEST_F(Schemes, OnlyRefusesWordsThatNoSchemeHas) {
  expect_error(folder_, arguments_ + " --only mse,chanel", 2,
               "--only: no scheme has 'chanel'; allowed: min_max, moving_average, percentile, mse, "
               "entropy, tensor, channel, affine, affine_reduced, symmetric, symmetric_reduced, "
               "float, dyadic, power_of_two");
  expect_error(folder_, arguments_ + " --modes --only dynamic,e4m3", 2,
               "--only dynamic,e4m3: no scheme has these words together; leave one out");
}

std::int64_t lines_of(const TestFolder& folder, const std::string& name) {
  const std::string text =
      std::filesystem::exists(folder / name) ? read_file(folder / name) : std::string();
  return std::count(text.begin(), text.end(), '\n');
}

// A second command makes the rows that the first did not.
TEST_F(Schemes, ResumeMakesTheRestAlone) {
  const Json some = quiet_json_of(folder_, arguments_ + " --only min_max --resume rows.txt");
  EXPECT_EQ(lines_of(folder_, "rows.txt"), 1 + 24);
  const Outcome outcome = run_qsim(folder_, arguments_ + " --json - --resume rows.txt");
  EXPECT_NE(outcome.err.find("qsim: note: rows.txt has 24 of 120 schemes"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(lines_of(folder_, "rows.txt"), 1 + 120);
  const Json all = Json::parse(outcome.out)["schemes"];
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(all[i], some["schemes"][i]);
  EXPECT_EQ(all, quiet_json_of(folder_, arguments_)["schemes"]);
}

// Begins qsim in the folder; returns when rows.txt has so many lines, or when it ended.
pid_t begun(const TestFolder& folder, const std::string& words, std::int64_t lines) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(folder.path().c_str()) != 0) ::_exit(99);
    const std::string command = "exec '" QSIM_EXECUTABLE "' " + words + " > out 2> err";
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(99);
  }
  while (lines_of(folder, "rows.txt") < lines && ::waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::yield();
  }
  return child;
}

// Once all rows are made nothing ends softly any more: a pipe may never have a reader.
TEST_F(Schemes, ASignalEndsItWhileItWaitsForTheReaderOfAPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const pid_t child =
      begun(folder_, arguments_ + " --only min_max,channel --resume rows.txt --csv pipe", 1 + 12);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // until it waits
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130) << read_file(folder_ / "err");
}

// What is finished is printed and written, and the file of --resume has it.
TEST_F(Schemes, AnInterruptKeepsTheRowsThatAreFinished) {
  folder_.write("judges.bin", batch(300, 7));
  const pid_t child =
      begun(folder_, arguments_ + " --resume rows.txt --csv t.csv --json j.json", 3);
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 130) << read_file(folder_ / "err");
  const Json partial = Json::parse(read_file(folder_ / "j.json"));
  const std::int64_t finished = partial["finished"];
  EXPECT_GE(finished, 2);
  EXPECT_LT(finished, 120);
  EXPECT_EQ(std::ssize(partial["schemes"]), finished);
  EXPECT_EQ(lines_of(folder_, "t.csv"), 1 + finished);
  EXPECT_EQ(lines_of(folder_, "rows.txt"), 1 + finished);
  const Json whole = quiet_json_of(folder_, arguments_ + " --resume rows.txt");
  EXPECT_EQ(whole["finished"], 120);
  for (std::int64_t i = 0; i < finished; ++i) EXPECT_EQ(whole["schemes"][i], partial["schemes"][i]);
}

// Memory follows from the batches, and is used again. A tensor of all pictures for each of 60
// batches would touch 4,500 fresh pages a time, of each row.
TEST_F(Schemes, ABatchTakesTheMemoryOfABatch) {
  folder_.write("judges.bin", batch(1500, 7));
  rusage before{};
  ::getrusage(RUSAGE_CHILDREN, &before);
  quiet_json_of(folder_, arguments_ + " --only min_max,channel");
  rusage after{};
  ::getrusage(RUSAGE_CHILDREN, &after);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 60'000);
}

// No device is read to its end, which it does not have.
TEST_F(Schemes, RefuseADevice) {
  expect_error(folder_, "schemes --model net.onnx --calibrate /dev/zero --data judges.bin", 3,
               "/dev/zero: is a device; expected a file");
  expect_error(folder_, "schemes --model net.onnx --calibrate judges.bin --data /dev/zero", 3,
               "/dev/zero: is a device; expected a file");
}

// What becomes of a picture is in the sidecar.
TEST_F(Schemes, TakeNoRowOfAnotherSidecar) {
  const std::string words = arguments_ + " --only min_max,tensor --resume rows.txt";
  const std::size_t rows = quiet_json_of(folder_, words)["schemes"].size();
  folder_.write("net.yaml",
                "preprocess: {resize: [12, 12], mean: [0.5, 0.5, 0.5], std: [0.5, 0.25, 0.25]}\n");
  quiet_json_of(folder_, words);
  const std::string text = read_file(folder_ / "rows.txt");
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), 1 + 2 * rows);
}

TEST_F(Schemes, RefuseAFileOfResumeThatHasOtherLines) {
  folder_.write("rows.txt", "qsim.schemes/1\nmin_max 3\n");
  expect_error(folder_, arguments_ + " --resume rows.txt", 3,
               "rows.txt: 'min_max 3' is no row of qsim schemes");
}

TEST_F(Schemes, RefusePicturesWithoutLabelsToJudge) {
  std::filesystem::create_directory(folder_ / "flat");
  folder_.write("flat/a.png", png_file(32, 32, seeded_rgb(32, 32, 3)));
  expect_error(folder_, "schemes --model net.onnx --calibrate calibration.bin --data flat", 3,
               "flat: the pictures have no labels; --data takes CIFAR-10 batches and folders of "
               "class folders");
}

TEST_F(Schemes, EveryOptionRefusesAnEmptyValue) {
  for (const char* option : {"model", "calibrate", "data", "pictures", "seed", "csv", "resume",
                             "judges", "json", "config", "only"}) {
    expect_error(folder_, arguments_ + " --" + option + "=", 2, ": the value is missing");
  }
  EXPECT_EQ(run_qsim(folder_, "schemes --version").exit_code, 0);
  EXPECT_EQ(run_qsim(folder_, arguments_ + " --modes --judges 2 --config pe8x8").exit_code, 0);
}

// What golden alone runs, on fewer pictures; the float network is its own measure.
TEST_F(Schemes, CompareTheModesThatGoldenAloneRuns) {
  const Json json = quiet_json_of(folder_, arguments_ + " --modes --judges 20 --resume modes.txt");
  EXPECT_EQ(json["pictures"], 20);
  const Json& rows = json["schemes"];
  ASSERT_GE(rows.size(), 24U);
  EXPECT_EQ(rows[0]["mode"], "float");
  EXPECT_EQ(rows[0]["sqnr_db"], "inf");
  EXPECT_EQ(rows[0]["correct"], json["float_correct"]);
  std::map<std::string, double> sqnr;
  for (const Json& row : rows) {
    if (row["mode"] == "float") continue;
    const std::string name = row["mode"].get<std::string>() + "," +
                             row["weights"].get<std::string>() + "," +
                             row["activations"].get<std::string>();
    sqnr[name] = std::stod(row["sqnr_db"].get<std::string>());
    EXPECT_GT(sqnr[name], -5) << name;
  }
  EXPECT_EQ(sqnr.size(), rows.size() - 1);
  EXPECT_GT(sqnr["weight_only,int8 channel,float"], sqnr["weight_only,int4 channel,float"] + 10);
  EXPECT_GT(sqnr["dynamic,int8 channel,uint8"], sqnr["dynamic,int4 channel,uint8"] + 10);
  EXPECT_GT(sqnr["fake,int8 channel,uint8"], sqnr["fake,int8 channel,uint4"] + 10);
  EXPECT_GT(sqnr["fake,tensorfloat32,tensorfloat32"], sqnr["fake,bfloat16,bfloat16"] + 10);
  EXPECT_GT(sqnr["fake,bfloat16,bfloat16"], sqnr["fake,e4m3,e4m3"] + 10);
  EXPECT_GT(sqnr["fake,e4m3,e4m3"], sqnr["fake,e5m2,e5m2"]);
  const Json again = quiet_json_of(folder_, arguments_ + " --modes --judges 20 --resume modes.txt");
  EXPECT_EQ(again["schemes"], rows);
  expect_error(folder_, arguments_ + " --judges 20", 2, "--judges needs --modes");
}

}  // namespace
}  // namespace qsim
