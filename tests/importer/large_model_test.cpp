// Models whose weights stay in the file until they are wanted: the same Graph comes out of them,
// whatever the file looks like, and the large bytes are not in the protobuf message.
#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "formats/files/files.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/onnx_importer.h"
#include "tests/importer/model_builder.h"
#include "tests/importer/random_graphs.h"
#include "tests/onnx/onnx_writer.h"

namespace qsim {

using namespace formats;
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  Tensor tensor(DType::kInt8, shape);
  for (std::int8_t& value : tensor.as<std::int8_t>()) {
    value = static_cast<std::int8_t>(random.uniform(-3, 3));
  }
  return tensor;
}

Value uint8_value(const ImageShape& shape) {
  return {shape, DType::kUint8, 0, Scale::power_of_two(0)};
}

Requantization shifted(std::uint8_t shift) { return {RoundingMode::kHalfEven, {shift}, 0, 255}; }

// 147 kB of convolution, 4.9 MB of fully connected weights: more than a stripe.
Graph large_graph() {
  Graph graph;
  graph.name = "large";
  graph.input_value() = uint8_value({1, 3, 3, 64});
  graph.host.layout = HostInterface::Layout::kNchw;
  graph.host.flat_output = true;
  const auto add = [&](const char* name, Operation operation, const ImageShape& shape) {
    append(graph, name, std::move(operation), uint8_value(shape));
  };
  add("conv",
      Conv2d{{3, 3, 1, 1, 1, 1, 1, 1},
             random_tensor({256, 3, 3, 64}, 1),
             Tensor(DType::kInt32, {256}),
             shifted(6)},
      {1, 3, 3, 256});
  add("flatten", Flatten{}, {1, 1, 1, 2304});
  add("fc",
      FullyConnected{random_tensor({2120, 2304}, 2), Tensor(DType::kInt32, {2120}), shifted(7)},
      {1, 1, 1, 2120});
  validate(graph);
  return graph;
}

onnx::ModelProto large_model(const TestFolder& folder, const Graph& graph) {
  write_onnx(graph, folder / "written.onnx");
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(read_text_file(folder / "written.onnx")));
  return model;
}

// The initializers of at least kLargeRawData bytes.
std::vector<TensorProto*> large_tensors(onnx::ModelProto& model) {
  std::vector<TensorProto*> tensors;
  for (TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (std::ssize(tensor.raw_data()) >= kLargeRawData) tensors.push_back(&tensor);
  }
  return tensors;
}

// [rows][columns] to [columns][rows].
std::string turned(const std::string& bytes, std::size_t rows) {
  const std::size_t columns = bytes.size() / rows;
  std::string result(bytes.size(), ' ');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    result[i % columns * rows + i / columns] = bytes[i];
  }
  return result;
}

// QGemm without transB: its weights are [in][out].
void store_inputs_first(onnx::ModelProto& model, TensorProto& weights) {
  ASSERT_EQ(weights.dims_size(), 2);
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == "QGemm") node.clear_attribute();
  }
  weights.set_raw_data(turned(weights.raw_data(), static_cast<std::size_t>(weights.dims(0))));
  weights.mutable_dims()->SwapElements(0, 1);
}

void move_outside(TensorProto& tensor, const fs::path& folder) {
  const std::string file = tensor.name() + ".bin";
  write_text(folder / file, "12345678" + tensor.raw_data());
  tensor.clear_raw_data();
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair("location", file.c_str()), std::pair("offset", "8")}) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
}

std::unique_ptr<const ModelFile> read_model(const fs::path& path) {
  return read_model_file(std::make_shared<const HeldFile>(path));
}

