// Found by hostile files: a .npy header with a key twice or with text after it was read, and a
// sidecar with an empty list of labels or a std near zero, which was then blamed on the picture.
#include "formats/settings/sidecar.h"
#include "formats/traces/npy.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

std::string npy(const std::string& header, std::size_t data_bytes) {
  std::string file = "\x93NUMPY";
  file +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return file + header + std::string(data_bytes, 'x');
}

std::string npy_refusal(const std::string& header, std::size_t data_bytes) {
  const std::string file = npy(header, data_bytes);
  return error_of([&] { parse_npy(std::as_bytes(std::span(file)), "a.npy"); });
}

TEST(RegressionNpyHeader, AKeyTwiceIsRefused) {
  for (const std::string entry : {"'descr': '|u1'", "'fortran_order': False", "'shape': (2,)"}) {
    const std::string key = entry.substr(1, entry.find('\'', 1) - 1);
    EXPECT_EQ(
        npy_refusal("{'descr': '|i1', 'fortran_order': False, 'shape': (4,), " + entry + "}\n", 4),
        "a.npy: malformed header: " + key + " twice; expected once");
  }
}

TEST(RegressionNpyHeader, TextAfterTheHeaderIsRefused) {
  const std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (4,), }";
  const std::string file = npy(header + "   \n", 4);
  EXPECT_EQ(parse_npy(std::as_bytes(std::span(file)), "a.npy").shape, Shape{4});
  for (const std::string& more :
       {std::string("x\n"), std::string("  {'shape': (2,)}\n"), std::string("\0\n", 2)}) {
    expect_contains(npy_refusal(header + more, 4),
                    "a.npy: malformed header: text after '}' at byte ");
  }
}

std::string sidecar_refusal(const std::string& text) {
  const TemporaryFolder folder;
  folder.file("model.yaml", text);
  return error_of([&] { load_sidecar_of(folder.path() / "model.onnx"); });
}

TEST(RegressionSidecarLists, AnEmptyListOfLabelsIsRefused) {
  expect_contains(
      sidecar_refusal(
          "preprocess: {resize: [1, 1], mean: [0, 0, 0], std: [1, 1, 1]}\nlabels: []\n"),
      "model.yaml:2:9: labels: the list is empty; give labels, or leave the key out");
}

TEST(RegressionSidecarLists, AStdThatLeadsBeyondFloat32IsRefusedWhereItStands) {
  for (const char* const steps :
       {"mean: [0, 0, 0], std: [1, 1e-45, 1]", "mean: [1, 1, 1], std: [1, 1e-45, 1]",
        "mean: [0, 3e38, 0], std: [1, 0.5, 1]"}) {
    const std::string error =
        sidecar_refusal("preprocess: {resize: [1, 1], " + std::string(steps) + "}\n");
    expect_contains(error, "model.yaml:1:");
    expect_contains(error, "too small for the mean: (pixel / 255 - mean) / std is beyond float32");
  }
}

}  // namespace
}  // namespace qsim
