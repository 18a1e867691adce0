// `qsim golden run`: pictures in, outputs and classes out, and what it refuses.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "formats/traces/npy.h"
#include "tests/cli/golden_command.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

// Records of CIFAR-10's format with the classes `labels`; all pictures are different.
std::string cifar_batch(const std::vector<int>& labels) {
  std::string batch;
  for (std::size_t record = 0; record < labels.size(); ++record) {
    batch += static_cast<char>(labels[record]);
    for (std::size_t i = 0; i < 3072; ++i) {
      batch += static_cast<char>(i * (2 * record + 3) + i / (record + 5));
    }
  }
  return batch;
}

TEST(GoldenRun, ShippedPictureIsACat) {
  const TestFolder folder;
  const Json json = json_of(folder, "golden run --backend cpu --out kept");
  EXPECT_EQ(json["schema"], "qsim.golden-run/1");
  EXPECT_EQ(json["backend"], "cpu");
  EXPECT_EQ(json["pictures"], 1);
  EXPECT_GT(json["seconds"].get<double>(), 0);
  EXPECT_FALSE(json.contains("top1"));
  ASSERT_EQ(json["classes"].size(), 1u);
  EXPECT_EQ(json["classes"][0]["name"], "cat");
  // The same logits as the simulated accelerator's.
  ASSERT_EQ(run_qsim(folder, "--out simulated --quiet").exit_code, 0);
  EXPECT_EQ(read_file(folder / "kept/output.npy"), read_file(folder / "simulated/output.npy"));
}

// run.json says that the files beside it are of its run.
TEST(GoldenRun, LeavesNoReportOfAnotherRunBesideItsOutput) {
  const TestFolder folder;
  ASSERT_EQ(run_qsim(folder, "--out both --quiet").exit_code, 0);
  ASSERT_TRUE(std::filesystem::exists(folder / "both/run.json"));
  ASSERT_EQ(run_qsim(folder, "golden run --backend cpu --out both --quiet").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "both/run.json"));
}

TEST(GoldenRun, EveryPictureHasTheOutputItHasAlone) {
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  // 11 pictures in batches of 4: the last batch is partial.
  json_of(folder, "golden run --model small.yaml --images 11 --batch 4 --out many");
  const Tensor many = read_npy(folder / "many/output.npy");
  ASSERT_EQ(many.shape, (Shape{11, 1, 1, 7}));
  json_of(folder, "golden run --model small.yaml --images 11 --batch 1 --out alone");
  EXPECT_EQ(many, read_npy(folder / "alone/output.npy"));
  bool differ = false;
  for (std::size_t i = 7; i < many.bytes.size(); ++i) {
    differ = differ || many.bytes[i] != many.bytes[i % 7];
  }
  EXPECT_TRUE(differ) << "all pictures have the same output";
  // And as the accelerator has them.
  ASSERT_EQ(run_qsim(folder, "--model small.yaml --batch 11 --out simulated").exit_code, 0);
  EXPECT_EQ(many, read_npy(folder / "simulated/output.npy"));
}

TEST(GoldenRun, LabelledRecordsAreCountedAgainstTheClassThatIsBest) {
  const TestFolder folder;
  folder.write("zeros.bin", cifar_batch({0, 0, 0, 0, 0}));
  const Json first = json_of(folder, "golden run --input zeros.bin --batch 2");
  EXPECT_EQ(first["pictures"], 5);
  EXPECT_EQ(first["batch"], 2);
  ASSERT_EQ(first["classes"].size(), 5u);
  // With the classes found as labels all are right; with one of them changed, all but one.
  std::vector<int> labels;
  for (const Json& row : first["classes"]) labels.push_back(row["class"].get<int>());
  folder.write("right.bin", cifar_batch(labels));
  const Json right = json_of(folder, "golden run --input right.bin --batch 2 --out kept");
  EXPECT_EQ(right["top1_correct"], 5);
  EXPECT_EQ(right["top1"].get<double>(), 1.0);
  EXPECT_EQ(read_npy(folder / "kept/output.npy").shape, (Shape{5, 10}));
  labels[4] = (labels[4] + 1) % 10;
  folder.write("wrong.bin", cifar_batch(labels));
  EXPECT_EQ(json_of(folder, "golden run --input wrong.bin --batch 2")["top1_correct"], 4);
  const Json part = json_of(folder, "golden run --input wrong.bin --index 3 --images 2");
  EXPECT_EQ(part["top1_correct"], 1);
  EXPECT_EQ(part["classes"][0]["picture"], 3);
  EXPECT_EQ(part["classes"][0]["class"], labels[3]);
}

