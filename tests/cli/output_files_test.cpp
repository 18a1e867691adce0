// Outputs that are one file, or a file that is read: refused before anything is written.
#include "cli/terminal/output_files.h"

#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "cli/commands/commands.h"
#include "cli/commands/files_read.h"
#include "cli/terminal/output_folders.h"
#include "core/base/error.h"
#include "formats/traces/layer_trace.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace cli;
using namespace formats;
namespace {

namespace fs = std::filesystem;

constexpr const char* kNetwork =
    "name: small\nseed: 11\ninput: {shape: [1, 6, 5, 3], dtype: uint8}\nlayers:\n"
    "  - {op: conv2d, name: first, out_channels: 8, kernel: 3, pad: 1, relu: true}\n"
    "  - {op: flatten, name: flat}\n"
    "  - {op: fully_connected, name: last, out_features: 7}\n";

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() {
    folder_.write("n.yaml", kNetwork);
    folder_.write("c.yaml", "array_rows: 4\narray_cols: 4\n");
    folder_.write("d/keep", "");
    folder_.write("v/summary.json", "");
  }

  // Every file with its content, links by where they lead.
  std::string everything() const {
    std::set<std::string> lines;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      const bool is_file = entry.is_regular_file();
      lines.insert(entry.path().string() + ": " + (is_file ? read_file(entry.path()) : ""));
    }
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  void expect_refused(const std::string& arguments, const std::string& message) {
    const std::string before = everything();
    expect_error(folder_, arguments, 2, message);
    EXPECT_EQ(everything(), before) << arguments;
  }
  void expect_taken(const std::string& arguments) {
    const Outcome outcome = run_qsim(folder_, arguments + " --quiet");
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  }

  TestFolder folder_;
};

TEST_F(OutputFiles, OfTwoOptionsAreNotOneFile) {
  const std::string both = " would both write '";
  expect_refused("compile --model n.yaml --out same --json same",
                 "--json and --out" + both + "same'");
  expect_refused("compile --model n.yaml --out ./same --json d/../same", "--json and --out" + both);
  expect_refused("run --model n.yaml --engine rtl --trace t --json t", "--json and --trace" + both);
  expect_refused("run --model n.yaml --out o --json o", "--json and --out" + both + "o'");
  expect_refused("run --model n.yaml --out o/p --json o", "--json and --out" + both + "o'");
  for (const char* name : {"config.yaml", "run.json", "layers.csv", "output.npy", "output_q.npy"}) {
    expect_refused(std::string("run --model n.yaml --out d --json d/") + name,
                   "--json and --out" + both + "d/" + name);
  }
  expect_refused("run --model n.yaml --dump-layers d --json d/trace.yaml",
                 "--json and --dump-layers");
  expect_refused("run --model n.yaml --dump-layers d --json d/0_first.bias.npy", "--dump-layers");
  expect_refused("golden run --model n.yaml --out d --json d/output.npy",
                 "--json and --out" + both);
  for (const char* name : {"manifest.json", "load.npy", "store_times.hex", "layer1.npy"}) {
    expect_refused(std::string("export-vectors --model n.yaml --out d --json d/") + name,
                   "--json and --out" + both + "d/" + name);
  }
}

TEST_F(OutputFiles, OfTwoOptionsAreNotOneFileByLinks) {
  folder_.write("old", "old");
  fs::create_symlink("old", folder_ / "soft");
  fs::create_hard_link(folder_ / "old", folder_ / "hard");
  fs::create_directory_symlink("d", folder_ / "e");
  for (const char* other : {"soft", "hard", "d/../old", "e/../old"}) {
    expect_refused(std::string("compile --model n.yaml --out old --json ") + other,
                   "--json and --out would both write");
  }
  // A link whose target is not there yet.
  fs::create_symlink("new", folder_ / "dangling");
  expect_refused("compile --model n.yaml --out new --json dangling", "would both write");
  expect_refused("compile --model n.yaml --out dangling --json new", "would both write");
  expect_refused("run --model n.yaml --out e --json d/run.json", "both write 'd/run.json'");
  // A link inside the folder is followed when its file is written.
  fs::create_symlink("../old", folder_ / "d" / "output.npy");
  expect_refused("run --model n.yaml --out d --json old",
                 "--json and --out would both write 'old'");
  fs::remove(folder_ / "d" / "output.npy");
  fs::create_symlink("config.yaml", folder_ / "d" / "layers.csv");
  folder_.write("d/config.yaml", "");
  expect_refused("run --model n.yaml --out d", "--out and --out would both write 'd/layers.csv'");
}