// Stripes come from the file that was opened, not from the one that has its name by then.
TEST(LargeModel, IsNotMixedWithAFileThatTakesItsName) {
  const TestFolder folder;
  const Graph graph = large_graph();
  onnx::ModelProto other = large_model(folder, graph);
  for (TensorProto* tensor : large_tensors(other))
    tensor->mutable_raw_data()->assign(tensor->raw_data().size(), '\1');
  write_text(folder / "other.onnx", other.SerializeAsString());
  const auto held = std::make_shared<const HeldFile>(folder / "written.onnx");
  fs::rename(folder / "other.onnx", folder / "written.onnx");
  EXPECT_NE(difference(graph, import_onnx(folder / "written.onnx")), "");
  EXPECT_EQ(difference(graph, import_onnx(held)), "");
}

TEST(LargeModel, ItsWeightsStayInTheFileAndTheGraphIsTheSame) {
  const TestFolder folder;
  const Graph graph = large_graph();
  onnx::ModelProto model = large_model(folder, graph);
  const std::vector<TensorProto*> tensors = large_tensors(model);
  ASSERT_EQ(tensors.size(), 2U);
  const auto file = read_model(folder / "written.onnx");
  EXPECT_EQ(file->raw_data.size(), 2U);
  EXPECT_LT(file->proto.ByteSizeLong(), 20'000U);
  EXPECT_EQ(difference(graph, import_onnx(folder / "written.onnx")), "");

  store_inputs_first(model, *tensors[1]);
  write_text(folder / "turned.onnx", model.SerializeAsString());
  EXPECT_EQ(difference(graph, import_onnx(folder / "turned.onnx")), "");

  for (TensorProto* tensor : tensors) move_outside(*tensor, folder.path());
  write_text(folder / "outside.onnx", model.SerializeAsString());
  EXPECT_TRUE(read_model(folder / "outside.onnx")->raw_data.empty());
  EXPECT_EQ(difference(graph, import_onnx(folder / "outside.onnx")), "");
}

TEST(LargeModel, AWrongNumberOfBytesIsNamedAsThatOfASmallTensorIs) {
  const TestFolder folder;
  onnx::ModelProto model = large_model(folder, large_graph());
  large_tensors(model)[0]->mutable_raw_data()->pop_back();
  write_text(folder / "short.onnx", model.SerializeAsString());
  const ImportError error = import_error(folder / "short.onnx");
  EXPECT_EQ(error.code, ExitCode::kBadInput);
  EXPECT_NE(error.message.find(": holds 147455 bytes; expected 147456 for shape [256, 64, 3, 3]"),
            std::string::npos)
      << error;
}

// Messages of a field that occurs twice are merged, and the last raw_data of a tensor counts.
TEST(LargeModel, AnUnusualFileMeansWhatProtobufSays) {
  const TestFolder folder;
  const Graph graph = large_graph();
  onnx::ModelProto model = large_model(folder, graph);
  const TensorProto right = *large_tensors(model)[0];
  auto& tensors = *model.mutable_graph()->mutable_initializer();
  for (int i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name() == right.name()) tensors.DeleteSubrange(i, 1);
  }

  onnx::ModelProto rest;
  *rest.mutable_graph()->add_initializer() = right;
  write_text(folder / "merged.onnx", model.SerializeAsString() + rest.SerializeAsString());
  EXPECT_EQ(difference(graph, import_onnx(folder / "merged.onnx")), "");
  EXPECT_EQ(read_model(folder / "merged.onnx")->raw_data.size(), 2U);

  // Two messages of one tensor, one after the other, are one message with raw_data twice.
  TensorProto wrong;
  wrong.set_raw_data(std::string(right.raw_data().size(), '\1'));
  const std::string twice = wrong.SerializeAsString() + right.SerializeAsString();
  const auto delimited = [](char tag, const std::string& message) {
    std::string text(1, tag);
    std::size_t size = message.size();
    for (; size >= 0x80; size >>= 7) text += static_cast<char>(size | 0x80);
    return text + static_cast<char>(size) + message;
  };
  write_text(folder / "twice.onnx",
             model.SerializeAsString() + delimited('\x3a', delimited('\x2a', twice)));
  EXPECT_EQ(difference(graph, import_onnx(folder / "twice.onnx")), "");

  TensorProto few;
  few.set_raw_data("few");
  const std::string fewer = right.SerializeAsString() + few.SerializeAsString();
  write_text(folder / "fewer.onnx",
             model.SerializeAsString() + delimited('\x3a', delimited('\x2a', fewer)));
  EXPECT_NE(import_error(folder / "fewer.onnx").message.find(": holds 3 bytes; expected 147456"),
            std::string::npos);

  // raw_data, the last field, that is longer than its tensor, though not than the file.
  const std::string tensor = right.SerializeAsString();
  const std::string cut = delimited('\x3a', delimited('\x2a', tensor.substr(0, tensor.size() - 5)));
  // Its end would be that of the producer's name after it: five bytes.
  write_text(folder / "cut.onnx", cut + "\x12\x03" + "abc" + model.SerializeAsString());
  EXPECT_FALSE(read_model_outline(HeldFile(folder / "cut.onnx")));
  EXPECT_EQ(import_error(folder / "cut.onnx").code, ExitCode::kBadInput);
}

