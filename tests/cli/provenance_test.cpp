// Provenance is of the files as they were read: what happens to them during a run is nothing to it.
#include "cli/session/provenance.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/session/file_hash.h"
#include "tests/cli/run_qsim.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

// Files of a run that are the test's own.
struct Files {
  TestFolder folder;
  Options options;

  Files() {
    for (const char* name :
         {"configs/pe4x4.yaml", "models/workloads/conv3x3.yaml",
          "models/vgg8-cifar10/vgg8-int8.onnx", "models/vgg8-cifar10/vgg8-int8.yaml",
          "models/pictures/chelsea-32x32.png"}) {
      const fs::path file = source_folder() / name;
      fs::copy_file(file, folder / file.filename().string());
    }
    options.config = path("pe4x4.yaml");
    options.json = "-";
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  Network read() const {
    GoldenSelection golden("", "cpu", [](const std::string&) {});
    return import_network(options, load_config(options), golden);
  }
};

void replace(const std::string& path) {
  const std::string other = path + ".other";
  fs::copy_file(path, other);
  fs::resize_file(other, fs::file_size(other) / 2);
  fs::rename(other, path);
}

// Also the time of change of the file that is still held.
void hide(const std::string& path) { ASSERT_EQ(::chmod(path.c_str(), 0600), 0); }

void write_over(const std::string& path) { fs::resize_file(path, 1); }

void remove(const std::string& path) { fs::remove(path); }

void rename_away(const std::string& path) { fs::rename(path, path + ".away"); }

TEST(Provenance, IsOfTheFilesThatWereReadWhateverHappensToThemMeanwhile) {
  for (const char* model : {"vgg8-int8.onnx", "conv3x3.yaml"}) {
    for (const auto happens : {replace, hide, write_over, remove, rename_away}) {
      Files files;
      files.options.model = files.path(model);
      const bool has_input = files.options.model.ends_with(".onnx");
      if (has_input) files.options.input = files.path("chelsea-32x32.png");
      const std::string config = file_hash(files.options.config);
      const std::string hash = file_hash(files.options.model);
      const std::string input = has_input ? file_hash(files.options.input) : "";
      const Network network = files.read();
      happens(files.options.config);
      happens(files.options.model);
      if (has_input) happens(files.options.input);
      const Provenance provenance = provenance_of({"qsim"}, files.options, network);
      EXPECT_EQ(provenance.config_hash, config);
      EXPECT_EQ(provenance.model_hash, hash);
      EXPECT_EQ(provenance.input_hash, input);
      EXPECT_EQ(hash.substr(0, 8), "fnv1a64:");
    }
  }
}

// A model of hundreds of megabytes takes its time.
TEST(Provenance, HasNoHashesWhereNothingSaysThem) {
  Files files;
  files.options.model = files.path("conv3x3.yaml");
  files.options.json = "";
  EXPECT_EQ(files.read().hashes.model, "");
  EXPECT_EQ(files.read().hashes.config, "");
  files.options.out = files.path("out");
  EXPECT_EQ(files.read().hashes.model, file_hash(files.options.model));
}

}  // namespace
}  // namespace qsim
