// Files that are small on the disk and large in protobuf are counted before protobuf sees them.
#include "formats/onnx/importer/model_parts.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "formats/files/files.h"
#include "tests/importer/model_builder.h"

namespace qsim {

using namespace formats;
namespace {

std::string varint(std::size_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string delimited(char tag, const std::string& message) {
  return std::string(1, tag) + varint(message.size()) + message;
}

// Tags of length-delimited fields.
constexpr char kGraph = 7 << 3 | 2;
constexpr char kNode = 1 << 3 | 2;
constexpr char kInitializer = 5 << 3 | 2;
constexpr char kValueInfo = 13 << 3 | 2;
constexpr char kRawData = 9 << 3 | 2;
constexpr char kInt32Data = 5 << 3 | 2;

// What importing the file at `path` says when this process may have `left` bytes more.
ImportError error_within(std::int64_t left, const std::filesystem::path& path) {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;  // the sixth number is of data
  for (int i = 0; i < 6; ++i) statm >> pages;
  rlimit before{};
  EXPECT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + left);
  EXPECT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
  const ImportError error = import_error(path);
  EXPECT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  return error;
}

// The same for a file of `bytes`.
ImportError error_within(std::int64_t left, const std::string& bytes) {
  const TestFolder folder;
  write_text(folder / "model.onnx", bytes);
  return error_within(left, folder / "model.onnx");
}

// `count` messages of no field.
std::string empty_fields(char tag, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += {tag, '\0'};
  return text;
}

ImportError error_of(const std::string& bytes) {
  const TestFolder folder;
  write_text(folder / "model.onnx", bytes);
  return import_error(folder / "model.onnx");
}

TEST(ModelParts, TooManyAreRefusedByTheirNumber) {
  const auto expect = [](const std::string& graph, const std::string& message) {
    const ImportError error{ExitCode::kUnsupportedModel, message};
    const std::string model = delimited(kGraph, graph);
    EXPECT_EQ(error_of(model), error);
    // Merged by protobuf, so it is read whole; then with an end that is not protobuf.
    EXPECT_EQ(error_of(model + delimited(kGraph, "")).code, ExitCode::kUnsupportedModel);
    EXPECT_EQ(error_of(model + "\x3b"), error);
    // A message that stands for none takes nothing from the count.
    EXPECT_EQ(error_of(delimited(kGraph, delimited(kNode, "\x0a\x7f") + graph)).code,
              ExitCode::kUnsupportedModel);
  };
  expect(empty_fields(kNode, kMaxModelNodes + 1), "10001 nodes; supported: at most 10000");
  expect(empty_fields(kInitializer, kMaxModelInitializers + 1),
         "100001 initializers; supported: at most 100000");
  // The graph is one itself.
  expect(empty_fields(kValueInfo, kMaxModelParts),
         "1000001 messages and texts; supported: at most 1000000");
}

TEST(ModelParts, AsManyAsAreAllowedAreRead) {
  const ImportError no_opset{ExitCode::kUnsupportedModel,
                             "no opset_import of the ONNX operators; supported: opset 7 to 25"};
  EXPECT_EQ(error_of(delimited(kGraph, empty_fields(kInitializer, kMaxModelInitializers))),
            no_opset);
  EXPECT_EQ(error_of(delimited(kGraph, empty_fields(kNode, kMaxModelNodes))), no_opset);
}

// raw_data and text take their own length; numbers, which grow, the largest list that doubles.
TEST(ModelParts, MemoryIsThatOfTheValues) {
  const std::string bytes(1'000'000, '\1');
  const auto memory_of = [](const std::string& initializer) {
    return count_model_parts(delimited(kGraph, delimited(kInitializer, initializer))).memory_bytes;
  };
  EXPECT_EQ(memory_of(delimited(kRawData, bytes)) - memory_of(delimited(kRawData, "")), 1'000'000);
  EXPECT_EQ(memory_of(delimited(kInt32Data, bytes)) - memory_of(delimited(kInt32Data, "")),
            12'000'000);
}

// Never an allocation that fails: the copy as it grows, and then what protobuf makes of it.
TEST(ModelParts, WhatDoesNotFitTheMemoryIsSaidBeforeItIsTaken) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  const auto expect = [&](std::int64_t numbers, std::int64_t left, const std::string& need) {
    const std::string bytes(static_cast<std::size_t>(numbers), '\1');
    const std::string graph = delimited(kInitializer, delimited(kInt32Data, bytes));
    const ImportError error = error_within(left, delimited(kGraph, graph));
    EXPECT_EQ(error.code, ExitCode::kBadInput);
    EXPECT_TRUE(error.message.starts_with("needs about " + need + "; ")) << error;
  };
  expect(40 * kMegabyte, 80 * kMegabyte, "68 MB");
  expect(20 * kMegabyte, 150 * kMegabyte, "241 MB");
}

// What protobuf says it uses, over the objects of a real model.
TEST(ModelParts, MemoryIsNoLessThanProtobufs) {
  const TestModel model;
  const std::string bytes = model.proto.SerializeAsString();
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  const ModelParts parts = count_model_parts(bytes);
  EXPECT_EQ(parts.nodes, parsed.graph().node_size());
  EXPECT_EQ(parts.initializers, parsed.graph().initializer_size());
  EXPECT_GT(parts.memory_bytes, static_cast<std::int64_t>(parsed.SpaceUsedLong() - sizeof parsed));
  EXPECT_LT(parts.memory_bytes, 3 * static_cast<std::int64_t>(parsed.SpaceUsedLong()));
}

constexpr std::int64_t kChannels = 448;
constexpr std::int64_t kSharedBytes = kChannels * kChannels;  // less than is asked for by itself

// `count` 1x1 convolutions one after the other that share their one weight tensor.
TestModel model_of_shared_weights(int count) {
  TestModel model;
  model.begin_with(onnx::TensorProto::UINT8, {1, kChannels, 1, 1});
  model.end_after("conv", onnx::TensorProto::UINT8, 4);
  model.drop_attribute("conv", "pads");
  model.set_constant("w", onnx::TensorProto::INT8, {kChannels, kChannels, 1, 1},
                     std::string(kSharedBytes, '\1'));
  model.set_scale("w_scale", {}, {0.03125F});
  model.set_zero_point("w_zero_point", onnx::TensorProto::INT8, 0);
  const auto complete = [](onnx::NodeProto& node) {
    node.mutable_input()->DeleteSubrange(1, node.input_size() - 1);
    for (const char* input :
         {"y_scale", "y_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point"}) {
      node.add_input(input);
    }
  };
  complete(model.node("conv"));
  for (int i = 1; i < count; ++i) {
    complete(model.insert_before("conv", "QLinearConv", "conv" + std::to_string(i)));
  }
  return model;
}

using Storing = void (*)(onnx::TensorProto& weights, const TestFolder& folder);

void in_raw_data(onnx::TensorProto&, const TestFolder&) {}

void in_int32_data(onnx::TensorProto& weights, const TestFolder&) {
  for (const char value : weights.raw_data()) weights.add_int32_data(value);
  weights.clear_raw_data();
}

void in_a_file_beside(onnx::TensorProto& weights, const TestFolder& folder) {
  write_text(folder / "w.bin", weights.raw_data());
  weights.clear_raw_data();
  weights.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *weights.add_external_data();
  entry.set_key("location");
  entry.set_value("w.bin");
}

// Each layer has a copy of its own, whatever the file's size.
TEST(WeightBytes, OfTensorsThatManyNodesReadAreJudgedTogetherBeforeTheFirstCopy) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  for (const Storing store : {in_raw_data, in_int32_data, in_a_file_beside}) {
    const TestFolder folder;
    TestModel model = model_of_shared_weights(600);
    store(model.constant("w"), folder);
    model.save(folder / "model.onnx");
    EXPECT_LT(std::filesystem::file_size(folder / "model.onnx"), 400'000U);
    const ImportError error = error_within(60 * kMegabyte, folder / "model.onnx");
    EXPECT_EQ(error.code, ExitCode::kBadInput);
    EXPECT_TRUE(error.message.starts_with("needs about 121 MB; ")) << error;
    EXPECT_EQ(error_within(200 * kMegabyte, folder / "model.onnx"), ImportError{});
  }
}

}  // namespace
}  // namespace qsim
