// Float files that are not valid are errors of the user's (exit code 3) that say what is wrong, and
// never a crash: numbers that are none, truncated and mutated files.
#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "formats/onnx/importer/real_importer.h"
#include "tests/importer/real/real_model.h"

namespace qsim {
namespace {

void expect_faults(const std::vector<RealFault>& faults) {
  expect_real_errors(ExitCode::kBadInput, faults);
}

// Puts `value` at `index` of a constant.
void put(RealModel& model, const std::string& name, std::size_t index, float value) {
  model.constant(name).mutable_raw_data()->replace(4 * index, 4,
                                                   reinterpret_cast<const char*>(&value), 4);
}

TEST(MalformedFloatModel, WeightsThatAreNoNumbersAreNamedByNodeAndIndex) {
  expect_faults({
      {"node 'conv' (Conv): W 'w' has nan at index 7; expected finite numbers",
       [](RealModel& m) { put(m, "w", 7, std::nanf("")); }},
      {"node 'conv' (Conv): B 'b' has inf at index 2; expected finite numbers",
       [](RealModel& m) { put(m, "b", 2, HUGE_VALF); }},
      {"node 'norm' (BatchNormalization): input_mean 'mean' has -inf at index 0; expected finite "
       "numbers",
       [](RealModel& m) { put(m, "mean", 0, -HUGE_VALF); }},
      {"node 'fc' (Gemm): B 'fc_w' has nan at index 59; expected finite numbers",
       [](RealModel& m) { put(m, "fc_w", 59, std::nanf("")); }},
      {"node 'fc' (Gemm): C 'fc_b' has nan at index 4; expected finite numbers",
       [](RealModel& m) { put(m, "fc_b", 4, std::nanf("")); }},
  });
}

TEST(MalformedFloatModel, ProductsThatNoFloat32HoldsAreNamed) {
  expect_faults({
      {"node 'conv' (Conv): weights has inf at index 19; expected finite numbers",
       [](RealModel& m) { put(m, "gamma", 1, 3e38F), put(m, "w", 18 + 9, 30.0F); }},
      {"node 'conv' (Conv): bias has -inf at index 0; expected finite numbers",
       [](RealModel& m) { put(m, "beta", 0, -3e38F), put(m, "mean", 0, 3e38F); }},
  });
}

TEST(MalformedFloatModel, NumbersAndShapesThatDoNotFit) {
  expect_faults({
      {"node 'norm' (BatchNormalization): input_var + epsilon of channel 1 = -0.499990; expected a "
       "positive number",
       [](RealModel& m) { put(m, "variance", 1, -0.5F); }},
      {"node 'norm' (BatchNormalization): scale has shape [2]; expected [3]",
       [](RealModel& m) { m.set_numbers("gamma", {2}); }},
      {"node 'norm' (BatchNormalization): 4 inputs; expected 5",
       [](RealModel& m) { m.node("norm").mutable_input()->RemoveLast(); }},
      {"node 'div' (Div): divides by 0; expected other numbers",
       [](RealModel& m) {
         m.set_scale("zero", {}, {0.0F});
         m.insert_binary("relu", "Div", "div", "zero");
       }},
      {"node 'fc' (Gemm): B has shape [5, 12]; expected [12, N] with N >= 1",
       [](RealModel& m) { m.drop_attribute("fc", "transB"); }},
      {"node 'conv' (Conv): W has shape [3, 2, 3, 3]; expected [M, 1, kernel_h, kernel_w] with M "
       ">= "
       "1",
       [](RealModel& m) {
         auto& type = *m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
         type.mutable_shape()->mutable_dim(1)->set_dim_value(1);
       }},
      {"node 'pool' (MaxPool): an output of shape [1, 3, 0, 2]; expected at least one element",
       [](RealModel& m) {
         m.set_ints("pool", "kernel_shape", {5, 2});
       }},
      {"node 'join' (Concat): joins [5, 12] and [5]; expected tensors that differ in axis 0 alone",
       [](RealModel& m) {
         onnx::NodeProto& node = m.insert_before("fc", "Concat", "join");
         node.set_input(0, "fc_w");
         node.add_input("fc_b");
         m.set_int("join", "axis", 0);
         m.node("fc").set_input(0, "flatten.out");
         m.node("fc").set_input(1, "join.out");
       }},
      {"output 'scores': declared with shape [?, 5]; expected [1, 3, 2, 2]",
       [](RealModel& m) {
         m.graph().mutable_node()->DeleteSubrange(4, 2);
         m.node("pool").set_output(0, "scores");
       }},
      {"node 'conv' (Relu): two layers are called 'conv'; names must be unique",
       [](RealModel& m) { m.node("relu").set_name("conv"); }},
  });
}

TEST(MalformedFloatModel, ATruncationAnywhereIsAnError) {
  const TestFolder folder;
  const std::string whole = RealModel().proto.SerializeAsString();
  for (std::size_t length = 0; length < whole.size(); length += 3) {
    write_text(folder / "model.onnx", whole.substr(0, length));
    EXPECT_NE(real_import_error(folder / "model.onnx").code, ExitCode::kOk) << length;
  }
}

// Anything but Error fails: a crash, an InternalError or a bad_alloc.
int refused_of(const std::string& whole, std::uint64_t seeds) {
  const TestFolder folder;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::string bytes = whole;
    const std::int64_t changes = random.uniform(1, 4);
    for (std::int64_t i = 0; i < changes; ++i) {
      const auto at = static_cast<std::size_t>(random.uniform(0, std::int64_t(bytes.size()) - 1));
      bytes[at] = static_cast<char>(random.next());
    }
    write_text(folder / "model.onnx", bytes);
    refused += real_import_error(folder / "model.onnx").code != ExitCode::kOk ? 1 : 0;
  }
  return refused;
}

TEST(MalformedFloatModel, MutatedBytesNeverCrash) {
  EXPECT_GT(refused_of(RealModel().proto.SerializeAsString(), 1000), 300);
}

TEST(MalformedFloatModel, MutatedFilesOfExportersNeverCrash) {
  int files = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(QSIM_FLOAT_FILES)) {
    if (entry.path().extension() != ".onnx") continue;
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    refused += refused_of(bytes.str(), 60);
    ++files;
  }
  EXPECT_GE(files, 30);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace qsim
