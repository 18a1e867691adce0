// Writes a first corpus: for every target a few small inputs that its reader takes, so that fuzzing
// starts past the first checks. usage: fuzz_seeds FOLDER (a folder a target is made in it)

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include <jpeglib.h>
#include <onnx/onnx_pb.h>
#include <png.h>

#include "compiler/compile.h"
#include "core/base/random.h"
#include "core/machine/program_text.h"
#include "formats/files/files.h"
#include "formats/settings/arch_config_file.h"
#include "formats/traces/layer_trace.h"
#include "formats/traces/npy.h"
#include "golden/graph/cpu/graph_executor.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/importer/random_graphs.h"
#include "tests/onnx/onnx_writer.h"

namespace qsim::fuzz {

using namespace compiler;
using namespace formats;
namespace {

// ONNX models for a first corpus that the project's writer does not write: with Reshape, Constant
// nodes, automatic padding and external data.
constexpr int kNeighbourBytes = 64;  // of weights.bin beside the model, see onnx_target.cpp

onnx::ModelProto model_of(const Graph& graph) {
  const Folder folder;
  write_onnx(graph, folder.path() / "model.onnx");
  onnx::ModelProto model;
  model.ParseFromString(read_text_file(folder.path() / "model.onnx"));
  return model;
}

onnx::NodeProto* node_of(onnx::ModelProto& model, const std::string& op_type) {
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == op_type) return &node;
  }
  return nullptr;
}

// A model of random_chain that has such a node.
onnx::ModelProto model_with(const std::string& op_type) {
  for (std::uint64_t seed = 1;; ++seed) {
    onnx::ModelProto model = model_of(random_chain(seed));
    if (node_of(model, op_type) != nullptr) return model;
  }
}

// Flatten as Reshape to [0, -1]; the shape by a Constant node or an initializer.
std::string with_reshape(bool constant_node) {
  onnx::ModelProto model = model_with("Flatten");
  onnx::NodeProto& node = *node_of(model, "Flatten");
  node.set_op_type("Reshape");
  node.clear_attribute();
  node.add_input("new_shape");
  onnx::GraphProto& graph = *model.mutable_graph();
  if (constant_node) {
    onnx::NodeProto& constant = *graph.add_node();
    constant.set_op_type("Constant");
    constant.add_output("new_shape");
    onnx::AttributeProto& value = *constant.add_attribute();
    value.set_name("value_ints");
    value.set_type(onnx::AttributeProto::INTS);
    value.add_ints(0);
    value.add_ints(-1);
  } else {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name("new_shape");
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(2);
    tensor.add_int64_data(0);
    tensor.add_int64_data(-1);
  }
  return model.SerializeAsString();
}

std::string with_automatic_padding(const std::string& mode) {
  onnx::ModelProto model = model_of(random_convolution(2));
  onnx::NodeProto& node = *node_of(model, "QLinearConv");
  for (int i = node.attribute_size() - 1; i >= 0; --i) {
    if (node.attribute(i).name() == "pads") node.mutable_attribute()->DeleteSubrange(i, 1);
  }
  onnx::AttributeProto& pads = *node.add_attribute();
  pads.set_name("auto_pad");
  pads.set_type(onnx::AttributeProto::STRING);
  pads.set_s(mode);
  auto* shape = model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  for (auto& dim : *shape->mutable_shape()->mutable_dim()) dim.set_dim_param("any");
  return model.SerializeAsString();
}

std::string with_external_data() {
  onnx::ModelProto model = model_of(random_chain(4));
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const auto bytes = static_cast<int>(tensor.raw_data().size());
    if (tensor.data_type() != onnx::TensorProto::INT8 || bytes == 0 ||
        bytes > kNeighbourBytes / 2) {
      continue;
    }
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "weights.bin"},
                                     {"offset", "16"},
                                     {"length", std::to_string(bytes)}}) {
      onnx::StringStringEntryProto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  return model.SerializeAsString();
}

std::vector<std::string> edited_models() {
  return {with_reshape(true), with_reshape(false), with_automatic_padding("SAME_UPPER"),
          with_automatic_padding("SAME_LOWER"), with_external_data()};
}

namespace fs = std::filesystem;

class Corpus {
 public:
  explicit Corpus(fs::path root) : root_(std::move(root)) {}

  fs::path path(const std::string& target) {
    make_folder(root_ / target);
    return root_ / target / ("seed-" + std::to_string(count_++));
  }
  void add(const std::string& target, std::string_view content) {
    write_file_atomically(path(target), content);
  }

 private:
  fs::path root_;
  int count_ = 0;
};

