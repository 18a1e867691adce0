// What a user can get wrong with files: each case by its message and exit code, and nothing
// half-written is left.
#include <cstdlib>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/run_qsim.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

std::string shipped_model() {
  return read_file(source_folder() / "models/vgg8-cifar10/vgg8-int8.onnx");
}

std::size_t entries_of(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Errors, NameThatIsNotShippedSaysWhatWasSearchedAndTheNearestOne) {
  const TestFolder folder;
  expect_error(folder, "--config pe16x61", 3, "did you mean 'pe16x16'?");
  expect_error(folder, "--model vgg61", 3, "did you mean 'vgg11'?");
  expect_error(folder, "--input chelsea", 3, "searched: ./chelsea, ");
  expect_error(folder, "--config pe16x61", 3, (source_folder() / "configs").string());
}

TEST(Errors, NameInAConfigIsReportedWithTheConfig) {
  const TestFolder folder;
  folder.write("mine.yaml", "model: vgg61\n");
  expect_error(folder, "--config mine.yaml", 3, "config 'mine': model 'vgg61' not found");
  folder.write("mine.yaml", "input: dog\n");
  expect_error(folder, "--config mine.yaml", 3, "config 'mine': input 'dog' not found");
}

TEST(Errors, FolderThatIsNoTraceIsSaidToBeOne) {
  const TestFolder folder;
  fs::create_directory(folder / "d");
  expect_error(folder, "--model d", 3, "./d (a folder without trace.yaml)");
  const Outcome outcome = run_qsim(folder, "--model d");
  EXPECT_EQ(outcome.err.find("did you mean"), std::string::npos) << outcome.err;
}

TEST(Errors, InspectSearchesConfigsAndModels) {
  const TestFolder folder;
  expect_error(folder, "inspect pe16x61", 3, "did you mean 'pe16x16'?");
  expect_error(folder, "inspect vgg61", 3, "did you mean 'vgg11'?");
}

TEST(Errors, InspectSaysOfATextThatIsNoProgramWhatItExpects) {
  const TestFolder folder;
  folder.write("notes.md", "# Notes\n");
  folder.write("empty", "");
  folder.write("config.yaml", "array_rows:4\n");
  const std::string expected =
      ":1:1: found text that is not a program; expected 'program NAME' in the first line, as "
      "`qsim compile --out FILE` writes it\n";
  expect_error(folder, "inspect notes.md", 3, "notes.md" + expected);
  expect_error(folder, "inspect empty", 3, "empty" + expected);
  expect_error(
      folder, "inspect config.yaml", 3,
      "config.yaml:1:1: found a single value; expected a map with the keys name, array_rows");
}

TEST(Errors, MissingFilesAreNamed) {
  const TestFolder folder;
  expect_error(folder, "--config ./none.yaml", 3, "./none.yaml: cannot be read: no such file");
  expect_error(folder, "--model ./none.onnx", 3, "./none.onnx: cannot be read: no such file");
  expect_error(folder, "--input ./none.png", 3, "./none.png: cannot be read: no such file");
  expect_error(folder, "inspect ./none.qprog", 3, "./none.qprog: cannot be read: no such file");
}

TEST(Errors, ConfigErrorsSayWhereAndWhatIsAllowed) {
  const TestFolder folder;
  folder.write("unknown.yaml", "array_rows: 16\narray_colls: 16\n");
  expect_error(folder, "--config unknown.yaml", 3,
               "unknown.yaml:2:1: unknown key 'array_colls'; did you mean 'array_cols'?");
  folder.write("twice.yaml", "array_rows: 16\narray_rows: 8\n");
  expect_error(folder, "--config twice.yaml", 3,
               "twice.yaml:2:1: duplicate key 'array_rows'; the first is in line 1");
  folder.write("range.yaml", "array_rows: 12\n");
  expect_error(folder, "--config range.yaml", 3, "a power of two from 4 to 256");
  folder.write("large.yaml", "array_rows: 512\n");
  expect_error(folder, "--config large.yaml", 3, "allowed: a power of two from 4 to 256");
  folder.write("quoted.yaml", "array_rows: \"16\"\n");
  expect_error(folder, "--config quoted.yaml", 3,
               "quoted.yaml:1:13: array_rows: found '16' in quotes; expected an integer");
  folder.write("empty.yaml", "");
  expect_error(folder, "--config empty.yaml", 3, "empty.yaml");
}

