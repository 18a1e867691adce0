// What is imported is one file as it was when it was opened, whatever happens to its name.
#include <fstream>
#include <type_traits>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "tests/importer/model_builder.h"
#include "tests/importer/random_graphs.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;

// raw_data is found by where it is in this object's proto.
static_assert(!std::is_copy_constructible_v<ModelFile> && !std::is_move_constructible_v<ModelFile>);

TestModel model_of(char weight) {
  TestModel model;
  model.set_constant("w", onnx::TensorProto::INT8, {3, 2, 3, 3}, std::string(54, weight));
  return model;
}

ImportError error_of(const std::shared_ptr<const HeldFile>& held) {
  try {
    import_onnx(held);
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

TEST(ReplacedModel, TheFileThatWasOpenedIsImported) {
  const TestFolder folder;
  const fs::path path = folder / "model.onnx";
  model_of('\1').save(path);
  model_of('\2').save(folder / "other.onnx");
  const auto held = std::make_shared<const HeldFile>(path);
  const Graph expected = import_onnx(held);
  fs::rename(folder / "other.onnx", path);
  EXPECT_NE(difference(import_onnx(path), expected), "");
  EXPECT_EQ(difference(import_onnx(held), expected), "");
}

TEST(ReplacedModel, AFileThatIsWrittenToMeanwhileIsAnError) {
  const TestFolder folder;
  const fs::path path = folder / "model.onnx";
  model_of('\1').save(path);
  const auto held = std::make_shared<const HeldFile>(path);
  const fs::file_time_type before = fs::last_write_time(path);
  const ImportError changed{
      ExitCode::kBadInput,
      path.string() + ": was changed while it was read; run qsim again when nothing writes to it"};
  EXPECT_EQ(error_of(held), ImportError{});
  fs::last_write_time(path, before + std::chrono::seconds(1));
  EXPECT_EQ(error_of(held), changed);
  // As `cp -p` leaves it: the time of writing says nothing, that of change does.
  model_of('\2').save(path);
  fs::last_write_time(path, before);
  EXPECT_EQ(error_of(held), changed);
}

TEST(ReplacedModel, APipeIsRefusedAndNotWaitedFor) {
  const TestFolder folder;
  const fs::path path = folder / "model.onnx";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(import_error(path), (ImportError{ExitCode::kBadInput, "is a pipe; expected a file"}));
}

}  // namespace
}  // namespace qsim