TEST(GoldenRun, NpyHoldsAnyNumberOfPictures) {
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  Tensor pictures(DType::kUint8, {3, 6, 5, 3});
  for (std::size_t i = 0; i < pictures.bytes.size(); ++i) {
    pictures.bytes[i] = static_cast<std::byte>(i * 37 + i / 90 * 11);
  }
  write_npy(folder / "three.npy", pictures);
  const std::string run = "golden run --model small.yaml --input three.npy ";
  EXPECT_EQ(json_of(folder, run + "--batch 2 --out all")["pictures"], 3);
  EXPECT_EQ(json_of(folder, run + "--index 2 --out last")["pictures"], 1);
  const Tensor all = read_npy(folder / "all/output.npy");
  const Tensor last = read_npy(folder / "last/output.npy");
  ASSERT_EQ(last.bytes.size(), 7u);
  EXPECT_TRUE(std::equal(last.bytes.begin(), last.bytes.end(), all.bytes.begin() + 14));
  EXPECT_FALSE(std::equal(last.bytes.begin(), last.bytes.end(), all.bytes.begin()));
}

TEST(GoldenRun, FloatPicturesInOneNpyHaveTheOutputsTheyHaveAlone) {
  const TestFolder folder;
  constexpr std::int64_t kPixels = 3 * 32 * 32;
  Tensor pictures(DType::kFloat32, {3, 3, 32, 32});
  const std::span<float> values = pictures.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 37 + i / kPixels * 1201) % 511) / 128.0f - 2.0f;
  }
  write_npy(folder / "three.npy", pictures);
  json_of(folder, "golden run --backend cpu --input three.npy --batch 2 --out all");
  const Tensor all = read_npy(folder / "all/output.npy");
  ASSERT_EQ(all.shape, (Shape{3, 10}));
  std::vector<std::byte> alone;
  for (std::size_t n = 0; n < 3; ++n) {
    Tensor one(DType::kFloat32, {1, 3, 32, 32});
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(n) * kPixels, kPixels,
                one.as<float>().begin());
    write_npy(folder / "one.npy", one);
    json_of(folder, "golden run --backend cpu --input one.npy --out one");
    const Tensor output = read_npy(folder / "one/output.npy");
    alone.insert(alone.end(), output.bytes.begin(), output.bytes.end());
  }
  EXPECT_EQ(all.bytes, alone);
  EXPECT_FALSE(std::equal(alone.begin(), alone.begin() + 40, alone.begin() + 40));
  EXPECT_FALSE(std::equal(alone.begin(), alone.begin() + 40, alone.begin() + 80));
}

TEST(GoldenRun, PicturesThatAreNotThereAreRefused) {
  const TestFolder folder;
  folder.write("b.bin", cifar_batch({1, 2, 3}));
  expect_error(folder, "golden run --input b.bin --index 1 --images 3", 3,
               "b.bin: pictures 1 to 3 are wanted; there are 3, allowed: 0 to 2");
  expect_error(folder, "golden run --input b.bin --index 3", 3, "pictures 3 to 3 are wanted");
  expect_error(folder, "golden run --images 2", 3, "there are 1, allowed: 0 to 0");
  folder.write("cut.bin", std::string(3000, 'x'));
  expect_error(folder, "golden run --input cut.bin", 3, "cut.bin: 3000 bytes");
  expect_error(folder, "golden run --out /proc/none", 3, "/proc/none");
}