TEST(Errors, GitLfsPointerIsRecognised) {
  const TestFolder folder;
  folder.write("model.onnx",
               "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n");
  expect_error(folder, "--model model.onnx --input chelsea-32x32", 3, "git-LFS pointer");
}

TEST(Errors, TruncatedModelAndPictureAreRefused) {
  const TestFolder folder;
  const std::string model = shipped_model();
  folder.write("model.onnx", model.substr(0, model.size() / 2));
  expect_error(folder, "--model model.onnx --input chelsea-32x32", 3, "model.onnx");
  const std::string picture = read_file(source_folder() / "models/pictures/chelsea-32x32.png");
  folder.write("picture.png", picture.substr(0, picture.size() / 2));
  expect_error(folder, "--input picture.png", 3, "picture.png");
  folder.write("batch.bin", std::string(3000, 'x'));
  expect_error(folder, "--input batch.bin", 3, "batch.bin");
  folder.write("input.npy", "\x93NUMPY");
  expect_error(folder, "--input input.npy", 3, "input.npy");
}

TEST(Errors, UnsupportedOperatorIsRefusedByItsNodesName) {
  const TestFolder folder;
  folder.write("model.onnx", replaced(shipped_model(), "MaxPool", "MinPool"));
  expect_error(folder, "--model model.onnx --input chelsea-32x32", 4, "MinPool");
}

TEST(Errors, LayerWhoseSmallestTileDoesNotFitIsNamed) {
  const TestFolder folder;
  folder.write("tiny.yaml",
               "array_rows: 64\narray_cols: 64\nweight_scratchpad_kib: 16\naccumulator_kib: 1\n"
               "output_scratchpad_kib: 1\n");
  folder.write("pooled.yaml",
               "name: pooled\nseed: 1\ninput: {shape: [1, 9, 9, 64], dtype: int8}\nlayers:\n"
               "  - {op: conv2d, name: pooled_one, out_channels: 4, kernel: 3, pad: 1}\n"
               "  - {op: max_pool, name: pool, kernel: 3}\n");
  expect_error(folder, "--config tiny.yaml --model pooled.yaml", 4,
               "pooled.yaml:5:5: layer 'pooled_one': its smallest tile does not fit config 'tiny'");
}

TEST(Errors, PictureForAModelWithoutPreprocessingIsRefused) {
  const TestFolder folder;
  expect_error(folder, "--model conv_odd --input chelsea-32x32", 3, "a .npy as --input");
  folder.write("model.onnx", shipped_model());
  expect_error(folder, "--model model.onnx --input chelsea-32x32", 3, "model.yaml beside it");
  expect_error(folder, "--model model.onnx", 2, "needs an --input");
}

TEST(Errors, LabelsThatAreNotAsManyAsTheOutputsAreRefused) {
  const TestFolder folder;
  folder.write("model.onnx", shipped_model());
  const std::string sidecar = read_file(source_folder() / "models/vgg8-cifar10/vgg8-int8.yaml");
  folder.write("model.yaml", replaced(sidecar, ", truck", ""));
  expect_error(folder, "--model model.onnx --input chelsea-32x32", 3,
               "model.yaml: 9 labels; expected 10, one for each output of the model");
}

// What starts qsim as a user who is not root; nothing where there is no other.
std::optional<std::string> as_ordinary_user() {
  if (geteuid() != 0) return "";
  if (std::system("setpriv --reuid=65534 --clear-groups true 2>/dev/null") != 0) return {};
  return "setpriv --reuid=65534 --clear-groups";
}