// What protobuf makes of the file, or nothing where it refuses it.
std::optional<std::string> parsed_whole(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return std::nullopt;
  return model.SerializeAsString();
}

// The same by way of the outline, with the bytes that were left in the file put back.
std::optional<std::string> parsed_outline(const fs::path& path, const std::string& bytes) {
  const std::optional<ModelOutline> outline = read_model_outline(HeldFile(path));
  onnx::ModelProto model;
  if (!outline || !model.ParseFromString(outline->message)) return std::nullopt;
  EXPECT_EQ(model.graph().initializer_size(), std::ssize(outline->initializers));
  if (outline->initializers.empty()) return model.SerializeAsString();  // perhaps without a graph
  auto& tensors = *model.mutable_graph()->mutable_initializer();
  for (int i = 0; i < tensors.size(); ++i) {
    const auto& range = outline->initializers[static_cast<std::size_t>(i)];
    if (!range) continue;
    tensors[i].set_raw_data(bytes.substr(static_cast<std::size_t>(range->offset),
                                         static_cast<std::size_t>(range->bytes)));
  }
  return model.SerializeAsString();
}

// An outline is either nothing, or just what protobuf reads: over files whose bytes outside the
// weights were changed, cut out, or doubled.
TEST(LargeModel, AnOutlineIsNeverAnotherModelThanTheFiles) {
  const TestFolder folder;
  TestModel small;
  small.set_constant("w", TensorProto::INT8, {3, 2, 3, 3}, std::string(kLargeRawData, '\2'));
  const std::string whole = small.proto.SerializeAsString();
  const std::size_t weights = whole.find(std::string(1000, '\2'));
  int outlines = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::string bytes = whole;
    const std::int64_t changes = random.uniform(0, 2);
    for (std::int64_t i = 0; i < changes; ++i) {
      auto at = static_cast<std::size_t>(random.uniform(0, 2000));
      if (at >= weights) at = bytes.size() - 1 - (at - weights) % (bytes.size() - weights);
      const std::int64_t manner = random.uniform(0, 5);
      if (manner == 0) {
        bytes.erase(at, static_cast<std::size_t>(random.uniform(1, 40)));
      } else if (manner == 1) {
        bytes.insert(at, bytes.substr(at, static_cast<std::size_t>(random.uniform(1, 40))));
      } else {
        bytes[at] = static_cast<char>(random.next());
      }
    }
    std::ofstream(folder / "model.onnx", std::ios::binary) << bytes;
    const std::optional<std::string> expected = parsed_whole(bytes);
    const std::optional<std::string> found = parsed_outline(folder / "model.onnx", bytes);
    EXPECT_TRUE(!found || found == expected);
    outlines += found ? 1 : 0;
    refused += expected ? 0 : 1;
  }
  EXPECT_GT(outlines, 500);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace qsim