TEST_F(OutputFiles, AreNotTheConfigurationNorTheModel) {
  const std::string all[] = {"run", "verify", "compile", "golden run", "golden bench"};
  for (const std::string& command : all) {
    expect_refused(command + " --model n.yaml --json n.yaml",
                   "--json would overwrite 'n.yaml', the workload of this run");
    expect_refused(command + " --model n.yaml --config c.yaml --json ./c.yaml",
                   "--json would overwrite 'c.yaml', the configuration of this run");
  }
  for (const char* command : {"doctor", "golden info", "inspect n.yaml"}) {
    expect_refused(std::string(command) + " --config c.yaml --json d/../c.yaml",
                   "the configuration");
  }
  expect_refused("verify --seeds 1 --config c.yaml --json c.yaml", "the configuration");
  expect_refused("inspect n.yaml --json n.yaml",
                 "--json would overwrite 'n.yaml', the inspected file of this run");
  expect_refused("inspect c.yaml --json c.yaml",
                 "--json would overwrite 'c.yaml', the inspected file of this run");
  expect_refused("compile --model n.yaml --out n.yaml", "--out would overwrite 'n.yaml'");
  expect_refused("run --engine rtl --model n.yaml --trace n.yaml", "--trace would overwrite");
  fs::rename(folder_ / "c.yaml", folder_ / "d" / "config.yaml");
  expect_refused("run --model n.yaml --config d/config.yaml --out d",
                 "--out would overwrite 'd/config.yaml', the configuration of this run");
  expect_refused("export-vectors --model n.yaml --config d/config.yaml --out d",
                 "the configuration");
}

TEST_F(OutputFiles, AreNotTheOnnxModelItsSidecarOrItsInput) {
  const fs::path model = source_folder() / "models/vgg8-cifar10";
  fs::copy_file(model / "vgg8-int8.onnx", folder_ / "m.onnx");
  fs::copy_file(model / "vgg8-int8.yaml", folder_ / "m.yaml");
  const fs::path picture = source_folder() / "models/pictures/chelsea-32x32.png";
  fs::copy_file(picture, folder_ / "p.png");
  fs::create_hard_link(folder_ / "m.onnx", folder_ / "hard");
  const std::string model_and_input = " --model m.onnx --input p.png";
  for (const std::string command : {"run", "verify", "golden run"}) {
    const std::string words = command + model_and_input;
    expect_refused(words + " --json m.onnx", "--json would overwrite 'm.onnx', the model of");
    expect_refused(words + " --json hard", "--json would overwrite 'm.onnx', the model of");
    expect_refused(words + " --json m.yaml", "would overwrite 'm.yaml', the model's sidecar of");
    expect_refused(words + " --json ./p.png", "--json would overwrite 'p.png', the input of");
  }
  fs::create_symlink("../p.png", folder_ / "d" / "output.npy");
  for (const std::string command : {"run", "golden run"}) {
    expect_refused(command + model_and_input + " --out d", "--out would overwrite 'p.png'");
  }
}

TEST_F(OutputFiles, AreNotTheExternalDataOfAModel) {
  const std::string script =
      "/usr/bin/python3 -c 'import sys, onnx; "
      "onnx.save_model(onnx.load(sys.argv[1]), sys.argv[2], save_as_external_data=True, "
      "location=\"w.bin\", size_threshold=0)' ";
  const std::string from = (source_folder() / "models/vgg8-cifar10/vgg8-int8.onnx").string();
  // ./dev test installs python3-onnx.
  ASSERT_EQ(std::system((script + from + " " + (folder_ / "m.onnx").string()).c_str()), 0);
  ASSERT_TRUE(fs::exists(folder_ / "w.bin"));
  expect_refused("run --model m.onnx --input chelsea-32x32 --json w.bin",
                 "--json would overwrite 'w.bin', the model's external data of this run");
  expect_refused("compile --model ./m.onnx --out d/../w.bin", "the model's external data");
}