TEST(Errors, UnreadableModelSaysNoPermission) {
  const TestFolder folder;
  const std::string model = folder.write("model.onnx", "x");
  fs::permissions(model, fs::perms::none);
  fs::permissions(folder.path(), fs::perms::all);
  const std::optional<std::string> prefix = as_ordinary_user();
  if (!prefix) GTEST_SKIP() << "skipped: runs as root and cannot become another user";
  expect_error(folder, "--model model.onnx --input chelsea-32x32", 3, "no permission", *prefix);
}

// The kind of the file does not matter: nobody can know even whether it is there.
TEST(Errors, AFileInAFolderThatMayNotBeEnteredIsBadInputOfEveryCommand) {
  const TestFolder folder;
  for (const char* name : {"model.onnx", "n.yaml", "net.csv", "p.qprog", "x.npy", "b.bin", "p.png",
                           "r.json", "t/trace.yaml"}) {
    folder.write(std::string("d/") + name, "x");
  }
  folder.write("n.yaml",
               "name: n\ninput: {shape: [1, 4, 4, 4], dtype: uint8}\n"
               "layers: [{op: relu, name: r}]\n");
  fs::permissions(folder / "d", fs::perms::none);
  fs::permissions(folder.path(), fs::perms::all);
  const std::optional<std::string> prefix = as_ordinary_user();
  if (!prefix) GTEST_SKIP() << "skipped: runs as root and cannot become another user";
  for (const char* arguments : {"inspect d/model.onnx",
                                "inspect d/n.yaml",
                                "inspect d/net.csv",
                                "inspect d/p.qprog",
                                "inspect d/t",
                                "run --model d/model.onnx",
                                "run --model d/n.yaml",
                                "run --model d/t",
                                "run --model d/net.csv",
                                "run --config d/n.yaml",
                                "run --model n.yaml --input d/x.npy",
                                "compile --model n.yaml --mapping d/n.yaml",
                                "compile --model n.yaml --out d/p.qprog",
                                "run --model n.yaml --energy d/n.yaml",
                                "run --model n.yaml --fail-if 'cycles>d/r.json'",
                                "run --model n.yaml --out d/t",
                                "run --model n.yaml --dump-layers d/t",
                                "profile --model d/n.yaml",
                                "profile --model n.yaml --resume d/r.json",
                                "profile --model n.yaml --csv d/r.csv",
                                "compare d/r.json d/r.json",
                                "eval --model d/model.onnx --data d/b.bin",
                                "eval --data d/b.bin",
                                "eval --data d/x.npy",
                                "eval --data d/p.png",
                                "eval --data d",
                                "golden run --input d/p.png",
                                "golden run --input d/b.bin --json d/r.json",
                                "golden abc --weights d/x.npy",
                                "golden convert --input d/x.npy",
                                "golden linear --w d/x.npy",
                                "golden linear --x d/x.npy",
                                "golden quantize --w d/x.npy",
                                "golden bench --model d/model.onnx",
                                "quantize d/model.onnx --calibrate d -o q.onnx",
                                "schemes --model d/model.onnx --calibrate d --data d",
                                "doctor --json d/r.json",
                                "export-vectors --model n.yaml --out d/v"}) {
    const Outcome outcome = run_qsim(folder, arguments, *prefix);
    EXPECT_EQ(outcome.exit_code, 3) << arguments << "\n" << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("qsim: error: ")) << arguments << "\n" << outcome.err;
  }
  fs::permissions(folder / "d", fs::perms::owner_all);
}

