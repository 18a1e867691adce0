// What the tests of `qsim eval` share.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/traces/npy.h"
#include "tests/cli/golden_command.h"
#include "tests/cli/picture_files.h"

namespace qsim {

inline const std::string kModel = " --model vgg8-cifar10 --backend cpu ";

inline const std::string kFloat = QSIM_SOURCE_DIR "/models/vgg8-cifar10/vgg8-float.onnx";

// Records with seeded pictures; their labels are no better than chance.
inline std::string records(int count) {
  std::string batch;
  for (int i = 0; i < count; ++i) {
    batch += cifar_record((i * 7 + i / 10) % 10, static_cast<std::uint64_t>(i));
  }
  return batch;
}

class Eval : public ::testing::Test {
 protected:
  Eval() { folder_.write("b.bin", records(40)); }

  Json eval(const std::string& arguments) { return json_of(folder_, "eval" + kModel + arguments); }
  void refused(const std::string& arguments, int code, const std::string& message) {
    expect_error(folder_, "eval " + arguments, code, message);
  }
  std::vector<std::int32_t> predictions(const std::string& folder) {
    const Tensor tensor = formats::read_npy(folder_ / (folder + "/predictions.npy"));
    const std::span<const std::int32_t> values = tensor.as<std::int32_t>();
    return {values.begin(), values.end()};
  }

  TestFolder folder_;
};

}  // namespace qsim