// Random bytes, each of which draws a network and an accelerator.
void add_networks(Corpus& corpus) {
  Random random(1);
  for (int i = 0; i < 8; ++i) {
    std::string bytes(static_cast<std::size_t>(40 + 20 * i), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next() >> 40);
    corpus.add("network", bytes);
  }
}

// A picture of 3 x 4 pixels and one to three small layers.
Graph small_graph(std::int64_t layers) {
  Random random(static_cast<std::uint64_t>(layers));
  Graph graph;
  graph.name = "seed";
  graph.input_value().shape = {1, 3, 4, 2};
  graph.input_value().zero_point = 3;
  Value out = graph.input_value();
  out.shape.channels = 5;
  Conv2d conv;
  conv.window = {3, 2, 1, 1, 1, 0, 1, 1};
  conv.weights = Tensor(DType::kInt8, {5, 3, 2, 2});
  for (std::byte& byte : conv.weights.bytes) byte = static_cast<std::byte>(random.next() >> 40);
  conv.bias = Tensor(DType::kInt32, {5});
  conv.requantization.shifts = {9};
  append(graph, "conv", std::move(conv), out);
  if (layers > 1) {
    out.shape.height = 1;
    out.shape.width = 2;
    append(graph, "pool", MaxPool{{2, 2, 2, 2, 0, 0, 0, 0}}, out);
  }
  if (layers > 2) {
    Value flat = out;
    flat.shape = {1, 1, 1, 10};
    append(graph, "flat", Flatten{}, flat);
    flat.shape.channels = 3;
    FullyConnected fc{Tensor(DType::kInt8, {3, 10}), Tensor(DType::kInt32, {3}), {}};
    fc.weights.bytes.assign(30, std::byte{7});
    fc.requantization.shifts = {4, 5, 6};
    append(graph, "fc", std::move(fc), flat);
  }
  validate(graph);
  return graph;
}

ArchConfig small_arch(std::int64_t rows = 4, std::int64_t cols = 4) {
  ArchConfig arch;
  arch.name = "seed";
  arch.array_rows = rows;
  arch.array_cols = cols;
  arch.act_scratchpad_kib = arch.weight_scratchpad_kib = 1;
  arch.accumulator_kib = arch.output_scratchpad_kib = 1;
  arch.bus_bytes = 8;
  return arch;
}

void add_traces_and_programs(Corpus& corpus) {
  for (std::int64_t layers = 1; layers <= 3; ++layers) {
    const Graph graph = small_graph(layers);
    Tensor input(graph.input_value().dtype, graph.input_value().shape.nhwc());
    for (std::size_t i = 0; i < input.bytes.size(); ++i) input.bytes[i] = std::byte(11 * i);
    const Folder folder;
    std::string tensors;
    write_layer_trace(folder.path(), graph, input, golden::run_graph(graph, input),
                      [&](const fs::path& path, std::string_view content) {
                        const std::string name = path.filename().string();
                        if (name == kLayerTraceFile) {
                          tensors.insert(0, content);
                        } else {
                          tensors += "\n=== " + name + "\n";
                          tensors += content;
                        }
                      });
    corpus.add("layer_trace", tensors);
    std::ostringstream text;
    print_program(compile(graph, layers == 1 ? small_arch(8, 8) : small_arch()), text);
    corpus.add("program_text", text.str());
  }
}

void add_models(Corpus& corpus) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    write_onnx(seed % 3 == 0 ? random_convolution(seed) : random_chain(seed), corpus.path("onnx"));
  }
  for (const std::string& model : edited_models()) corpus.add("onnx", model);
}

void add_tensors(Corpus& corpus) {
  for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kInt32, DType::kFloat32}) {
    corpus.add("npy", npy_bytes(Tensor(dtype, {2, 3})));
  }
  corpus.add("npy", npy_bytes(Tensor(DType::kInt8, {})));
  corpus.add("npy", npy_bytes(Tensor(DType::kInt8, {0, 5})));
  corpus.add("cifar", std::string(1, '\0') + '\3' + '\7' + std::string(3072, 'x'));
  corpus.add("cifar", std::string(1, '\0') + '\3' + '\x0a' + std::string(3072, 'x'));
  corpus.add("cifar", std::string(2, '\0') + '\x09' + std::string(3072 * 2 + 1, '\1'));
}

