// Every option that takes a number reads it by one rule: decimal digits alone.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/terminal/options.h"
#include "core/error.h"
#include "tests/cli/run_qsim.h"

namespace qsim {
namespace {

struct NumberOption {
  std::vector<std::string> command;
  std::string option;
  std::string allowed;
  std::int64_t (*value)(const Options&);
  int taken = 12;  // of the range
};

std::int64_t batch(const Options& options) { return options.batch.value(); }
std::int64_t index_of(const Options& options) { return options.index.value(); }
std::int64_t images(const Options& options) { return options.images.value(); }
std::int64_t pictures(const Options& options) { return options.eval.pictures.value(); }
std::int64_t jobs(const Options& options) { return options.jobs.value(); }
std::int64_t seeds(const Options& options) { return options.seeds; }
std::int64_t runs(const Options& options) { return options.runs; }
std::int64_t bases(const Options& options) { return options.bases; }
std::int64_t activation_bases(const Options& options) { return options.activation_bases; }
std::int64_t stride(const Options& options) { return options.stride; }
std::int64_t pad(const Options& options) { return options.pad; }
std::int64_t in_features(const Options& options) { return options.linear.in_features; }
std::int64_t out_features(const Options& options) { return options.linear.out_features; }
std::int64_t rows(const Options& options) { return options.linear.rows; }
std::int64_t iterations(const Options& options) { return options.linear.iterations; }
std::int64_t warmup(const Options& options) { return options.linear.warmup; }
std::int64_t device(const Options& options) { return options.linear.device; }
std::int64_t linear_threads(const Options& options) { return options.linear.threads; }
std::int64_t scheme_pictures(const Options& options) {
  return options.schemes.calibration_pictures;
}
std::int64_t scheme_judges(const Options& options) { return *options.schemes.judges; }
std::int64_t quantize_pictures(const Options& options) { return options.quantize.pictures; }
std::int64_t activation_bits(const Options& options) { return options.quantize.activation_bits; }
std::int64_t weight_bits(const Options& options) { return options.quantize.weight_bits; }
std::int64_t quantize_threads(const Options& options) { return options.quantize.threads; }
std::int64_t seed(const Options& options) { return static_cast<std::int64_t>(options.seed); }

const std::vector<std::string> kQuantize = {"quantize", "m", "--calibrate", "c", "--out", "o"};

const std::vector<NumberOption>& number_options() {
  static const std::vector<NumberOption> options = {
      {{"run"}, "--batch", "1 to 1048576", batch},
      {{"run"}, "--index", "0 to 1073741824", index_of},
      {{"run"}, "--seed", "0 to 18446744073709551615", seed},
      {{"verify"}, "--batch", "1 to 1048576", batch},
      {{"verify"}, "--index", "0 to 1073741824", index_of},
      {{"verify"}, "--images", "1 to 1048576", images},
      {{"verify"}, "--seed", "0 to 18446744073709551615", seed},
      {{"verify"}, "--seeds", "1 to 1073741824", seeds},
      {{"explain"}, "--batch", "1 to 1048576", batch},
      {{"compile"}, "--batch", "1 to 1048576", batch},
      {{"export-vectors", "--out", "v"}, "--batch", "1 to 1048576", batch},
      {{"export-vectors", "--out", "v"}, "--index", "0 to 1073741824", index_of},
      {{"export-vectors", "--out", "v"}, "--seed", "0 to 18446744073709551615", seed},
      {{"eval", "--data", "d"}, "--batch", "1 to 1048576", batch},
      {{"eval", "--data", "d"}, "--pictures", "1 to 1048576", pictures},
      {{"eval", "--data", "d"}, "--jobs", "1 to 1024", jobs},
      {{"eval", "--data", "d"}, "--seed", "0 to 18446744073709551615", seed},
      {{"schemes", "--model", "m", "--calibrate", "c", "--data", "d"},
       "--pictures",
       "1 to 1048576",
       scheme_pictures},
      {{"schemes", "--model", "m", "--calibrate", "c", "--data", "d", "--modes"},
       "--judges",
       "1 to 1048576",
       scheme_judges},
      {{"schemes", "--model", "m", "--calibrate", "c", "--data", "d"},
       "--seed",
       "0 to 18446744073709551615",
       seed},
      {kQuantize, "--pictures", "1 to 1048576", quantize_pictures},
      {kQuantize, "--seed", "0 to 18446744073709551615", seed},
      {kQuantize, "--activation-bits", "2 to 8", activation_bits, 7},
      {kQuantize, "--weight-bits", "1 to 8", weight_bits, 7},
      {kQuantize, "--threads", "0 to 1024", quantize_threads},
      {{"golden", "run"}, "--batch", "1 to 1048576", batch},
      {{"golden", "run"}, "--index", "0 to 1073741824", index_of},
      {{"golden", "run"}, "--images", "1 to 1048576", images},
      {{"golden", "bench"}, "--batch", "1 to 1048576", batch},
      {{"golden", "bench"}, "--runs", "9 to 100000", runs},
      {{"golden", "bench"}, "--seed", "0 to 18446744073709551615", seed},
      {{"golden", "abc"}, "--bases", "1 to 8", bases, 7},
      {{"golden", "abc"}, "--activation-bases", "1 to 8", activation_bases, 7},
      {{"golden", "abc"}, "--stride", "1 to 1024", stride},
      {{"golden", "abc"}, "--pad", "0 to 1024", pad},
      {{"golden", "abc"}, "--runs", "9 to 100000", runs},
      {{"golden", "abc"}, "--batch", "1 to 1024", batch},
      {{"golden", "abc"}, "--seed", "0 to 18446744073709551615", seed},
      {{"golden", "linear"}, "--K", "1 to 132104", in_features},
      {{"golden", "linear"}, "--N", "1 to 1048576", out_features},
      {{"golden", "linear"}, "--M", "1 to 65536", rows},
      {{"golden", "linear"}, "--iters", "1 to 100000", iterations},
      {{"golden", "linear"}, "--warmup", "0 to 100000", warmup},
      {{"golden", "linear"}, "--threads", "0 to 1024", linear_threads},
      {{"golden", "linear", "--mode", "gpu_int8"}, "--device", "0 to 1023", device},
      {{"golden", "linear"}, "--seed", "0 to 18446744073709551615", seed}};
  return options;
}

Options parsed(const NumberOption& row, const std::string& value) {
  std::vector<std::string> argv = {"qsim"};
  argv.insert(argv.end(), row.command.begin(), row.command.end());
  argv.push_back(row.option + "=" + value);
  return parse_command_line(argv).options;
}

TEST(NumberOptions, OfEveryCommandTakeDecimalDigits) {
  for (const NumberOption& row : number_options()) {
    EXPECT_EQ(row.value(parsed(row, std::to_string(row.taken))), row.taken)
        << row.command[0] << " " << row.option;
    EXPECT_EQ(row.value(parsed(row, "00" + std::to_string(row.taken))), row.taken)
        << row.command[0] << " " << row.option;
  }
}

TEST(NumberOptions, OfEveryCommandRefuseAllElseAndSayWhatIsAllowed) {
  for (const NumberOption& row : number_options()) {
    for (const char* text : {"0x10", "0X10", "0b11", "0o17", "1e1", "12.0", "+12", "-12", " 12",
                             "12 ", "1_2", "1'2", "twelve", "99999999999999999999"}) {
      try {
        parsed(row, text);
        ADD_FAILURE() << row.command[0] << " " << row.option << " takes '" << text << "'";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kUsage);
        EXPECT_EQ(error.what(), row.option + ": found '" + text + "'; allowed: " + row.allowed +
                                    ", in decimal digits");
      }
    }
  }
}

// An option that CLI11 would read by its own rules: its help says another type than ours.
TEST(NumberOptions, AreAllThatHelpListsAsNumbers) {
  const TestFolder folder;
  std::size_t listed = 0;
  for (const char* command :
       {"run", "verify", "explain", "compile", "inspect", "export-vectors", "eval", "schemes",
        "quantize", "golden info", "golden run", "golden bench", "golden abc", "golden linear",
        "golden quantize", "doctor"}) {
    const std::string help = run_qsim(folder, std::string(command) + " --help").out;
    EXPECT_EQ(help.find("INT"), std::string::npos) << help;
    EXPECT_EQ(help.find("FLOAT"), std::string::npos) << help;
    for (std::size_t at = 0; (at = help.find(" N in ", at)) != std::string::npos; ++at) ++listed;
  }
  EXPECT_EQ(listed, number_options().size());
}

TEST(NumberOptions, OfATraceWindowFollowTheSameRule) {
  const auto window = [](const std::string& text) {
    parse_command_line({"qsim", "run", "--engine", "rtl", "--trace", "t", "--trace-window", text});
  };
  EXPECT_NO_THROW(window("0010:20"));
  for (const char* text : {"0x0:0x10", "+1:2", "1: 2", "1e1:20", "-1:2"}) {
    EXPECT_THROW(window(text), Error) << text;
  }
}

TEST(NumberOptions, OfOneRunAreGivenOnce) {
  for (const NumberOption& row : number_options()) {
    try {
      std::vector<std::string> argv = {"qsim"};
      argv.insert(argv.end(), row.command.begin(), row.command.end());
      for (const char* value : {"12", "12"}) {
        argv.push_back(row.option);
        argv.push_back(value);
      }
      parse_command_line(argv);
      ADD_FAILURE() << row.option << " is taken twice";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), row.option + ": given 2 times; expected once");
    }
  }
}

}  // namespace
}  // namespace qsim
