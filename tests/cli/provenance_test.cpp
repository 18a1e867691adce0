// Provenance has the hashes of the files as they were read in the import phase.
#include <gtest/gtest.h>

#include "cli/session/inputs/file_hash.h"
#include "cli/session/inputs/model_source.h"
#include "cli/session/run/network.h"
#include "cli/session/run/run_options.h"
#include "tests/cli/run_qsim.h"

namespace qsim {

using namespace cli;
using namespace report;
namespace {

namespace fs = std::filesystem;

// Files of a run that are the test's own.
struct Files {
  TestFolder folder;
  RunCommandOptions options;
  OutputOptions outputs{"-", false};

  Files() {
    for (const char* name :
         {"configs/pe4x4.yaml", "models/workloads/conv3x3.yaml",
          "models/vgg8-cifar10/vgg8-int8.onnx", "models/vgg8-cifar10/vgg8-int8.yaml",
          "models/pictures/chelsea-32x32.png"}) {
      const fs::path file = source_folder() / name;
      fs::copy_file(file, folder / file.filename().string());
    }
    options.config = path("pe4x4.yaml");
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  Provenance read() const {
    GoldenSelection golden("", "cpu", [](const std::string&) {});
    static InterruptWatch& watch = *new InterruptWatch;  // its thread outlives every test
    Context context(outputs, {}, {"qsim"}, watch);
    const ImportRequest request{
        network_of(options), options,         options,
        need_of(options),    options.no_data, options.wants_hashes(context.has_json())};
    return import_network(context, request, load_config(options), golden).provenance;
  }
};

TEST(Provenance, HasTheHashOfEachFileThatWasRead) {
  for (const char* model : {"vgg8-int8.onnx", "conv3x3.yaml"}) {
    Files files;
    files.options.model = files.path(model);
    const bool has_input = files.options.model.ends_with(".onnx");
    if (has_input) files.options.input = files.path("chelsea-32x32.png");
    const Provenance provenance = files.read();
    EXPECT_EQ(provenance.config_hash, file_hash(files.options.config));
    EXPECT_EQ(provenance.model_hash, file_hash(files.options.model));
    EXPECT_EQ(provenance.input_hash, has_input ? file_hash(files.options.input) : "");
    EXPECT_EQ(provenance.model_hash.substr(0, 8), "fnv1a64:");
    EXPECT_EQ(provenance.model, files.options.model);
  }
}

// A model of hundreds of megabytes takes its time.
TEST(Provenance, HasNoHashesWhereNothingSaysThem) {
  Files files;
  files.options.model = files.path("conv3x3.yaml");
  files.outputs.json = "";
  EXPECT_EQ(files.read().model_hash, "");
  EXPECT_EQ(files.read().config_hash, "");
  files.options.out = files.path("out");
  EXPECT_EQ(files.read().model_hash, file_hash(files.options.model));
}

}  // namespace
}  // namespace qsim