TEST(GoldenRun, InputThatDoesNotFitIsCalledWhatItIs) {
  const TestFolder folder;
  folder.write("b.bin", cifar_batch({1, 2, 3}));
  folder.write("p.txt", "");
  for (const char* command : {"golden run", "run"}) {
    const std::string workload = std::string(command) + " --model conv_odd --input ";
    expect_error(folder, workload + "b.bin", 3,
                 "b.bin: is read as a CIFAR-10 batch (.bin), but model 'conv_odd' does not say "
                 "how to preprocess a picture; expected a .npy as --input");
    expect_error(folder, workload + "p.txt", 3,
                 "p.txt: is read as a picture (neither .npy nor .bin), but model");
  }
  folder.write("small.yaml", kSmall);
  const std::string small = "golden run --model small.yaml --input ";
  const std::string takes = "; the model takes [N, 6, 5, 3] (NHWC), N >= 1\n";
  write_npy(folder / "flat.npy", Tensor(DType::kUint8, {6, 5, 3}));
  expect_error(folder, small + "flat.npy", 3, "flat.npy: shape [6, 5, 3]" + takes);
  write_npy(folder / "large.npy", Tensor(DType::kUint8, {2, 7, 5, 3}));
  expect_error(folder, small + "large.npy", 3, "large.npy: shape [2, 7, 5, 3]" + takes);
  write_npy(folder / "none.npy", Tensor(DType::kUint8, {0, 6, 5, 3}));
  expect_error(folder, small + "none.npy", 3, "none.npy: shape [0, 6, 5, 3]" + takes);
  const Outcome none = run_qsim(folder, "run --model small.yaml --input none.npy");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_EQ(none.err.find("--batch"), std::string::npos) << none.err;
}

TEST(GoldenRun, NamesInCapitalLettersAreTheSameKinds) {
  const TestFolder folder;
  folder.write("B.BIN", cifar_batch({1, 2, 3}));
  EXPECT_EQ(json_of(folder, "golden run --input B.BIN")["pictures"], 3);
  folder.write("small.yaml", kSmall);
  write_npy(folder / "P.NPY", Tensor(DType::kUint8, {2, 6, 5, 3}));
  EXPECT_EQ(json_of(folder, "golden run --model small.yaml --input P.NPY")["pictures"], 2);
}

TEST(GoldenRun, InputOfAWorkloadIsCalledWorkload) {
  const TestFolder folder;
  folder.write("small.yaml", kSmall);
  EXPECT_EQ(json_of(folder, "golden run --model small.yaml")["input"], "workload");
  EXPECT_EQ(json_of(folder, "golden run")["input"], "chelsea-32x32");
}

TEST(GoldenRun, RealTestBatchReachesTheTrainedAccuracy) {
  const char* variable = std::getenv("QSIM_DATA");
  const fs::path data = variable != nullptr ? variable : "../shared/data";
  const fs::path batch = fs::absolute(data / "cifar10" / "test_batch.bin");
  if (!fs::exists(batch)) {
    const char* required = std::getenv("QSIM_REQUIRE");
    if (required != nullptr && std::string(required).find("data") != std::string::npos) {
      FAIL() << "required: " << batch;
    }
    GTEST_SKIP() << "skipped: no data";
  }
  const TestFolder folder;
  const Json json = json_of(
      folder, "golden run --images 1000 --batch 96 --backend cpu --input '" + batch.string() + "'");
  EXPECT_EQ(json["pictures"], 1000);
  EXPECT_GT(json["top1"].get<double>(), 0.88);
  EXPECT_FALSE(json.contains("classes")) << "a table of 1,000 rows";
}

// Sends the signal once there is progress, however long that takes, to work that would go on for
// minutes: a sparse file of a million black pictures.
TEST(GoldenRun, InterruptSaysHowFarItCameAndKeepsNothing) {
  const TestFolder folder;
  folder.write("zeros.bin", "");
  fs::resize_file(folder / "zeros.bin", 1000000 * std::uintmax_t{3073});
  folder.write("interrupt.sh",
               "set -m\n"
               "\"$@\" 2> progress &\n"
               "while kill -0 $! 2> /dev/null && ! grep -q pictures progress; do sleep 0.1; done\n"
               "kill -INT $!\n"
               "wait $!\n"
               "code=$?\n"
               "cat progress >&2\n"
               "exit $code\n");
  const Outcome outcome =
      run_qsim(folder, "golden run --input zeros.bin --backend cpu --batch 1 --out kept",
               "bash interrupt.sh");
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_NE(outcome.err.find("qsim: interrupted: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(" of 1,000,000 pictures; kept: nothing"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(folder / "kept"));
}

}  // namespace
}  // namespace qsim
