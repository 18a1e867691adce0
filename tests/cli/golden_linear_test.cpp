// `qsim golden linear`: what it takes, refuses, prints and writes. Values are compared with exact
// rational arithmetic by golden_linear_exact_test.py.
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "cli/session/linear/linear_times.h"
#include "formats/traces/npy.h"
#include "golden/device/devices.h"
#include "tests/cli/golden_command.h"

namespace qsim {

using namespace cli;
using namespace formats;
namespace {

const std::string kLayer = "golden linear --K 70 --N 33 --M 3 --iters 3 ";
const std::string kSize = kLayer + "--warmup 1 --threads 1 ";

template <typename T>
void write_array(const TestFolder& folder, const std::string& name, const NpyType& type,
                 const Shape& shape, const std::vector<T>& values) {
  NpyArray array{std::string(type.descr), shape, {}};
  array.bytes.resize(values.size() * sizeof(T));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  write_npy_array(folder / name, array);
}

TEST(GoldenLinear, TimesEachModeAndSaysHowFarItIsFromFloat) {
  const TestFolder folder;
  const Json json = json_of(folder, kSize + "--seed 4 --print 1 --sweep 1");
  EXPECT_EQ(json["schema"], "qsim.golden-linear/1");
  ASSERT_EQ(json["modes"].size(), 2U);
  EXPECT_EQ(json["modes"][0]["mode"], "cpu_fp32");
  EXPECT_EQ(json["modes"][0]["speedup"], 1.0);
  EXPECT_EQ(json["modes"][0]["max_error"], 0.0);
  const Json& packed = json["modes"][1];
  EXPECT_EQ(packed["mode"], "cpu_int8");
  EXPECT_EQ(packed["K"], 70);
  EXPECT_EQ(packed["N"], 33);
  EXPECT_EQ(packed["M"], 3);
  for (const char* key : {"mean", "p50", "p95", "gigabytes_per_second", "share_of_limit", "speedup",
                          "max_error", "mean_error"}) {
    EXPECT_GT(packed[key].get<double>(), 0) << key;
  }
  EXPECT_LT(packed["max_error"].get<double>(), 0.05);
  EXPECT_EQ(json["tiles"].size(), 6U);
  EXPECT_FALSE(json["best_tile"].get<std::string>().empty());
  EXPECT_EQ(json["y"].size(), 8U);
}

TEST(GoldenLinear, ReachesAtMostItsLimit) {
  LinearTime time;
  time.bytes = 1000;
  time.least_seconds = 2;
  time.p50_seconds = 4;
  time.read_bytes_per_second = 1000;
  EXPECT_EQ(time.share_of_limit(), 0.25) << "of the reading";
  time.read_bytes_per_second = 100;
  EXPECT_EQ(time.limit_bytes_per_second(), 500) << "the fastest run";
  EXPECT_EQ(time.share_of_limit(), 0.5);
  const TestFolder folder;
  for (const std::string threads : {"1", "2"}) {
    const Json json = json_of(folder, kLayer + "--warmup 2 --threads " + threads);
    for (const Json& mode : json["modes"]) {
      EXPECT_LE(mode["share_of_limit"].get<double>(), 1) << mode;
    }
  }
}

TEST(GoldenLinear, WritesTheSameBitsWithAnyInstructionsThreadsAndTypeOfFile) {
  const TestFolder folder;
  const std::string command = kLayer + "--mode cpu_int8 --quiet --out ";
  ASSERT_EQ(run_qsim(folder, command + "y.npy --seed 9").exit_code, 0);
  const std::string expected = read_file(folder / "y.npy");
  for (const char* more : {"--vector portable", "--vector auto --threads 3", "--warmup 0"}) {
    ASSERT_EQ(run_qsim(folder, command + "z.npy --seed 9 " + more).exit_code, 0) << more;
    EXPECT_EQ(read_file(folder / "z.npy"), expected) << more;
  }
  ASSERT_EQ(run_qsim(folder, command + "z.npy --seed 10").exit_code, 0);
  EXPECT_NE(read_file(folder / "z.npy"), expected);
  for (const auto& [options, descr] : {std::pair{"--dtype bf16 --bits 4 --group 32", "<u2"},
                                       {"--dtype fp16 --y-dtype fp32 --bias 0", "<f4"},
                                       {"--dtype fp32 --group 64 --check 1", "<f4"}}) {
    ASSERT_EQ(run_qsim(folder, command + "z.npy " + options).exit_code, 0) << options;
    EXPECT_NE(read_file(folder / "z.npy").find(descr), std::string::npos) << options;
  }
}

TEST(GoldenLinear, ComputesTheSameOnceForAProfilerAndTimesNothing) {
  const TestFolder folder;
  for (const char* mode : {"cpu_int8", "cpu_fp32"}) {
    const std::string command = kSize + "--mode " + mode + " --print 1 ";
    const Json timed = json_of(folder, command);
    const Json profiled = json_of(folder, command + "--profile");
    EXPECT_EQ(profiled["y"], timed["y"]) << mode;
    EXPECT_TRUE(timed.contains("modes"));
    EXPECT_FALSE(profiled.contains("modes"));
    EXPECT_FALSE(profiled.contains("pack_seconds"));
  }
}

TEST(GoldenLinear, ComparesEachModeWithFloatInAnyOrder) {
  const TestFolder folder;
  const Json one = json_of(folder, kSize + "--mode cpu_fp32,cpu_int8 --config pe8x8");
  const Json other = json_of(folder, kSize + "--mode cpu_int8,cpu_fp32");
  EXPECT_EQ(other["modes"][1]["max_error"], 0.0);
  EXPECT_EQ(other["modes"][0]["max_error"], one["modes"][1]["max_error"]);
  EXPECT_GT(other["modes"][0]["max_error"].get<double>(), 0);
}

TEST(GoldenLinear, GivesTheSameBitsOnTheGpu) {
  if (!golden::cuda_status().usable()) GTEST_SKIP() << golden::cuda_status().reason;
  const TestFolder folder;
  const Json json = json_of(folder, kSize + "--mode cpu_fp32,gpu_int8 --sweep 1 --out g.npy");
  EXPECT_GE(json["pipelines"].size(), 2U);
  EXPECT_GE(json["best_stages"].get<int>(), 2);
  EXPECT_GT(json["modes"][1]["gigabytes_per_second"].get<double>(), 0);
  ASSERT_EQ(run_qsim(folder, kSize + "--mode cpu_int8 --out c.npy").exit_code, 0);
  EXPECT_EQ(read_file(folder / "g.npy"), read_file(folder / "c.npy"));
}

TEST(GoldenLinear, QuantizesActivationsToInt8WithTheSameBitsOnEachPath) {
  const TestFolder folder;
  const std::string layer = kLayer + "--mode cpu_int8 --quiet --seed 9 --out y.npy ";
  const std::string command = layer + "--activations int8 ";
  ASSERT_EQ(run_qsim(folder, command).exit_code, 0);
  const std::string expected = read_file(folder / "y.npy");
  for (const char* more : {"--vector portable", "--threads 3", "--profile"}) {
    ASSERT_EQ(run_qsim(folder, command + more).exit_code, 0) << more;
    EXPECT_EQ(read_file(folder / "y.npy"), expected) << more;
  }
  ASSERT_EQ(run_qsim(folder, command + "--activation-scale 0.125").exit_code, 0);
  EXPECT_NE(read_file(folder / "y.npy"), expected);
  ASSERT_EQ(run_qsim(folder, layer).exit_code, 0);
  EXPECT_NE(read_file(folder / "y.npy"), expected);
  const Json json = json_of(folder, kSize + "--activations int8 --sweep 1");
  EXPECT_EQ(json["activations"], "int8");
  EXPECT_EQ(json["tiles"].size(), 6U);
  EXPECT_GT(json["modes"][1]["max_error"].get<double>(), 0);
  EXPECT_LT(json["modes"][1]["max_error"].get<double>(), 0.1);
  if (!golden::cuda_status().usable()) {
    expect_error(folder, kSize + "--mode gpu_int8 --activations int8", 3, "CUDA: ");
    expect_error(folder, kSize + "--mode gpu_int8 --activations int8 --profile", 3, "CUDA: ");
    return;
  }
  ASSERT_EQ(run_qsim(folder, kLayer + "--mode gpu_int8 --activations int8 --seed 9 --out z.npy")
                .exit_code,
            0);
  EXPECT_EQ(read_file(folder / "z.npy"), expected);
}

TEST(GoldenLinear, SaysWhichGpuIsMissing) {
  if (!golden::cuda_status().usable()) GTEST_SKIP() << golden::cuda_status().reason;
  const TestFolder folder;
  EXPECT_EQ(run_qsim(folder, kSize + "--mode gpu_int8 --device 1000").exit_code, 3);
}

TEST(GoldenLinear, BenchTakesSizes) {
  const TestFolder folder;
  const Json json = json_of(folder,
                            "golden linear --bench --sizes 64x4096,4096x64 --mode cpu_int8 --iters "
                            "1 --warmup 0 --threads 1");
  ASSERT_EQ(json["modes"].size(), 2U);
  EXPECT_EQ(json["modes"][1]["K"], 4096);
  EXPECT_EQ(json["modes"][1]["speedup"], "-");
  EXPECT_EQ(json["cold"], true);
}

TEST(GoldenLinear, TakesFiles) {
  const TestFolder folder;
  write_array<std::uint16_t>(folder, "x.npy", kNpyFloat16, {1, 2}, {0x3C00, 0x4000});  // 1, 2
  write_array<std::int8_t>(folder, "w.npy", kNpyInt8, {3, 2}, {1, 2, 3, 4, -5, 6});
  write_array<float>(folder, "s.npy", kNpyFloat32, {3, 1}, {1, 0.5F, 2});
  write_array<float>(folder, "b.npy", kNpyFloat32, {3}, {0, 1, 0});
  const std::string files = "golden linear --x x.npy --w w.npy --scales s.npy --b b.npy --iters 1 ";
  const Json json = json_of(folder, files + "--print 1 --mode cpu_int8");
  EXPECT_EQ(json["y"][0]["value"], 5.0);
  EXPECT_EQ(json["y"][1]["value"], 6.5);
  EXPECT_EQ(json["y"][2]["value"], 14.0);
  expect_error(folder, files + "--out w.npy", 2, "w.npy");
  // As many numbers, in another shape.
  write_array<float>(folder, "s13.npy", kNpyFloat32, {1, 3}, {1, 0.5F, 2});
  write_array<float>(folder, "b31.npy", kNpyFloat32, {3, 1}, {0, 1, 0});
  const std::string others = "golden linear --x x.npy --w w.npy --iters 1 --mode cpu_int8 ";
  expect_error(folder, others + "--scales s13.npy", 3,
               "s13.npy: an array of shape [1, 3] is not [N, groups], here [3, 1]");
  expect_error(folder, others + "--scales s.npy --b b31.npy", 3,
               "b31.npy: an array of shape [3, 1] is not [N], here [3]");
  write_array<float>(folder, "s3.npy", kNpyFloat32, {3}, {1, 0.5F, 2});
  EXPECT_EQ(json_of(folder, others + "--scales s3.npy --b b.npy --print 1")["y"], json["y"]);
  expect_error(folder, "golden linear --x x.npy --w w.npy", 2,
               "--w 'w.npy' has int8 weights, which need their scales; give --scales");
  expect_error(folder, "golden linear --x b.npy", 3, "b.npy: an array of shape [3] is not [M, K]");
  expect_error(folder, "golden linear --w b.npy", 3, "b.npy: an array of shape [3] is not [N, K]");
  expect_error(folder, "golden linear --x x.npy --K 5 --N 5", 3, "the weights take rows of 5");
  expect_error(folder, "golden linear --x w.npy", 3, "w.npy: dtype '|i1'");
}

TEST(GoldenLinear, RefusesWhatDoesNothing) {
  const TestFolder folder;
  write_array(folder, "w.npy", kNpyFloat32, {2, 3}, std::vector<float>(6, 0.5F));
  write_array(folder, "i.npy", kNpyInt8, {2, 3}, std::vector<std::int8_t>(6, 5));
  write_array(folder, "s.npy", kNpyFloat32, {2, 1}, std::vector<float>(2, 0.5F));
  write_array(folder, "x.npy", kNpyFloat32, {1, 3}, std::vector<float>(3, 0.5F));
  write_array(folder, "b.npy", kNpyFloat32, {2}, std::vector<float>(2, 0.5F));
  const auto refuse = [&](const std::string& words, const std::string& message) {
    expect_error(folder, "golden linear --iters 1 " + words, 2, message);
  };
  const std::string needs = " does nothing here: it needs ";
  refuse("--w w.npy --K 7", "--K" + needs + "neither --w nor --bench");
  refuse("--w w.npy --N 3", "--N" + needs + "neither --w nor --bench");
  refuse("--bench --N 3", "--N" + needs + "neither --w nor --bench");
  refuse("--x x.npy --w w.npy --M 3", "--M" + needs + "no --x, which says it");
  refuse("--x x.npy --w w.npy --dtype fp32", "--dtype" + needs + "no --x, which says it");
  refuse("--w w.npy --b b.npy --bias 1", "--bias" + needs + "no --b, which is added");
  refuse("--scales s.npy", "--scales" + needs + "int8 weights in --w");
  refuse("--w w.npy --scales nothere.npy", "--scales" + needs + "int8 weights in --w; 'w.npy' has");
  refuse("--w i.npy --scales s.npy --bits 4", "--bits 4 does nothing here: 'i.npy' has int8");
  for (const std::string option : {"--bits 4", "--group 32", "--activations int8"}) {
    refuse("--w w.npy --mode cpu_fp32 " + option,
           option.substr(0, option.find(' ')) + needs + "a mode of integers: cpu_int8 or gpu_int8");
  }
  refuse("--device 900", "--device" + needs + "--mode gpu_int8");
  refuse("--mode gpu_int8 --vector avx2", "--vector" + needs + "a mode of the CPU");
}

TEST(GoldenLinear, NamesTheFileOfWhatIsNotFinite) {
  const TestFolder folder;
  std::vector<float> values(6, 0.5F);
  write_array(folder, "good.npy", kNpyFloat32, {2, 3}, values);
  values[4] = std::numeric_limits<float>::infinity();
  write_array(folder, "w.npy", kNpyFloat32, {2, 3}, values);
  write_array(folder, "b.npy", kNpyFloat32, {2}, std::vector<float>(2, std::nanf("")));
  const std::string message = ".npy: element [1, 1] is infinite or not a number; expected finite";
  expect_error(folder, "golden linear --w w.npy", 3, "w" + message);
  expect_error(folder, "golden quantize --w w.npy --out q.npy", 3, "w" + message);
  expect_error(folder, "golden linear --w good.npy --x w.npy --check 1", 3, "w" + message);
  expect_error(folder, "golden linear --w good.npy --b b.npy --check 1", 3,
               "b.npy: element [0, 0] is infinite or not a number");
}

TEST(GoldenLinear, RefusesWhatItCannotDo) {
  const TestFolder folder;
  if (!golden::cuda_status().usable()) {
    expect_error(folder, kSize + "--mode gpu_int8", 3, "CUDA: " + golden::cuda_status().reason);
    expect_error(folder, kSize + "--mode gpu_int8 --profile", 3, "CUDA: ");
  }
  expect_error(folder, "golden linear --profile", 2,
               "--profile runs one mode; give --mode with one");
  expect_error(folder, "golden linear --sizes 64x64", 2, "--sizes needs --bench");
  expect_error(folder, "golden linear --bench --w w.npy", 2, "--bench makes its own numbers");
  for (const char* size : {"64", "x64", "64x", "64x64x64", "0x64", "64x9999999", "ax5"}) {
    expect_error(folder, std::string("golden linear --bench --sizes ") + size, 2,
                 std::string("--sizes '") + size + "' is not KxN");
  }
  expect_error(folder, "golden linear --K 132105 --N 1", 2, "132104");
  expect_error(folder, "golden linear --bench --sizes 132105x1", 2,
               "--sizes '132105x1' is not KxN, K from 1 to 132104 and N from 1 to 1048576");
  expect_error(folder, "golden linear --activation-scale 0.5", 2,
               "--activation-scale is of int8 activations; give --activations int8");
  expect_error(folder, "golden linear --activations int8 --bits 4 --group 32", 3,
               "linear: int8 activations with weights of 4 bits and a group_size of 32");
  expect_error(
      folder, "golden linear --activations int8 --activation-scale 1e-40", 3,
      "linear: the scale of x is 9.9999461e-41; allowed: a finite number of at least 2^-126");
  expect_error(folder, "golden linear --K 132104 --N 1048576", 3,
               "weights of 132104 x 1048576: needs");
  expect_error(folder, "golden linear --out -", 2, "--out: expected a file");
  for (const char* option :
       {"--mode x", "--K 0", "--dtype x", "--bits 5", "--group 16", "--vector x", "--iters 0",
        "--M 0", "--activations int4", "--activation-scale 0", "--device x", "--config no-such",
        "--y-dtype x", "--bias 2", "--print 2", "--sweep 2", "--check 2", "--seed x",
        "--json no-such/a.json"}) {
    EXPECT_NE(run_qsim(folder, std::string("golden linear ") + option).exit_code, 0) << option;
  }
}

}  // namespace
}  // namespace qsim
