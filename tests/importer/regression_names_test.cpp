// Found by hostile files: names that are not UTF-8 (which JSON cannot hold), a domain imported
// twice, and external data with a key twice or a wrong checksum were all taken.
#include <gtest/gtest.h>

#include "core/base/limits.h"
#include "core/base/printable.h"
#include "tests/importer/model_builder.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

TEST(RegressionNames, ANameThatIsNotUtf8IsRefused) {
  TestModel node;
  node.node("conv").set_name("con\xff");
  EXPECT_EQ(import_error(node),
            (ImportError{ExitCode::kBadInput,
                         "NodeProto.name 'con\\xff' is not UTF-8; expected UTF-8, as ONNX says"}));
  TestModel graph;
  graph.graph().set_name("caf\xe9");
  EXPECT_EQ(import_error(graph),
            (ImportError{ExitCode::kBadInput,
                         "GraphProto.name 'caf\\xe9' is not UTF-8; expected UTF-8, as ONNX says"}));
  TestModel input;
  input.graph().mutable_input(0)->set_name("\x80");
  EXPECT_EQ(
      import_error(input),
      (ImportError{ExitCode::kBadInput,
                   "ValueInfoProto.name '\\x80' is not UTF-8; expected UTF-8, as ONNX says"}));
}

TEST(RegressionNames, RemarksInAnyEncodingAreNotRead) {
  TestModel model;
  model.proto.set_doc_string("caf\xe9");
  auto& entry = *model.proto.add_metadata_props();
  entry.set_key("author");
  entry.set_value("Ren\xe9");
  EXPECT_EQ(import_error(model), ImportError{});
}

TEST(RegressionNames, ALongNameIsShownByItsStartAndItsLength) {
  TestModel model;
  auto& node = model.node("conv");
  node.set_name(std::string(3'000'000, 'x'));
  node.set_op_type(std::string(3'000'000, 'y'));
  const ImportError error = import_error(model);
  EXPECT_LT(error.message.size(), kMaxMessageBytes);
  const std::string shown = std::string(200, 'x') + "... (3000000 bytes)";
  EXPECT_TRUE(error.message.starts_with("node '" + shown + "' (yyy")) << error.message;
  EXPECT_TRUE(error.message.ends_with("onnx.md")) << error.message;
}

TEST(RegressionNames, ADomainIsImportedOnce) {
  TestModel model;
  auto& more = *model.proto.add_opset_import();
  more.set_domain("ai.onnx");  // another word for ""
  more.set_version(13);        // the same version
  EXPECT_EQ(import_error(model), ImportError{});
  more.set_version(14);
  EXPECT_EQ(import_error(model),
            (ImportError{ExitCode::kBadInput,
                         "two opset_import of domain 'ai.onnx', 13 and 14; expected one"}));
  more.set_domain("com.microsoft");
  EXPECT_EQ(import_error(model),
            (ImportError{ExitCode::kBadInput,
                         "two opset_import of domain 'com.microsoft', 1 and 14; expected one"}));
}

// The weights of the test model in a file of 62 bytes 'a', with more entries of external_data.
ImportError import_with(const std::vector<std::pair<std::string, std::string>>& entries) {
  const TestFolder folder;
  write_text(folder / "w.bin", std::string(62, 'a'));
  TestModel model;
  TensorProto& weights = model.constant("w");
  weights.clear_raw_data();
  weights.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *weights.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  model.save(folder / "model.onnx");
  ImportError error = import_error(folder / "model.onnx");
  const std::string path = folder.path().string() + "/";
  const std::size_t at = error.message.find(path);
  if (at != std::string::npos) error.message.erase(at, path.size());
  return error;
}

const std::string kWhere = "node 'conv' (QLinearConv): w 'w': external data ";

TEST(RegressionExternalData, AKeyTwiceIsRefused) {
  for (const std::string key : {"location", "offset", "length"}) {
    const std::string value = key == "location" ? "w.bin" : key == "offset" ? "8" : "54";
    EXPECT_EQ(import_with({{"location", "w.bin"}, {"offset", "8"}, {"length", "54"}, {key, value}}),
              (ImportError{ExitCode::kBadInput,
                           kWhere + "has the key '" + key + "' twice; expected once"}));
  }
}

TEST(RegressionExternalData, AFileOfManyGigabytesIsNotReadForItsChecksum) {
  const TestFolder folder;
  write_text(folder / "w.bin", "a");
  std::filesystem::resize_file(folder / "w.bin", kMaxFileBytes + 1);  // sparse
  TestModel model;
  TensorProto& weights = model.constant("w");
  weights.clear_raw_data();
  weights.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "w.bin"},
                                   {"checksum", std::string(40, '0')}}) {
    auto& entry = *weights.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  model.save(folder / "model.onnx");
  const ImportError error = import_error(folder / "model.onnx");
  EXPECT_EQ(error.code, ExitCode::kBadInput);
  EXPECT_NE(error.message.find("w.bin' has a checksum and 4294967297 bytes; expected at most "
                               "4294967296, since all are read for a checksum"),
            std::string::npos)
      << error.message;
}

TEST(RegressionExternalData, TheChecksumIsTheSha1OfTheFile) {
  const auto with = [](const std::string& checksum) {
    return import_with({{"location", "w.bin"}, {"offset", "8"}, {"checksum", checksum}});
  };
  // head -c 62 /dev/zero | tr '\0' a | sha1sum
  const std::string right = "67b4b3923fa178d788a9611b76446c96431071f2";
  EXPECT_EQ(with(right), ImportError{});
  std::string capitals = right;
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(with(capitals), ImportError{});
  const std::string wrong(40, '0');
  EXPECT_EQ(with(wrong), (ImportError{ExitCode::kBadInput, kWhere + "file 'w.bin' has the SHA-1 " +
                                                               right + "; expected " + wrong +
                                                               ", the checksum in the model"}));
  EXPECT_EQ(with("abc"),
            (ImportError{ExitCode::kBadInput,
                         kWhere + "checksum is 'abc'; expected the 40 hexadecimal digits of a "
                                  "SHA-1"}));
}

}  // namespace
}  // namespace qsim