TEST(Errors, FullDiskIsAnErrorWhereverTheOutputGoes) {
  const TestFolder folder;
  const Outcome json = run_qsim(folder, "doctor --json /dev/full");
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_NE(json.err.find("/dev/full: cannot be written: the disk is full"), std::string::npos)
      << json.err;
  const Outcome table = run_qsim(folder, "doctor --quiet >/dev/full; exit $?; true");
  EXPECT_EQ(table.exit_code, 3);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(Errors, OutputThatCannotBeWrittenLeavesNothingBehind) {
  const TestFolder folder;
  expect_error(folder, "compile --model conv_odd --out none/program.qprog", 3, "no such folder");
  folder.write("file", "kept");
  expect_error(folder, "--model conv_odd --out file", 3, "file");
  expect_error(folder, "--model conv_odd --out file/deeper", 3, "file/deeper");
  EXPECT_EQ(entries_of(folder.path()), 1u);
  EXPECT_EQ(read_file(folder / "file"), "kept");
}

// expect_error sees an empty stdout: the error comes before the run.
TEST(Errors, OutputsThatCannotBeWrittenAreFoundBeforeTheRun) {
  const TestFolder folder;
  fs::create_directory(folder / "d");
  expect_error(folder, "--json d", 3, "d: cannot be written: is a directory");
  expect_error(folder, "--json none/r.json", 3, "none/r.json: cannot be written: no such folder");
  folder.write("file", "kept");
  expect_error(folder, "--json file/r.json", 3, "a part of the path is a file");
  expect_error(folder, "--out file", 3, "file: is a file; expected a folder");
  const std::string device = "/dev/full: is a device or a pipe; expected a folder";
  expect_error(folder, "--out /dev/full", 3, device);
  expect_error(folder, "--dump-layers /dev/full", 3, device);
  EXPECT_EQ(entries_of(folder.path()), 2u);
  EXPECT_EQ(entries_of(folder / "d"), 0u);
}

TEST(Errors, ADeletedFolderIsSaidToBeOne) {
  const TestFolder folder;
  const auto in_deleted = [&](const std::string& arguments) {
    fs::create_directory(folder / "deleted");
    return run_qsim(folder, arguments, "cd deleted && rmdir ../deleted &&").err;
  };
  EXPECT_EQ(in_deleted("run --json r.json"),
            "qsim: error: r.json: cannot be written: its folder was deleted\n");
  EXPECT_EQ(in_deleted("compile --model fc --out p"),
            "qsim: error: p: cannot be written: its folder was deleted\n");
  const std::string made = "qsim: error: r: cannot be made: the current folder was deleted\n";
  EXPECT_EQ(in_deleted("run --model fc --out r"), made);
  // Two outputs are compared before one of them is made.
  EXPECT_EQ(in_deleted("run --model fc --out r --dump-layers r"), made);
  EXPECT_EQ(in_deleted("run --model fc --out r --json j"),
            "qsim: error: j: cannot be written: its folder was deleted\n");
  EXPECT_EQ(in_deleted("run --model fc --out r --json r"),
            "qsim: error: --json and --out would both write 'r'; give each its own file\n");
}

TEST(Errors, InputThatIsNotFiniteNamesItsFile) {
  const TestFolder folder;
  std::string npy("\x93NUMPY\x01\x00", 8);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }";
  header.resize(117, ' ');
  header += '\n';
  npy += std::string("\x76\x00", 2) + header + std::string(3072 * 4, '\xff');
  folder.write("nan.npy", npy);
  expect_error(folder, "--input nan.npy", 3, "nan.npy: element 0 is not a finite number");
}

TEST(Errors, FolderOfAnErrorGoesUnlessItWasThereBefore) {
  const TestFolder folder;
  const std::string commands[] = {"golden run --model nope", "run --model nope",
                                  "export-vectors --model nope"};
  for (const std::string& command : commands) {
    expect_error(folder, command + " --out new/deep", 3, "'nope' not found");
    EXPECT_FALSE(fs::exists(folder / "new")) << command;
    fs::create_directories(folder / "old");
    expect_error(folder, command + " --out old/deep", 3, "'nope' not found");
    EXPECT_FALSE(fs::exists(folder / "old/deep")) << command;
    expect_error(folder, command + " --out old", 3, "'nope' not found");
    EXPECT_TRUE(fs::exists(folder / "old")) << command;
  }
  expect_error(folder, "run --model nope --dump-layers trace", 3, "'nope' not found");
  EXPECT_FALSE(fs::exists(folder / "trace"));
}

}  // namespace
}  // namespace qsim
