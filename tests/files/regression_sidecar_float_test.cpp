// Found by the fuzz target `sidecar`: a mean of 1e39 was read as infinity, and every picture was
// then refused for an element that is not finite, with no word of the sidecar.
#include "formats/settings/sidecar.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

TEST(RegressionSidecarFloat, ANumberBeyondFloat32IsRefusedWhereItStands) {
  const TemporaryFolder folder;
  for (const char* const steps :
       {"mean: [0, -1e39, 0], std: [1, 1, 1]", "mean: [0, 0, 0], std: [1, 1e39, 1]"}) {
    folder.file("model.yaml", "preprocess: {resize: [1, 1], " + std::string(steps) + "}\n");
    const std::string error = error_of([&] { load_sidecar_of(folder.path() / "model.onnx"); });
    expect_contains(error, "model.yaml:1:");
    expect_contains(error, "expected a number that float32 holds");
  }
}

}  // namespace
}  // namespace qsim
