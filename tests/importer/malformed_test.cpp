// Files that are not valid ONNX are errors of the user's (exit code 3) that say what is wrong, and
// never a crash: truncated, mutated, incomplete, or pointing out of their folder.
#include <gtest/gtest.h>

#include "core/base/random.h"
#include "tests/importer/refusal_cases.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

void expect_faults(const std::vector<RefusalCase>& cases) {
  qsim::expect_refusals(ExitCode::kBadInput, cases);
}

TEST(MalformedModel, MissingEmptyTruncatedAndForeignFilesAreNamed) {
  const TestFolder folder;
  EXPECT_EQ(import_error(folder / "none.onnx"),
            (ImportError{ExitCode::kBadInput, "cannot be read: no such file"}));
  EXPECT_EQ(import_error(folder.path()),
            (ImportError{ExitCode::kBadInput, "is a directory; expected a file"}));
  write_text(folder / "empty.onnx", "");
  EXPECT_EQ(import_error(folder / "empty.onnx"),
            (ImportError{ExitCode::kBadInput, "empty file; expected an ONNX model"}));
  write_text(folder / "text.onnx", "hello world\n");
  EXPECT_EQ(import_error(folder / "text.onnx"),
            (ImportError{ExitCode::kBadInput,
                         "12 bytes that are not an ONNX model; the file is truncated or of another "
                         "kind"}));
  onnx::ModelProto hollow;
  hollow.set_ir_version(8);
  write_text(folder / "hollow.onnx", hollow.SerializeAsString());
  EXPECT_EQ(import_error(folder / "hollow.onnx"),
            (ImportError{ExitCode::kBadInput, "no graph in the file; expected an ONNX model"}));
}

TEST(MalformedModel, AGitLfsPointerSaysHowToGetTheFile) {
  const TestFolder folder;
  write_text(folder / "model.onnx", kLfsPointer);
  EXPECT_EQ(import_error(folder / "model.onnx"),
            (ImportError{ExitCode::kBadInput,
                         "is a git-LFS pointer, not the file itself; fetch it with `git lfs pull`, "
                         "or download the file"}));
}

TEST(MalformedModel, ATruncationAnywhereIsAnError) {
  const TestFolder folder;
  const std::string whole = TestModel().proto.SerializeAsString();
  for (std::size_t length = 0; length < whole.size(); length += 3) {
    write_text(folder / "model.onnx", whole.substr(0, length));
    const ImportError error = import_error(folder / "model.onnx");
    EXPECT_NE(error.code, ExitCode::kOk) << length;
    EXPECT_FALSE(error.message.empty()) << length;
  }
}

// import_error lets anything but Error through: a crash, an InternalError or a bad_alloc fails.
TEST(MalformedModel, MutatedBytesNeverCrash) {
  const TestFolder folder;
  const std::string whole = TestModel().proto.SerializeAsString();
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::string bytes = whole;
    const std::int64_t changes = random.uniform(1, 4);
    for (std::int64_t i = 0; i < changes; ++i) {
      const auto at = static_cast<std::size_t>(random.uniform(0, std::int64_t(bytes.size()) - 1));
      bytes[at] = static_cast<char>(random.next());
    }
    write_text(folder / "model.onnx", bytes);
    refused += import_error(folder / "model.onnx").code != ExitCode::kOk ? 1 : 0;
  }
  EXPECT_GT(refused, 300);
}

TEST(MalformedModel, NamesMustBeDefinedOnce) {
  expect_faults({
      {"tensor 'w' is defined twice; expected once",
       [](TestModel& m) { m.graph().add_initializer()->set_name("w"); }},
      {"tensor 'conv.out' is defined twice; expected once",
       [](TestModel& m) { m.node("pool").set_output(0, "conv.out"); }},
      {"node 'conv' (QLinearConv): tensor 'conv.out' is computed from itself; expected no cycle",
       [](TestModel& m) { m.node("conv").set_input(0, "conv.out"); }},
      {"a tensor without a name", [](TestModel& m) { m.graph().add_initializer(); }},
      {"node 'conv' (MaxPool): two layers are called 'conv'; names must be unique",
       [](TestModel& m) { m.node("pool").set_name("conv"); }},
  });
}

TEST(MalformedModel, EverythingThatANodeReadsMustBeThere) {
  expect_faults({
      {"node 'conv' (QLinearConv): tensor 'lost' is missing from the file; expected an "
       "initializer or a node's output",
       [](TestModel& m) { m.node("conv").set_input(3, "lost"); }},
      {"node 'conv' (QLinearConv): x_scale is absent; expected a constant",
       [](TestModel& m) { m.node("conv").set_input(1, ""); }},
      {"node 'conv' (QLinearConv): x_zero_point is absent; expected a constant",
       [](TestModel& m) { m.node("conv").set_input(2, ""); }},
      {"node 'conv' (QLinearConv): 10 inputs; expected 8 to 9",
       [](TestModel& m) { m.node("conv").add_input("bias"); }},
      {"node 'pool' (MaxPool): 2 inputs; expected 1",
       [](TestModel& m) { m.node("pool").add_input("bias"); }},
      {"node 'pool' (MaxPool): tensor 'lost' is missing from the file; expected an initializer or "
       "a node's output",
       [](TestModel& m) { m.node("pool").set_input(0, "lost"); }},
      {"node 'pool' (MaxPool): kernel_shape is absent; expected two numbers",
       [](TestModel& m) { m.drop_attribute("pool", "kernel_shape"); }},
      {"no output; expected one", [](TestModel& m) { m.graph().clear_output(); }},
      {"node 'fc' (QGemm): domain 'com.microsoft' is not imported; expected an opset_import of it",
       [](TestModel& m) { m.proto.mutable_opset_import()->DeleteSubrange(1, 1); }},
  });
}

