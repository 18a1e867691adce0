// `qsim golden convert` as a user runs it: files, presets, errors, times.
#include "formats/traces/npy.h"
#include "golden/device/devices.h"
#include "tests/cli/golden_command.h"

namespace qsim {

using namespace formats;
namespace {

// float16 [2, 40]: 1, 2, ... 80.
std::string numbers_file(const TestFolder& folder) {
  NpyArray array{"<f2", {2, 40}, {}};
  for (int i = 1; i <= 80; ++i) {
    // The bits of an integer below 2048 in FP16.
    int exponent = 0;
    while (i >> (exponent + 1) != 0) ++exponent;
    const int bits = (exponent + 15) << 10 | ((i << (10 - exponent)) & 0x3FF);
    array.bytes.push_back(static_cast<std::byte>(bits & 0xFF));
    array.bytes.push_back(static_cast<std::byte>(bits >> 8));
  }
  write_npy_array(folder / "x.npy", array);
  return "x.npy";
}

TEST(GoldenConvert, WritesValuesScalesZeroPointsAndTheWayBack) {
  const TestFolder folder;
  const std::string input = "golden convert --input " + numbers_file(folder);
  const Json json = json_of(folder, input +
                                        " --from fp16 --to int4 --group 16 --scales fp32 "
                                        "--zero-point --out q.npy --out-scales s.npy "
                                        "--out-zero-points z.npy --out-back b.npy");
  EXPECT_EQ(json["schema"], "qsim.golden-convert/1");
  EXPECT_EQ(json["scale_count"], 6);
  EXPECT_EQ(json["to"], "int4");
  EXPECT_GT(json["nrmse"], 0.0);
  EXPECT_LT(json["nrmse"], 0.1);
  const NpyArray q = read_npy_array(folder / "q.npy", {&kNpyUint8, 1});
  EXPECT_EQ(q.shape, (Shape{2, 20}));
  EXPECT_NE(q.bytes, std::vector<std::byte>(40));
  EXPECT_EQ(read_npy_array(folder / "s.npy", {&kNpyFloat32, 1}).shape, (Shape{2, 3}));
  EXPECT_EQ(read_npy_array(folder / "z.npy", {&kNpyInt8, 1}).bytes.size(), 6U);
  EXPECT_EQ(read_npy_array(folder / "b.npy", {&kNpyFloat16, 1}).shape, (Shape{2, 40}));
}

TEST(GoldenConvert, GaussianNumbersHaveTheErrorsThatThePageStates) {
  const TestFolder folder;
  const std::string gaussian = "golden convert --rows 64 --cols 4096 --group 128 ";
  const Json fp8 = json_of(folder, gaussian + "--to fp8_e4m3 --seed 3");
  EXPECT_NEAR(fp8["mean_relative_error"], 0.022, 0.001);
  const Json int4 = json_of(folder, gaussian + "--to int4 --from bf16");
  EXPECT_NEAR(int4["nrmse"], 0.117, 0.002);
}

TEST(GoldenConvert, TakesPresetsClippingAndEachKindOfScale) {
  const TestFolder folder;
  const std::string small = "golden convert --rows 3 --cols 100 ";
  const Json nvfp4 = json_of(folder, small + "--preset nvfp4 --out-scales s.npy");
  EXPECT_EQ(nvfp4["scale_count"], 21);
  EXPECT_TRUE(nvfp4.contains("global_scale"));
  EXPECT_EQ(read_npy_array(folder / "s.npy", {&kNpyUint8, 1}).shape, (Shape{3, 7}));
  const Json column = json_of(folder, small +
                                          "--scales ue8m0 --scale-rounding ceil "
                                          "--scale-order column --out-scales s.npy");
  EXPECT_EQ(column["scale_count"], 3);
  EXPECT_EQ(read_npy_array(folder / "s.npy", {&kNpyUint8, 1}).shape, (Shape{1, 3}));
  const double all = json_of(folder, small + "--to int4 --group tensor")["nrmse"];
  EXPECT_NE(json_of(folder, small + "--to int4 --group tensor --clip 1.5")["nrmse"], all);
  EXPECT_NE(json_of(folder, small + "--to int4 --group tensor --clip-percentile 99.5")["nrmse"],
            all);
  EXPECT_NE(json_of(folder, small + "--to int4 --group tensor --stochastic")["nrmse"], all);
  EXPECT_EQ(json_of(folder, small + "--to int4 --group tensor --vector portable")["nrmse"], all);
}

std::vector<std::byte> bytes_of(const TestFolder& folder, const char* name, const NpyType& type) {
  return read_npy_array(folder / name, {&type, 1}).bytes;
}

TEST(GoldenConvert, ReadsItsOwnFilesBackToTheSameTensor) {
  const TestFolder folder;
  const std::string out = " --out q.npy --out-scales s.npy --out-back b.npy";
  const std::string in = " --input q.npy --in-scales s.npy --out c.npy";
  const std::string to = "golden convert --input " + numbers_file(folder) + " --to ";
  for (const std::string how : {"int8", "fp8_e4m3", "fp8_e5m2", "int4", "fp4_e2m1"}) {
    json_of(folder, to + how + " --group 16" + out);
    const Json json = json_of(folder, "golden convert --group 16 --from " + how + in);
    EXPECT_EQ(json["to"], "fp16");
    EXPECT_EQ(json["shape"], "[2, 40]");
    EXPECT_EQ(bytes_of(folder, "c.npy", kNpyFloat16), bytes_of(folder, "b.npy", kNpyFloat16));
  }
  json_of(folder, to + "int4 --group 16 --zero-point --out-zero-points z.npy" + out);
  json_of(folder, "golden convert --group 16 --from int4 --in-zero-points z.npy" + in);
  EXPECT_EQ(bytes_of(folder, "c.npy", kNpyFloat16), bytes_of(folder, "b.npy", kNpyFloat16));
  // The global scale as the report prints it, with an exponent, is the same float32 number.
  const Json made =
      json_of(folder, "golden convert --rows 1 --cols 33 --seed 3 --preset nvfp4" + out);
  const auto global_scale = made["global_scale"].get<std::string>();
  const Json other = json_of(folder,
                             "golden convert --from fp4_e2m1 --preset nvfp4 --odd-cols "
                             "--in-global-scale " +
                                 global_scale + in);
  EXPECT_EQ(other["shape"], "[1, 33]");
  EXPECT_EQ(bytes_of(folder, "c.npy", kNpyFloat16), bytes_of(folder, "b.npy", kNpyFloat16));
  json_of(
      folder,
      "golden convert --from fp4_e2m1 --preset nvfp4 --odd-cols --in-global-scale 3.72e-05" + in);
  expect_error(folder, "golden convert --from fp4_e2m1 --preset nvfp4 --odd-cols" + in, 3,
               "convert: e4m3 scales are times a global scale; give --in-global-scale");
}

TEST(GoldenConvert, Int4BecomesFp8AsItselfOrTimesItsScale) {
  const TestFolder folder;
  json_of(folder, "golden convert --input " + numbers_file(folder) +
                      " --to int4 --group tensor --out q.npy --out-scales s.npy --out-back b.npy");
  const std::string from =
      "golden convert --from int4 --group tensor --input q.npy "
      "--in-scales s.npy --out c.npy --to fp8_e4m3";
  json_of(folder, from + " --out-scales t.npy");
  // 80 is the largest number: 7, whose E4M3 code is 0x4E, at the end. The scales are handed on.
  EXPECT_EQ(bytes_of(folder, "c.npy", kNpyUint8).back(), std::byte{0x4E});
  EXPECT_EQ(bytes_of(folder, "t.npy", kNpyFloat32), bytes_of(folder, "s.npy", kNpyFloat32));
  json_of(folder, from + " --product");
  EXPECT_EQ(bytes_of(folder, "c.npy", kNpyUint8).back(), std::byte{0x6A});  // 80
}

TEST(GoldenConvert, QuantizedInputIsCheckedByName) {
  const TestFolder folder;
  json_of(folder,
          "golden convert --rows 2 --cols 32 --to int4 --group 16 --out q.npy --out-scales s.npy");
  const std::string from = "golden convert --from ";
  const std::string codes = " --input q.npy ";
  const std::string files = codes + "--in-scales s.npy ";
  expect_error(folder, from + "int4", 3,
               "convert: --from int4 reads quantized files; give --input and --in-scales");
  expect_error(
      folder, from + "int4 --odd-cols --group 32" + files, 3,
      "convert: 's.npy' has the shape [2, 2]; the groups of a tensor of shape [2, 31] need "
      "[2, 1]");
  expect_error(folder, from + "int4 --group 16 --to int8" + files, 3,
               "convert: int8 is no target of int4; allowed: fp8_e4m3, fp8_e5m2");
  expect_error(
      folder, from + "int8 --group token" + files, 3,
      "convert: 's.npy' has the shape [2, 2]; the groups of a tensor of shape [2, 16] need "
      "[2, 1]");
  expect_error(folder, from + "int4 --group 16 --out s.npy" + files, 2,
               "--out would overwrite 's.npy'");
  const std::string int4 = from + "int4 --group 16";
  EXPECT_EQ(run_qsim(folder, int4 + codes + "--in-scales none.npy").exit_code, 3);
  EXPECT_EQ(run_qsim(folder, int4 + files + "--in-zero-points none.npy").exit_code, 3);
  EXPECT_EQ(run_qsim(folder, int4 + files + "--in-global-scale x").exit_code, 2);
  EXPECT_EQ(run_qsim(folder, int4 + files + "--backend x").exit_code, 2);
}

TEST(GoldenConvert, TheShapesOfScalesAndZeroPointsAreCheckedAndNotOnlyTheirCounts) {
  const TestFolder folder;
  json_of(folder,
          "golden convert --rows 2 --cols 64 --to int4 --group 16 --zero-point --out q.npy "
          "--out-scales s.npy --out-zero-points z.npy");
  const std::string from = "golden convert --from int4 --group 16 --input q.npy ";
  const std::string scales = "--in-scales s.npy ";
  json_of(folder, from + scales + "--in-zero-points z.npy");
  expect_error(
      folder, from + scales + "--scale-order column", 3,
      "convert: 's.npy' has the shape [2, 4]; the groups of a tensor of shape [2, 64] need "
      "[4, 2]");
  // As many entries, of another shape.
  NpyArray zero_points = read_npy_array(folder / "z.npy", {&kNpyInt8, 1});
  zero_points.shape = {8};
  write_npy_array(folder / "z.npy", zero_points);
  expect_error(folder, from + scales + "--in-zero-points z.npy", 3,
               "convert: 'z.npy' has the shape [8]; the groups of a tensor of shape [2, 64] need "
               "[2, 4]");
  NpyArray codes = read_npy_array(folder / "q.npy", {&kNpyUint8, 1});
  codes.shape = {4, 16};
  write_npy_array(folder / "q.npy", codes);
  expect_error(
      folder, from + scales, 3,
      "convert: 's.npy' has the shape [2, 4]; the groups of a tensor of shape [4, 32] need "
      "[4, 2]");
  write_npy_array(folder / "q.npy", {"|u1", {2, 0}, {}});
  expect_error(
      folder, from + scales + "--odd-cols", 3,
      "--odd-cols: 'q.npy' has the shape [2, 0], whose rows have no last element; leave the "
      "option out");
}

TEST(GoldenConvert, AnOptionThatWouldDoNothingIsRefused) {
  const TestFolder folder;
  json_of(folder,
          "golden convert --rows 2 --cols 32 --to int4 --group 16 --out q.npy --out-scales s.npy");
  const std::string halves = "golden convert --rows 2 --cols 32 ";
  const std::string codes = "golden convert --from int4 --group 16 --input q.npy ";
  const auto refuse = [&](const std::string& words, const std::string& option,
                          const std::string& needed) {
    expect_error(folder, words, 2,
                 option + " does nothing here: it needs " + needed + "; leave it out");
  };
  refuse(halves + "--in-scales s.npy", "--in-scales",
         "--from int8, fp8_e4m3, fp8_e5m2, int4 or fp4_e2m1");
  refuse(halves + "--in-zero-points s.npy", "--in-zero-points", "--from int8 or int4");
  refuse(halves + "--in-global-scale 1", "--in-global-scale", "quantized input with e4m3 scales");
  refuse(halves + "--to int4 --odd-cols", "--odd-cols", "--from int4 or fp4_e2m1");
  refuse(halves + "--to int4 --product", "--product", "--from int4 and --to fp8_e4m3 or fp8_e5m2");
  refuse(halves + "--preset mxfp8 --group 32", "--group", "no --preset");
  refuse(halves + "--preset mxfp8 --scales fp32", "--scales", "no --preset");
  refuse(halves + "--scale-rounding ceil", "--scale-rounding",
         "--from fp16 or bf16, --scales ue8m0 and no --preset");
  refuse(halves + "--runs 9", "--runs", "--bench");
  refuse("golden convert --rows 2 --input x.npy", "--rows",
         "Gaussian numbers, which are without --input");
  const std::string scales = codes + "--in-scales s.npy ";
  for (const std::string option : {"--zero-point", "--clip 1", "--clip-percentile 99",
                                   "--stochastic", "--out-back b.npy", "--bench"}) {
    refuse(scales + option, option.substr(0, option.find(' ')), "--from fp16 or bf16");
  }
  refuse(scales + "--cols 8", "--cols", "Gaussian numbers, which are without --input");
  refuse(scales + "--in-global-scale 2", "--in-global-scale", "quantized input with e4m3 scales");
  refuse(scales + "--product", "--product", "--from int4 and --to fp8_e4m3 or fp8_e5m2");
  refuse(scales + "--out-scales t.npy", "--out-scales", "codes that --out writes");
}

TEST(GoldenConvert, AGpuThatIsNotThereIsNamed) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "golden convert --rows 2 --cols 20 --backend cuda");
  EXPECT_EQ(outcome.exit_code, golden::cuda_status().usable() ? 0 : 3) << outcome.err;
  if (outcome.exit_code != 0) {
    EXPECT_NE(
        outcome.err.find("--backend cuda: no GPU can be used: " + golden::cuda_status().reason),
        std::string::npos)
        << outcome.err;
  }
  EXPECT_EQ(json_of(folder, "golden convert --rows 2 --cols 20 --backend cpu")["backend"], "cpu");
}