void add_texts(Corpus& corpus) {
  corpus.add("arch_config", arch_config_yaml(small_arch()));
  corpus.add("arch_config", arch_config_yaml(ArchConfig()));
  corpus.add("arch_config", "array_rows: 8\narray_cols: 32\nclock_mhz: 0x10\n");
  corpus.add("sidecar",
             "preprocess: {resize: [5, 6], mean: [0.5, 0, -1e-3], std: [0.25, 1, 3]}\n"
             "labels: [cat, \"a dog\", 'x']\n");
  corpus.add("sidecar", "preprocess: {resize: [1, 1], mean: [0, 0, 0], std: [1, 0, -1]}\n");
  corpus.add("sidecar", "preprocess: {resize: [1, 1], mean: [1e39, 0, 0], std: [1, 1, 1]}\n");
  corpus.add("workload",
             "input: {shape: [1, 1, 1, 3]}\n"
             "layers:\n  - {op: fully_connected, out_features: 2, zero_point: 200}\n");
  corpus.add("workload",
             "name: small\nseed: 7\ninput: {shape: [1, 8, 9, 3], dtype: uint8, zero_point: 128}\n"
             "layers:\n"
             "  - {op: conv2d, out_channels: 4, kernel: 3, pad: [1, 0], relu: true}\n"
             "  - {op: max_pool, kernel: [2, 3], stride: 2, ceil_mode: true}\n"
             "  - {op: flatten, order: hwc}\n"
             "  - {op: fully_connected, out_features: 5, per_channel_shift: true}\n");
  corpus.add("workload",
             "input: {shape: [2, 4, 4, 2]}\nlayers:\n"
             "  - op: conv2d\n    out_channels: 3\n    kernel: [2, 2]\n    stride: [1, 2]\n"
             "    pad: [1, 0, 2, 1]\n    rounding: floor\n    shift: 9\n    bias_mean: 12.5\n"
             "    dtype: uint8\n    zero_point: 200\n  - {op: relu, name: last}\n");
  corpus.add("yaml", "a: [1, 2.5, \"x\\u0041\\n\", 'it''s']\nb:\n  - {c: true}\n  - folded\n");
  corpus.add("yaml", "name: x\nseed: 0x1F\nlayers: [[[]], {}]\ninput: {shape: [1, 2, 3, 4]}\n");
  corpus.add("yaml", "- &a x\n- *a\n- !!str 5\n---\n...\n");
}

// Grey, palette, colour and colour with alpha; 1, 8 and 16 bits; straight and interlaced.
void add_png(Corpus& corpus, int colour, int bits, int interlace) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string content;
  png_set_write_fn(
      png, &content,
      [](png_structp p, png_bytep data, png_size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))
            ->append(reinterpret_cast<const char*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, 5, 4, bits, colour, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[4] = {{0, 0, 0}, {255, 0, 0}, {0, 255, 0}, {9, 9, 9}};
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 4);
  png_write_info(png, info);
  std::string row(64, '\1');
  const int passes = png_set_interlace_handling(png);
  for (int y = 0; y < 4 * passes; ++y) {
    png_write_row(png, reinterpret_cast<png_const_bytep>(row.data()));
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  corpus.add("image", content);
}

void add_jpeg(Corpus& corpus, int components, bool progressive) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = 9;
  info.image_height = 8;
  info.input_components = components;
  info.in_color_space = components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  std::string row(27, '\x55');
  auto* pixels = reinterpret_cast<JSAMPROW>(row.data());
  while (info.next_scanline < info.image_height) {
    row[0] = static_cast<char>(40 * info.next_scanline);
    jpeg_write_scanlines(&info, &pixels, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  corpus.add("image", {reinterpret_cast<const char*>(bytes), size});
  std::free(bytes);
}

void add_pictures(Corpus& corpus) {
  add_png(corpus, PNG_COLOR_TYPE_GRAY, 1, PNG_INTERLACE_NONE);
  add_png(corpus, PNG_COLOR_TYPE_PALETTE, 8, PNG_INTERLACE_NONE);
  add_png(corpus, PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_ADAM7);
  add_png(corpus, PNG_COLOR_TYPE_RGB_ALPHA, 16, PNG_INTERLACE_NONE);
  add_png(corpus, PNG_COLOR_TYPE_GRAY_ALPHA, 8, PNG_INTERLACE_NONE);
  add_jpeg(corpus, 1, false);
  add_jpeg(corpus, 3, false);
  add_jpeg(corpus, 3, true);
}

}  // namespace

void write_seeds(const fs::path& folder) {
  Corpus corpus(folder);
  add_networks(corpus);
  add_traces_and_programs(corpus);
  add_models(corpus);
  add_tensors(corpus);
  add_texts(corpus);
  add_pictures(corpus);
}

}  // namespace qsim::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  qsim::fuzz::write_seeds(argv[1]);
  return 0;
}
