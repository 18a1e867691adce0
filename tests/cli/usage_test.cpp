// The command line itself: commands, options, help, exit code 2.
#include <gtest/gtest.h>

#include "tests/cli/run_qsim.h"

namespace qsim {
namespace {

void expect_usage_error(const std::string& arguments, const std::string& message) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_EQ(outcome.err.rfind("qsim: error: ", 0), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
}

TEST(CommandLine, HelpListsTheCommandsAndEachCommandListsItsOptions) {
  const TestFolder folder;
  const Outcome top = run_qsim(folder, "--help");
  EXPECT_EQ(top.exit_code, 0);
  for (const char* command : {"run", "verify", "explain", "profile", "compare", "eval", "compile",
                              "inspect", "golden info", "golden run", "golden bench", "golden abc",
                              "golden linear", "golden quantize", "doctor"}) {
    EXPECT_NE(top.out.find(std::string("\n  ") + command + " "), std::string::npos) << command;
    const Outcome help = run_qsim(folder, std::string(command) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_NE(help.out.find("--json"), std::string::npos) << command;
  }
  EXPECT_EQ(top.err, "");
}

TEST(CommandLine, HelpAndVersionGoToStdoutWhateverJsonSays) {
  const TestFolder folder;
  for (const char* command : {"", "golden", "run", "verify", "golden run", "doctor"}) {
    const std::string plain = run_qsim(folder, std::string(command) + " --help").out;
    EXPECT_NE(plain.find("Usage: "), std::string::npos) << command;
    for (const char* json : {" --json -", " --json=-", " --json r.json"}) {
      EXPECT_EQ(run_qsim(folder, std::string(command) + " --help" + json).out, plain) << command;
      EXPECT_EQ(run_qsim(folder, std::string(json) + " " + command + " --help").out, plain)
          << command;
    }
  }
  const std::string version = run_qsim(folder, "--version").out;
  EXPECT_EQ(run_qsim(folder, "--version --json -").out, version);
  EXPECT_EQ(run_qsim(folder, "--json - run --version").out, version);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CommandLine, AnOptionThatIsGivenTwiceIsRefused) {
  expect_usage_error("run --model fc --model vgg8", "--model: given 2 times; expected once");
  expect_usage_error("--json a --json b --json c", "--json: given 3 times; expected once");
  expect_usage_error("inspect fc --config pe4x4 --config pe8x8", "--config: given 2 times");
  const TestFolder folder;
  EXPECT_EQ(run_qsim(folder, "run --model fc --quiet --quiet").exit_code, 0);
}

TEST(CommandLine, VersionIsOneLine) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out.rfind("qsim ", 0), 0u);
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
  for (const char* command :
       {"run", "verify", "profile", "compare", "eval", "compile", "inspect", "golden info",
        "golden run", "golden bench", "golden abc", "golden linear", "golden quantize", "doctor"}) {
    const Outcome same = run_qsim(folder, std::string(command) + " --version");
    EXPECT_EQ(same.exit_code, 0) << command << same.err;
    EXPECT_EQ(same.out, outcome.out) << command;
  }
}

TEST(CommandLine, UnknownOptionNamesTheNearestRightOne) {
  expect_usage_error("run --modle vgg8",
                     "unknown option '--modle' of qsim run; did you mean '--model'?");
  expect_usage_error("--modle=vgg8", "did you mean '--model'?");
  expect_usage_error("verify --engine systemc", "did you mean '--engines'?");
  expect_usage_error("run --trace out.fst", "--trace needs --engine rtl");
}

TEST(CommandLine, UnknownCommandNamesTheNearestRightOne) {
  expect_usage_error("verfy", "unknown command 'verfy'; did you mean 'verify'?");
  expect_usage_error(
      "simulate",
      "unknown command 'simulate'. Commands: run, verify, explain, profile, "
      "compare, eval, compile, inspect, export-vectors, schemes, quantize, golden, ");
  expect_usage_error("--config pe4x4 sweep", "unknown command 'sweep'");
  expect_usage_error("help", "unknown command 'help'; did you mean '--help'? Commands: run, ");
}

TEST(CommandLine, CommandBehindItsOptionsIsToldToStandFirst) {
  const std::string first = "' comes after options; only --config, --json and --quiet";
  expect_usage_error("--golden cuda verify", "the command 'verify" + first);
  expect_usage_error("--batch 4 golden bench", "the command 'golden" + first);
  // With the command in front the option is what is wrong.
  expect_usage_error("run --golden cuda verify", "unknown option '--golden' of qsim run");
  expect_usage_error("--golden cuda", "unknown option '--golden' of qsim run");
}

TEST(CommandLine, StdoutIsNoFolder) {
  const TestFolder folder;
  for (const char* arguments :
       {"run --out -", "run --json - --out -", "golden run --out -", "export-vectors --out -"}) {
    expect_error(folder, arguments, 2, "--out: expected a folder; - is not stdout here");
  }
  expect_error(folder, "--dump-layers -", 2, "--dump-layers: expected a folder; - is not stdout");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(run_qsim(folder, "compile --model fc --out -").exit_code, 0);
}

TEST(CommandLine, HelpOfVerifySaysHowEnginesAreListed) {
  const TestFolder folder;
  const std::string help = run_qsim(folder, "verify --help").out;
  EXPECT_NE(help.find("interpreter,systemc,rtl,recurrence"), std::string::npos) << help;
  EXPECT_NE(help.find("=interpreter,systemc "), std::string::npos) << help;
  EXPECT_NE(help.find("with commas between them"), std::string::npos) << help;
}

TEST(CommandLine, ValueThatIsNotBuiltListsTheAllowedOnes) {
  expect_usage_error("run --engine spike",
                     "--engine: found 'spike'; allowed: systemc, interpreter, rtl, recurrence\n");
  expect_usage_error("verify --golden gpu", "allowed: auto, cpu, cuda, or cpu,cuda");
  expect_usage_error("verify --engines systemc,spike",
                     "--engines: found 'spike'; allowed: interpreter, systemc, rtl, recurrence\n");
}

TEST(CommandLine, MalformedAndMissingValuesAreRefused) {
  expect_usage_error("run --batch 0", "--batch");
  expect_usage_error("run --batch many", "--batch");
  expect_usage_error("run --index -1", "--index");
  expect_usage_error("run --model",
                     "--model: the value is missing; `qsim run --help` says which is expected\n");
  expect_usage_error("verify --engines=",
                     "--engines: the value is missing; `qsim verify --help` says which");
  expect_usage_error("run --seed -1", "found '-1'; allowed: 0 to 18446744073709551615, in");
  expect_usage_error("verify --seed abc", "found 'abc'; allowed: 0 to ");
  expect_usage_error("inspect", "file");
  expect_usage_error("inspect a b", "unexpected argument 'b'");
}

TEST(CommandLine, AFlagTakesNoValue) {
  expect_usage_error("--quiet=3", "--quiet: found '3'; expected no value\n");
  expect_usage_error("run --no-data=false", "--no-data: found 'false'; expected no value\n");
  expect_usage_error("--version=3", "--version: found '3'; expected no value\n");
  const TestFolder folder;  // of an option's value, the sign is a part
  EXPECT_EQ(run_qsim(folder, "compile --model fc --json --quiet=3").exit_code, 2);
  EXPECT_EQ(run_qsim(folder, "compile --model fc --json=a=b").exit_code, 0);
}

TEST(CommandLine, EmptyValuesAreRefusedSinceAnUnsetVariableGivesThem) {
  expect_usage_error("--config ''",
                     "--config: the value is empty; give one, or leave the option out");
  for (const char* option :
       {"--model", "--input", "--layers", "--out", "--dump-layers", "--json"}) {
    expect_usage_error("run " + std::string(option) + " ''",
                       std::string(option) + ": the value is empty");
  }
}

TEST(CommandLine, OptionsThatExcludeEachOtherAreRefused) {
  expect_usage_error("verify --seeds 5 --model vgg8",
                     "--seeds makes its own layers; leave out --model");
  expect_usage_error("verify --engines systemc,systemc", "twice");
  expect_usage_error("verify --all-configs", "--all-configs needs --seeds; give --seeds N");
  expect_usage_error("run --no-data --dump-layers d", "--dump-layers writes data");
  expect_usage_error("compile --json - --out -", "stdout");
  expect_usage_error("run --model fc --no-data --engine interpreter",
                     "which computes data and no times");
  expect_usage_error("run --model fc --engine recurrence",
                     "--engine recurrence computes times and no data; add --no-data");
  for (const char* engines : {"recurrence", "interpreter,recurrence"}) {
    expect_usage_error(std::string("verify --model fc --engines ") + engines,
                       "--engines names recurrence, which computes times alone, and no engine "
                       "whose times they are compared with; add systemc or rtl");
  }
  expect_usage_error("run --model fc --index 3", "--index needs a CIFAR-10 batch");
  expect_usage_error("verify --model fc --images 3", "--images needs a CIFAR-10 batch");
}

TEST(CommandLine, GlobalOptionsStandBeforeOrAfterTheCommand) {
  const TestFolder folder;
  const Outcome before = run_qsim(folder, "--config pe4x4 --json - --quiet run --model conv_odd");
  const Outcome after = run_qsim(folder, "run --model conv_odd --quiet --json - --config=pe4x4");
  EXPECT_EQ(before.exit_code, 0) << before.err;
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_NE(before.out.find("\"name\": \"pe4x4\""), std::string::npos);
  EXPECT_NE(after.out.find("\"name\": \"pe4x4\""), std::string::npos);
}

TEST(CommandLine, NoCommandMeansRun) {
  const TestFolder folder;
  const Outcome outcome = run_qsim(folder, "--model conv_odd --quiet");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("0 mismatches"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace qsim