TEST_F(OutputFiles, AreNotTheLayerTraceThatIsRead) {
  expect_taken("run --model n.yaml --dump-layers t");
  const std::string before = everything();
  for (const char* command : {"run --dump-layers t/", "run --out t", "golden run --out d/../t",
                              "export-vectors --out ./t", "run --json t/trace.yaml",
                              "verify --json t/input.npy", "compile --out t/0_first.bias.npy"}) {
    expect_refused(std::string(command) + " --model t", "would overwrite 't");
  }
  expect_error(folder_, "export-vectors --out ./t --model n.yaml", 3, "./t: holds a layer trace");
  EXPECT_EQ(everything(), before);
  expect_taken("verify --model t --json t/result.json");
  expect_taken("verify --model t --json t/result.json");
}

TEST_F(OutputFiles, OfTwoFoldersOneMayBeInsideTheOtherButNotInThePlaceOfAFile) {
  expect_taken("run --model n.yaml --out o/inside --dump-layers o");
  expect_taken("run --model n.yaml --out p --dump-layers p/inside");
  for (const char* whole :
       {"o/trace.yaml", "o/inside/run.json", "p/run.json", "p/inside/trace.yaml"}) {
    EXPECT_TRUE(fs::exists(folder_ / whole)) << whole;
  }
  expect_taken("verify --model o");
  expect_refused("run --model n.yaml --out d/trace.yaml --dump-layers d",
                 "--dump-layers and --out would both write 'd/trace.yaml'; give each its own");
  expect_refused("run --model n.yaml --out d/0_a.bias.npy/x --dump-layers ./d",
                 "--dump-layers and --out would both write './d/0_a.bias.npy'");
  expect_refused("run --model n.yaml --out d --dump-layers d/run.json/x",
                 "--out and --dump-layers would both write 'd/run.json'");
}

TEST_F(OutputFiles, AreTakenBesideEachOther) {
  expect_taken("run --model n.yaml --config c.yaml --out d --dump-layers d --json d/result.json");
  expect_taken("run --model n.yaml --config c.yaml --out d --dump-layers d --json d/result.json");
  expect_taken("run --model n.yaml --out d --json /dev/null");
  expect_taken("compile --model n.yaml --out /dev/null --json /dev/null");
  expect_taken("export-vectors --model n.yaml --out v --json v/summary.json");
  // Every file that a folder gets is one that the check knows.
  for (const auto& entry : fs::directory_iterator(folder_ / "v")) {
    const std::string name = entry.path().filename().string();
    EXPECT_NE(is_vector_file(name), name == "summary.json") << name;
  }
  for (const auto& entry : fs::directory_iterator(folder_ / "d")) {
    const std::string name = entry.path().filename().string();
    const bool is_mine = name == "keep" || name == "result.json";
    EXPECT_EQ(is_run_file(name) + is_layer_trace_file(name) + is_mine, 1) << name;
  }
  for (const char* name :
       {"layer.npy", "layer1.hex", "layerx.npy", "load.txt", "x.npy", "times.hex", ""}) {
    EXPECT_FALSE(is_vector_file(name)) << name;
  }
  for (const char* name : {"first.bias.npy", "0.bias.npy", "0_x.npy", "1_a.json", "x.npy", ""}) {
    EXPECT_FALSE(is_layer_trace_file(name)) << name;
  }
}

// The options of all commands whose value is not a file's name, though any text could be one.
bool is_word(const std::string& option) {
  static const std::set<std::string> kWords = {"--fail-if",  // conditions_test.cpp
                                               "--layers",   // a pattern, but a file of `quantize`
                                               "--layer",   "--trace-window", "--trace-layers",
                                               "--set",     "--shape",        "--percentile",
                                               "--range",   "--sizes",        "--only"};
  return kWords.contains(option);
}

// Gives the option a value; false where it does not take that value.
bool give(OptionRow& row, const std::string& value) {
  if (row.is_flag || (row.refusal && !row.refusal(value).empty())) return false;
  try {
    row.take({value});
  } catch (const Error&) {
    return false;
  }
  row.count = 1;
  row.values = {value};
  return true;
}

void take_back(OptionRow& row) {
  row.count = 0;
  row.values.clear();
}

bool has_file(const std::vector<ReadFile>& files, const std::string& file) {
  return std::any_of(files.begin(), files.end(),
                     [&](const ReadFile& read) { return read.path == file; });
}

bool is_refused(const Declarations& declared, const std::vector<ReadFile>& files) {
  try {
    require_kept(named_outputs(declared), files);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return true;
  }
}