TEST(GoldenConvert, BenchGivesItsShareOfACopy) {
  const TestFolder folder;
  const Json json =
      json_of(folder, "golden convert --backend cpu --bench --runs 9 --threads 1 --rows 16");
  EXPECT_EQ(json["threads"], 1);
  for (const char* key :
       {"seconds", "back_seconds", "copy_seconds", "share_of_copy", "back_share_of_copy"}) {
    EXPECT_GT(json[key], 0.0) << key;
  }
}

TEST(GoldenConvert, EachOptionRefusesAWrongValue) {
  const TestFolder folder;
  const std::string convert = "golden convert --rows 2 --cols 20 ";
  EXPECT_EQ(run_qsim(folder, "golden convert --help").exit_code, 0);
  EXPECT_EQ(run_qsim(folder, "golden convert --version").exit_code, 0);
  EXPECT_EQ(run_qsim(folder, convert + "--config pe4x4").exit_code, 0);
  for (const char* option :
       {"--from x", "--to x", "--preset x", "--group 8", "--scales x", "--scale-rounding x",
        "--scale-order x", "--clip 0", "--clip-percentile 101", "--seed x", "--threads 1025",
        "--vector x", "--runs 8"}) {
    EXPECT_EQ(run_qsim(folder, convert + option).exit_code, 2) << option;
  }
  EXPECT_EQ(run_qsim(folder, "golden convert --rows 0").exit_code, 2);
  EXPECT_EQ(run_qsim(folder, "golden convert --cols 0").exit_code, 2);
  for (const char* option :
       {"--config no-such", "--json none/c.json", "--out none/q.npy", "--out-scales none/s.npy",
        "--out-zero-points none/z.npy", "--out-back none/b.npy"}) {
    EXPECT_EQ(run_qsim(folder, convert + option).exit_code, 3) << option;
  }
  EXPECT_EQ(run_qsim(folder, "golden convert --input none.npy").exit_code, 3);
}

TEST(GoldenConvert, BadRequestsAreRefusedByName) {
  const TestFolder folder;
  const std::string convert = "golden convert --input " + numbers_file(folder);
  expect_error(folder, convert + " --to int3", 2,
               "found 'int3'; allowed: fp16, bf16, int8, fp8_e4m3");
  expect_error(folder, convert + " --group 24", 2, "found '24'; allowed: 16, 32");
  expect_error(folder, convert + " --from bf16", 3,
               "dtype float16 (<f2); allowed: uint16 (<u2). In NumPy: array.astype(...)");
  expect_error(folder, convert + " --zero-point", 3,
               "convert: a zero_point needs int8 or int4 and fp32 scales");
  expect_error(folder, convert + " --out x.npy", 2, "--out would overwrite 'x.npy', the input");
  expect_error(folder, convert + " --out q.npy --out-scales q.npy", 2,
               "--out and --out-scales would both write 'q.npy'");
  expect_error(folder, convert + " --out -", 2, "--out: expected a file; - is not stdout here");
  expect_error(folder, convert + " --out none/q.npy", 3, "none");
}

}  // namespace
}  // namespace qsim
