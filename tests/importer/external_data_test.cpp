// Tensor data in files beside the model: read from where it says, from nowhere else, and in full.
#include <gtest/gtest.h>

#include "formats/onnx/importer/onnx_importer.h"
#include "tests/importer/model_builder.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

// The weights of the test model moved to an external file.
TestModel model_with_external_weights(const std::string& location) {
  TestModel model;
  TensorProto& weights = model.constant("w");
  weights.clear_raw_data();
  weights.set_data_location(TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    auto& entry = *weights.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", location);
  add("offset", "8");
  add("length", "54");
  return model;
}

ImportError import_in(const TestFolder& folder, const TestModel& model) {
  fs::create_directories(folder / "model");
  model.save(folder / "model" / "model.onnx");
  return import_error(folder / "model" / "model.onnx");
}

TEST(ExternalData, MustLieBeneathTheModelsFolder) {
  const TestFolder folder;
  const std::string data(62, 'a');
  fs::create_directories(folder / "model" / "sub");
  write_text(folder / "outside.bin", data);
  write_text(folder / "model" / "sub" / "inside.bin", data);
  fs::create_symlink(folder / "outside.bin", folder / "model" / "leak.bin");
  fs::create_symlink("sub/inside.bin", folder / "model" / "link.bin");
  EXPECT_EQ(import_in(folder, model_with_external_weights("sub/inside.bin")), ImportError{});
  EXPECT_EQ(import_in(folder, model_with_external_weights("link.bin")), ImportError{});

  const std::string where = "node 'conv' (QLinearConv): w 'w': external data ";
  const auto expect = [&](const std::string& location, const std::string& message) {
    EXPECT_EQ(import_in(folder, model_with_external_weights(location)),
              (ImportError{ExitCode::kBadInput, where + message}));
  };
  const std::string beneath = "'; expected a path inside the model's folder, without '..'";
  const std::string absolute = (folder / "model" / "sub" / "inside.bin").string();
  expect(absolute, "location '" + absolute + beneath);
  expect("../outside.bin", "location '../outside.bin" + beneath);
  expect("sub/../../outside.bin", "location 'sub/../../outside.bin" + beneath);
  expect("", "location '" + beneath);
  expect("leak.bin",
         "location 'leak.bin' leads out of the model's folder; expected a file inside it");
  expect("sub", "location 'sub' is not a regular file");
  expect("none.bin",
         "file '" + (folder / "model" / "none.bin").string() + "' cannot be found: no such file");
}

TEST(ExternalData, MustBeAsLongAsTheTensor) {
  const TestFolder folder;
  fs::create_directories(folder / "model");
  const fs::path file = folder / "model" / "w.bin";
  write_text(file, std::string(61, 'a'));
  const std::string where = "node 'conv' (QLinearConv): w 'w': external data ";
  EXPECT_EQ(import_in(folder, model_with_external_weights("w.bin")),
            (ImportError{ExitCode::kBadInput, where + "file '" + file.string() +
                                                  "' has 61 bytes; expected 54 from offset 8"}));
  write_text(file, kLfsPointer);
  EXPECT_EQ(import_in(folder, model_with_external_weights("w.bin")),
            (ImportError{ExitCode::kBadInput,
                         file.string() +
                             ": is a git-LFS pointer, not the file itself; fetch it with `git lfs "
                             "pull`, or download the file"}));
  write_text(file, std::string(62, 'a'));
  TestModel model = model_with_external_weights("w.bin");
  model.constant("w").mutable_external_data(2)->set_value("53");
  EXPECT_EQ(import_in(folder, model),
            (ImportError{ExitCode::kBadInput, where + "of 53 bytes; expected 54"}));
  model.constant("w").mutable_external_data(1)->set_value("-8");
  EXPECT_EQ(
      import_in(folder, model),
      (ImportError{ExitCode::kBadInput, where + "offset is '-8'; expected a number of bytes"}));
  model.constant("w").mutable_external_data(1)->set_key("ofset");
  EXPECT_EQ(import_in(folder, model),
            (ImportError{ExitCode::kBadInput,
                         where + "has the key 'ofset'; expected location, offset, length, "
                                 "checksum"}));
}

// Sizes and offsets are judged before memory is taken for them.
TEST(ExternalData, DeclaredSizesAreHeldAgainstTheFile) {
  const TestFolder folder;
  fs::create_directories(folder / "model");
  const fs::path file = folder / "model" / "w.bin";
  write_text(file, std::string(62, 'a'));
  const std::string where = "node 'conv' (QLinearConv): w 'w': external data ";
  TestModel model = model_with_external_weights("w.bin");
  model.constant("w").mutable_external_data()->RemoveLast();
  model.constant("w").set_dims(0, std::int64_t{1} << 36);
  EXPECT_EQ(import_in(folder, model),
            (ImportError{ExitCode::kBadInput, where + "file '" + file.string() +
                                                  "' has 62 bytes; expected 1236950581248 from "
                                                  "offset 8"}));
  model.constant("w").set_dims(0, std::int64_t{1} << 62);
  const ImportError overflow = import_in(folder, model);
  EXPECT_EQ(overflow.code, ExitCode::kBadInput);
  EXPECT_EQ(overflow.message,
            "node 'conv' (QLinearConv): w 'w': size overflow: 4611686018427387904 x 2 does not fit "
            "64 bits");

  model = model_with_external_weights("w.bin");
  model.constant("w").mutable_external_data(1)->set_value("9223372036854775807");
  EXPECT_EQ(import_in(folder, model).message,
            where + "file '" + file.string() +
                "' has 62 bytes; expected 54 from offset 9223372036854775807");
  model.constant("w").mutable_external_data(1)->set_value("9");
  EXPECT_EQ(import_in(folder, model),
            (ImportError{ExitCode::kBadInput, where + "file '" + file.string() +
                                                  "' has 62 bytes; expected 54 from offset 9"}));
}

// A model may be a link. Its data must then lie in the link's folder, not beside the link's target.
TEST(ExternalData, OfAModelThatIsALinkLiesBesideTheLink) {
  const TestFolder folder;
  fs::create_directories(folder / "store");
  model_with_external_weights("w.bin").save(folder / "store" / "model.onnx");
  write_text(folder / "store" / "w.bin", std::string(62, 'a'));
  fs::create_directories(folder / "model");
  fs::create_symlink(folder / "store" / "model.onnx", folder / "model" / "model.onnx");
  const ImportError missing = import_error(folder / "model" / "model.onnx");
  EXPECT_NE(missing.message.find("cannot be found: no such file"), std::string::npos)
      << missing.message;
  fs::create_symlink("../store/w.bin", folder / "model" / "w.bin");
  const ImportError outside = import_error(folder / "model" / "model.onnx");
  EXPECT_NE(outside.message.find("leads out of the model's folder"), std::string::npos)
      << outside.message;
  fs::remove(folder / "model" / "w.bin");
  write_text(folder / "model" / "w.bin", std::string(62, 'a'));
  EXPECT_EQ(import_error(folder / "model" / "model.onnx"), ImportError{});
}

TEST(ExternalData, IsReadFromItsOffset) {
  const TestFolder folder;
  TestModel inside;
  write_text(folder / "w.bin", "12345678" + inside.constant("w").raw_data());
  model_with_external_weights("w.bin").save(folder / "model.onnx");
  const Graph graph = import_onnx(folder / "model.onnx");
  EXPECT_EQ(std::get<Conv2d>(graph.layers[0].operation).weights,
            std::get<Conv2d>(import_model(inside).layers[0].operation).weights);
}

}  // namespace
}  // namespace qsim
