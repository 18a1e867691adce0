// The file beside a model that says how a picture becomes its input.
#include "formats/settings/sidecar.h"

#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

constexpr const char* kText =
    "preprocess: {resize: [2, 3], mean: [0.5, 0.25, 0.0], std: [0.5, 0.25, 1.0]}\n"
    "labels: [cat, dog]\n";

TEST(Sidecar, IsFoundBesideTheModel) {
  const TemporaryFolder folder;
  EXPECT_FALSE(load_sidecar_of(folder.path() / "net.onnx").has_value());
  folder.file("net.yaml", kText);
  const auto sidecar = load_sidecar_of(folder.path() / "net.onnx");
  ASSERT_TRUE(sidecar.has_value());
  EXPECT_EQ(sidecar->resize_height, 2);
  EXPECT_EQ(sidecar->resize_width, 3);
  EXPECT_EQ(sidecar->mean[1], 0.25f);
  EXPECT_EQ(sidecar->std[2], 1.0f);
  EXPECT_EQ(sidecar->labels, (std::vector<std::string>{"cat", "dog"}));
  // A workload file is not its own sidecar.
  EXPECT_FALSE(load_sidecar_of(folder.path() / "net.yaml").has_value());
}

TEST(Sidecar, MistakesSayWhere) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    folder.file("net.yaml", text);
    return error_of([&] { load_sidecar_of(folder.path() / "net.onnx"); });
  };
  expect_contains(message("preproces: 1\n"), "did you mean 'preprocess'?");
  expect_contains(message("preprocess: {resize: [2, 3], mean: [0, 0], std: [1, 1, 1]}\n"),
                  "expected 3 numbers");
  expect_contains(message("preprocess: {resize: [2, 3], mean: [0, 0, 0], std: [1, 0, 1]}\n"),
                  "net.yaml:1:56: expected a number above 0");
  expect_contains(message("labels: [a]\n"), "the key 'preprocess' is missing");
}

}  // namespace
}  // namespace qsim