// An option that names a file, and whose declaration does not say what it does with it, is neither.
TEST_F(OutputFiles, OfEveryOptionOfEveryCommandAreRefusedInThePlaceOfEveryInput) {
  const std::string file = folder_.write("f.npy", "what is read");
  int pairs = 0;
  for (const CommandRow* command : commands()) {
    Declarations declared;
    const Steps steps = command->declare(declared);  // has the options
    std::vector<OptionRow*> inputs;
    std::vector<OptionRow*> outputs;
    for (OptionRow& row : declared.rows()) {
      const bool is_file_of_layers = std::string(command->name) == "quantize";
      if (is_word(row.name) && !(row.name == "--layers" && is_file_of_layers)) continue;
      if (!give(row, file)) continue;
      const bool is_input = has_file(files_read(declared), file);
      const bool is_output = is_refused(declared, {{file, "it"}});
      EXPECT_NE(is_input, is_output) << command->name << ", " << row.name;
      if (is_input) inputs.push_back(&row);
      if (is_output) outputs.push_back(&row);
      take_back(row);
    }
    for (OptionRow* input : inputs) {
      for (OptionRow* output : outputs) {
        give(*input, file);
        give(*output, file);
        EXPECT_TRUE(is_refused(declared, files_read(declared)))
            << input->name << ", " << output->name;
        take_back(*input);
        take_back(*output);
        ++pairs;
      }
    }
  }
  EXPECT_GT(pairs, 100);
}

TEST_F(OutputFiles, AreNotWhatSchemesAbcAndEvalRead) {
  const fs::path models = source_folder() / "models/vgg8-cifar10";
  for (const auto& entry : fs::directory_iterator(models)) {
    fs::copy_file(entry.path(), folder_ / entry.path().filename().string());
  }
  folder_.write("c.bin", "");
  folder_.write("x.npy", "");
  folder_.write("x.labels.npy", "");
  folder_.write("d/p.png", "");
  const std::string net = "vgg8-float.onnx";
  const std::string schemes = "schemes --model " + net + " --calibrate c.bin --data d --csv ";
  expect_refused(schemes + net, "--csv would overwrite '" + net + "', the model of");
  expect_refused(schemes + "vgg8-float.yaml", "the model's sidecar of");
  expect_refused(schemes + "vgg8-float.data.2", "the model's external data of");
  expect_refused(schemes + "c.bin", "a picture of");
  expect_refused(schemes + "d/p.png", "the pictures of");
  expect_refused("golden abc --weights " + net + " --json ./vgg8-float.data.1", "external data");
  expect_refused("eval --model " + net + " --data x.npy --json x.labels.npy",
                 "--json would overwrite 'x.labels.npy', the pictures' labels of");
  expect_refused(
      "eval --model vgg8-int8.onnx --float " + net + " --data x.npy --json vgg8-float.data.0",
      "external data");
  fs::create_symlink("vgg8-float.data.3", folder_ / "link");
  expect_refused("quantize " + net + " --calibrate c.bin -o q.onnx --report link",
                 "--report would overwrite");
  expect_refused(
      "run --model " + net + " --report " +
          fs::canonical(fs::path(QSIM_EXECUTABLE).parent_path() / "charts/vega.js").string(),
      "the chart library of");
}

TEST_F(OutputFiles, AreNotMixedOnStandardOutput) {
  const std::string schemes = "schemes --model m.onnx --calibrate c.bin --data d ";
  expect_error(folder_, schemes + "--csv - --json -", 2,
               "--json - and --csv - cannot both write to stdout; give one of them a file");
  const auto refused = [&](const std::string& arguments, const std::string& after) {
    run_qsim(folder_, arguments + " 2> err " + after + "; exit $?; true");
    EXPECT_NE(read_file(folder_ / "err").find("--json and standard output would both write"),
              std::string::npos)
        << arguments;
  };
  refused("doctor --json x > x", "");
  refused("doctor --json y >> ./d/../y", "");
  refused("doctor --json /dev/stdout > z", "");
  refused("doctor --json /dev/stdout", "| cat > z");
  const Outcome one = run_qsim(folder_, "doctor --json - > z; exit $?; true");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(read_file(folder_ / "z").front(), '{');
}

}  // namespace
}  // namespace qsim
