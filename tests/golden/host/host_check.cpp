// Runs ONNX files on the host, for scripts:
//
//   host_check MODEL.onnx IN OUT        IN/input_0.pb ... are the inputs, as onnx::TensorProto;
//                                       writes OUT/output_0.pb ...
//   host_check --node-tests FOLDER ...  folders as onnx.backend.test makes them: model.onnx and
//                                       test_data_set_0; a line each: "pass", "FAIL why" or
//                                       "refused why"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/base/error.h"
#include "formats/files/held_file.h"
#include "formats/onnx/importer/host_importer.h"
#include "formats/onnx/importer/model_file.h"
#include "formats/onnx/importer/tensor_proto.h"
#include "formats/onnx/types/element_types.h"
#include "golden/host/host_executor.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_bad_input(path.string() + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Tensor read_tensor(const fs::path& path) {
  onnx::TensorProto proto;
  if (!proto.ParseFromString(text_of(path))) throw_bad_input(path.string() + ": not a tensor");
  return formats::decode_host_tensor(proto, {path.parent_path()}, path.string());
}

std::vector<Tensor> read_tensors(const fs::path& folder, const std::string& kind) {
  std::vector<Tensor> tensors;
  for (;;) {
    const fs::path path = folder / (kind + "_" + std::to_string(tensors.size()) + ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(read_tensor(path));
  }
}

void write_tensor(const fs::path& path, const Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_data_type(formats::onnx_dtype(tensor.dtype));
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  std::ofstream(path, std::ios::binary) << proto.SerializeAsString();
}

std::vector<Tensor> run_model(const fs::path& model, std::vector<Tensor> inputs) {
  const auto file = formats::read_model_file(std::make_shared<const formats::HeldFile>(model));
  HostNetwork network = formats::import_host_network(*file);
  if (inputs.size() < network.inputs.size()) {
    throw_bad_input(model.string() + ": " + std::to_string(network.inputs.size()) + " inputs");
  }
  inputs.resize(network.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    HostArray& array = network.values[network.inputs[i]].array;
    array.known = HostArray::Known::kShape;
    array.tensor.dtype = inputs[i].dtype;
    array.tensor.shape = inputs[i].shape;
  }
  golden::fold_and_shape(network);
  return golden::run_host_network(network, std::move(inputs));
}

double number(const Tensor& tensor, std::size_t i) {
  switch (tensor.dtype) {
    case DType::kFloat32:
      return tensor.as<float>()[i];
    case DType::kFloat64:
      return tensor.as<double>()[i];
    case DType::kInt64:
      return static_cast<double>(tensor.as<std::int64_t>()[i]);
    case DType::kInt32:
      return tensor.as<std::int32_t>()[i];
    case DType::kInt16:
      return tensor.as<std::int16_t>()[i];
    case DType::kInt8:
      return tensor.as<std::int8_t>()[i];
    case DType::kUint8:
    case DType::kBool:
      break;
  }
  return std::to_integer<int>(tensor.bytes[i]);
}

// As ONNX's own runner compares: 1e-3 relative and 1e-7 absolute of floats, integers exactly.
std::string difference(const Tensor& found, const Tensor& expected) {
  if (found.dtype != expected.dtype || found.shape != expected.shape) {
    return std::string(dtype_name(found.dtype)) + " " + shape_text(found.shape) + "; expected " +
           std::string(dtype_name(expected.dtype)) + " " + shape_text(expected.shape);
  }
  const bool is_real = found.dtype == DType::kFloat32 || found.dtype == DType::kFloat64;
  for (std::size_t i = 0; i < static_cast<std::size_t>(found.elems()); ++i) {
    const double a = number(found, i);
    const double b = number(expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (is_real && std::abs(a - b) <= 1e-7 + 1e-3 * std::abs(b)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a) + "; expected " +
           std::to_string(b);
  }
  return "";
}

std::string node_test(const fs::path& folder) {
  const fs::path data = folder / "test_data_set_0";
  try {
    const std::vector<Tensor> outputs =
        run_model(folder / "model.onnx", read_tensors(data, "input"));
    const std::vector<Tensor> expected = read_tensors(data, "output");
    if (outputs.size() != expected.size()) return "FAIL another number of outputs";
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string found = difference(outputs[i], expected[i]);
      if (!found.empty()) return "FAIL output " + std::to_string(i) + ": " + found;
    }
    return "pass";
  } catch (const Error& error) {
    return (error.code() == ExitCode::kUnsupportedModel ? "refused " : "FAIL ") +
           std::string(error.what());
  }
}

int check(const std::vector<std::string>& words) {
  if (words.size() >= 2 && words[0] == "--node-tests") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::cout << fs::path(words[i]).filename().string() << ' ' << node_test(words[i]) << '\n';
    }
    return 0;
  }
  if (words.size() != 3) {
    std::cerr << "usage: host_check MODEL.onnx IN OUT | host_check --node-tests FOLDER ...\n";
    return 2;
  }
  const std::vector<Tensor> outputs = run_model(words[0], read_tensors(words[1], "input"));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    write_tensor(fs::path(words[2]) / ("output_" + std::to_string(i) + ".pb"), outputs[i]);
  }
  return 0;
}

}  // namespace
}  // namespace qsim

int main(int argc, char** argv) {
  try {
    return qsim::check({argv + 1, argv + argc});
  } catch (const qsim::Error& error) {
    std::cerr << "host_check: " << error.what() << '\n';
    return static_cast<int>(error.code());
  }
}
