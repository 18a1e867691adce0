// External data that this user may not read.
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/importer/model_builder.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

TEST(ExternalData, ThatMayNotBeReadIsNamed) {
  const TestFolder folder;
  TestModel model;
  onnx::TensorProto& weights = model.constant("w");
  weights.clear_raw_data();
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *weights.add_external_data();
  location.set_key("location");
  location.set_value("w.bin");
  model.save(folder / "model.onnx");
  write_text(folder / "w.bin", std::string(54, 'a'));
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder / "model.onnx", fs::perms::all);
  fs::permissions(folder / "w.bin", fs::perms::none);
  const bool is_root = geteuid() == 0;
  if (is_root && seteuid(65534) != 0) GTEST_SKIP() << "skipped: root cannot become another user";
  const ImportError error = import_error(folder / "model.onnx");
  ASSERT_EQ(seteuid(getuid()), 0);
  EXPECT_EQ(error,
            (ImportError{ExitCode::kBadInput,
                         "node 'conv' (QLinearConv): w 'w': external data file '" +
                             (folder / "w.bin").string() + "' cannot be read: no permission"}));
}

}  // namespace
}  // namespace qsim