TEST(MalformedModel, AttributesMustHaveTheRightTypeAndCount) {
  expect_faults({
      {"node 'conv' (QLinearConv): attribute group is of type FLOAT; expected INT",
       [](TestModel& m) { m.set_float("conv", "group", 1); }},
      {"node 'conv' (QLinearConv): attribute pads has 3 numbers; expected 4",
       [](TestModel& m) {
         m.set_ints("conv", "pads", {1, 1, 1});
       }},
      {"node 'conv' (QLinearConv): strides = [0, 1]; expected 1 or more",
       [](TestModel& m) {
         m.set_ints("conv", "strides", {0, 1});
       }},
      {"node 'conv' (QLinearConv): kernel_shape = [3, 2]; expected [3, 3], as w has",
       [](TestModel& m) {
         m.set_ints("conv", "kernel_shape", {3, 2});
       }},
      {"node 'conv' (QLinearConv): auto_pad VALID and pads; expected one of them",
       [](TestModel& m) { m.set_text("conv", "auto_pad", "VALID"); }},
      {"node 'conv' (QLinearConv): attribute pads twice; expected once",
       [](TestModel& m) {
         const auto pads = m.attribute("conv", "pads");
         *m.node("conv").add_attribute() = pads;
       }},
      {"node 'turn' (Transpose): perm = [0, 1, 1, 1]; expected each axis once",
       [](TestModel& m) {
         m.insert_before("pool", "Transpose", "turn");
         m.set_ints("turn", "perm", {0, 1, 1, 1});
       }},
      {"node 'quantize' (QuantizeLinear): y_zero_point is uint8; expected int8, as output_dtype "
       "says",
       [](TestModel& m) { m.set_int("quantize", "output_dtype", TensorProto::INT8); }},
  });
}

TEST(MalformedModel, ShapesAndTypesMustFitTogether) {
  expect_faults({
      {"node 'conv' (QLinearConv): w has shape [3, 3, 2, 3]; expected [M, 2, kernel_h, kernel_w] "
       "with M >= 1",
       [](TestModel& m) {
         m.set_constant("w", TensorProto::INT8, {3, 3, 2, 3}, std::string(54, 'a'));
       }},
      {"node 'conv' (QLinearConv): w has shape [0, 2, 3, 3]; expected at least one element",
       [](TestModel& m) {
         m.set_constant("w", TensorProto::INT8, {0, 2, 3, 3}, "");
       }},
      {"node 'fc' (QGemm): B has shape [5, 12]; expected [12, N] with N >= 1",
       [](TestModel& m) { m.drop_attribute("fc", "transB"); }},
      {"node 'conv' (QLinearConv): zero_point of the tensor it reads is int8; expected uint8, as "
       "the tensor is",
       [](TestModel& m) {
         m.set_zero_point("other", TensorProto::INT8, 3);
         m.node("conv").set_input(2, "other");
       }},
      {"node 'pool' (MaxPool): an output of shape [1, 3, 0, 2] from [1, 3, 4, 4]; expected at "
       "least one element",
       [](TestModel& m) {
         m.set_ints("pool", "kernel_shape", {5, 2});
       }},
      {"node 'pool' (MaxPool): 8-bit MaxPool in opset 11; expected opset 12 or later",
       [](TestModel& m) { m.proto.mutable_opset_import(0)->set_version(11); }},
      {"node 'relu' (Relu): uint8 in opset 13; expected int8, opset 14 or later",
       [](TestModel& m) { m.insert_before("pool", "Relu", "relu"); }},
      {"output 'scores': declared with shape [?, 6]; expected [1, 5]",
       [](TestModel& m) {
         auto& type = *m.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
         type.mutable_shape()->mutable_dim(1)->set_dim_value(6);
       }},
      {"output 'fc.out': declared as int8; expected uint8",
       [](TestModel& m) { m.end_after("fc", TensorProto::INT8, 2); }},
      {"input 'image': dimension 2 is -2; expected 1 or more, or a name",
       [](TestModel& m) {
         auto& type = *m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
         type.mutable_shape()->mutable_dim(2)->set_dim_value(-2);
       }},
  });
}

TEST(MalformedModel, TensorsMustHoldWhatTheirShapeSays) {
  const std::string where = "node 'conv' (QLinearConv): w 'w': ";
  expect_faults({
      {where + "holds 53 bytes; expected 54 for shape [3, 2, 3, 3]",
       [](TestModel& m) { m.constant("w").mutable_raw_data()->pop_back(); }},
      {where + "holds 2 values; expected 54 for shape [3, 2, 3, 3]",
       [](TestModel& m) {
         m.constant("w").clear_raw_data();
         m.constant("w").add_int32_data(1);
         m.constant("w").add_int32_data(2);
       }},
      {where + "shape [3, 2, -3, 3] has a negative dimension",
       [](TestModel& m) { m.constant("w").set_dims(2, -3); }},
      {where + "has no element type", [](TestModel& m) { m.constant("w").clear_data_type(); }},
      {where + "size overflow: 4611686018427387904 x 2 does not fit 64 bits",
       [](TestModel& m) { m.constant("w").set_dims(0, std::int64_t{1} << 62); }},
      {"node 'conv' (QLinearConv): y_zero_point 'y_zero_point': value 256 at index 0; expected "
       "0..255",
       [](TestModel& m) {
         m.constant("y_zero_point").clear_raw_data();
         m.constant("y_zero_point").add_int32_data(256);
       }},
  });
}

}  // namespace
}  // namespace qsim
