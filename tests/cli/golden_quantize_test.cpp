// `qsim golden quantize`: what it writes, and what it refuses.
#include <cstring>

#include <gtest/gtest.h>

#include "formats/traces/npy.h"
#include "tests/cli/golden_command.h"

namespace qsim {

using namespace formats;
namespace {

void write_floats(const TestFolder& folder, const std::string& name, const Shape& shape,
                  const std::vector<float>& values) {
  NpyArray array{std::string(kNpyFloat32.descr), shape, {}};
  array.bytes.resize(values.size() * sizeof(float));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  write_npy_array(folder / name, array);
}

template <typename T>
std::vector<T> read(const TestFolder& folder, const std::string& name, const NpyType& type,
                    const Shape& shape) {
  const NpyArray array = read_npy_array(folder / name, {&type, 1});
  EXPECT_EQ(array.shape, shape) << name;
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

TEST(GoldenQuantize, WritesCodesAndScalesOfEachChannel) {
  const TestFolder folder;
  write_floats(folder, "w.npy", {3, 2}, {254, -127, 0, 0, -1, 0.5F});
  const Json json = json_of(folder, "golden quantize --w w.npy --out q.npy --out-scales s.npy");
  EXPECT_EQ(json["schema"], "qsim.golden-quantize/1");
  EXPECT_EQ(json["N"], 3);
  EXPECT_EQ(json["K"], 2);
  EXPECT_EQ(json["bits"], 8);
  EXPECT_EQ(json["group"], 0);
  EXPECT_EQ(json["max_error"], 1.0);  // of -127, which is -63.5 steps of 2
  EXPECT_GT(json["nrmse"].get<double>(), 0);
  EXPECT_EQ((read<std::int8_t>(folder, "q.npy", kNpyInt8, {3, 2})),
            (std::vector<std::int8_t>{127, -64, 0, 0, -127, 64}));
  EXPECT_EQ((read<float>(folder, "s.npy", kNpyFloat32, {3, 1})),
            (std::vector<float>{2, 1, 1.0F / 127}));
}

TEST(GoldenQuantize, WritesWhatGoldenLinearReads) {
  const TestFolder folder;
  std::vector<float> weights;
  for (int i = 0; i < 5 * 70; ++i) weights.push_back(static_cast<float>(i * 37 % 101 - 50) * 0.01F);
  write_floats(folder, "w.npy", {5, 70}, weights);
  ASSERT_EQ(run_qsim(folder, "golden quantize --w w.npy --group 32 --out q.npy --out-scales s.npy")
                .exit_code,
            0);
  const std::string layer = "golden linear --mode cpu_int8 --iters 1 --group 32 --quiet ";
  write_floats(folder, "x.npy", {1, 70}, std::vector<float>(weights.begin(), weights.begin() + 70));
  ASSERT_EQ(run_qsim(folder, layer + "--x x.npy --w w.npy --bias 0 --out a.npy").exit_code, 0);
  ASSERT_EQ(
      run_qsim(folder, layer + "--x x.npy --w q.npy --scales s.npy --bias 0 --out b.npy").exit_code,
      0);
  EXPECT_EQ(read_file(folder / "a.npy"), read_file(folder / "b.npy"));
}

TEST(GoldenQuantize, GivesFourBitsZeroPoints) {
  const TestFolder folder;
  std::vector<float> weights(33, 0.0F);
  weights[0] = 14;
  weights[1] = -7;
  weights[32] = -3;
  write_floats(folder, "w.npy", {1, 33}, weights);
  const std::string command =
      "golden quantize --w w.npy --bits 4 --group 32 --out q.npy --out-scales s.npy "
      "--out-zero-points z.npy --quiet ";
  ASSERT_EQ(run_qsim(folder, command).exit_code, 0);
  EXPECT_EQ((read<float>(folder, "s.npy", kNpyFloat32, {1, 2})), (std::vector<float>{1.4F, 0.2F}));
  EXPECT_EQ((read<std::uint8_t>(folder, "z.npy", kNpyUint8, {1, 2})),
            (std::vector<std::uint8_t>{5, 15}));
  EXPECT_EQ((read<std::int8_t>(folder, "q.npy", kNpyInt8, {1, 33}))[0], 15);
  ASSERT_EQ(run_qsim(folder, command + "--symmetric").exit_code, 0);
  EXPECT_EQ((read<float>(folder, "s.npy", kNpyFloat32, {1, 2})), (std::vector<float>{2, 3.0F / 7}));
  EXPECT_EQ((read<std::uint8_t>(folder, "z.npy", kNpyUint8, {1, 2})),
            (std::vector<std::uint8_t>{8, 8}));
}

TEST(GoldenQuantize, RefusesWhatItCannotDo) {
  const TestFolder folder;
  write_floats(folder, "w.npy", {3, 2}, {1, 2, 3, 4, 5, 6});
  write_floats(folder, "b.npy", {3}, {1, 2, 3});
  EXPECT_NE(run_qsim(folder, "golden quantize").exit_code, 0);
  EXPECT_EQ(run_qsim(folder, "golden quantize --w w.npy --config pe8x8 --json q.json").exit_code,
            0);
  EXPECT_EQ(run_qsim(folder, "golden quantize --help").exit_code, 0);
  for (const char* option : {"--bits 5", "--group 16", "--out-zero-points -", "--config no-such",
                             "--json no-such/a.json"}) {
    EXPECT_NE(run_qsim(folder, std::string("golden quantize --w w.npy ") + option).exit_code, 0)
        << option;
  }
  expect_error(folder, "golden quantize --w b.npy", 3,
               "b.npy: an array of shape [3] is not [N, K]");
  expect_error(folder, "golden quantize --w w.npy --out w.npy", 2, "w.npy");
  expect_error(folder, "golden quantize --w w.npy --out a.npy --out-scales a.npy", 2,
               "--out and --out-scales would both write 'a.npy'");
  expect_error(folder, "golden quantize --w w.npy --out -", 2, "--out: expected a file");
  expect_error(folder, "golden quantize --w w.npy --out-scales -", 2,
               "--out-scales: expected a file");
  expect_error(folder, "golden quantize --w no.npy", 3, "no.npy");
}

}  // namespace
}  // namespace qsim
