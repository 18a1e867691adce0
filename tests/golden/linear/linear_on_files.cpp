// linear_on_files X W SCALES BIAS|- GROUP Y_TYPE reference|packed|reference_int8|packed_int8 Y
// [SCALE] A weight-only linear layer on .npy files, for exact_arithmetic_test.py: x of float32,
// float16 or uint16 (BF16's bits), int8 weights [N, K], scales [N, groups] and bias [N] of float32.
// y has the same types as x. SCALE: the static scale of x of the two last ones.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/error.h"
#include "formats/traces/npy.h"
#include "golden/kernels/linear/packed_linear.h"
#include "golden/kernels/linear/reference_linear.h"

namespace qsim::golden {

using namespace formats;
namespace {

constexpr NpyType kTypes[] = {kNpyFloat32, kNpyFloat16, kNpyUint16};  // in FloatType's order

FloatMatrix read_matrix(const char* file) {
  NpyArray array = read_npy_array(file, kTypes);
  FloatMatrix matrix;
  while (array.descr != kTypes[static_cast<std::size_t>(matrix.type)].descr) {
    matrix.type = static_cast<FloatType>(static_cast<int>(matrix.type) + 1);
  }
  matrix.rows = array.shape.at(0);
  matrix.columns = array.shape.at(1);
  matrix.bytes = std::move(array.bytes);
  return matrix;
}

std::vector<float> read_floats(const char* file) {
  const NpyArray array = read_npy_array(file, std::span(kTypes).first(1));
  std::vector<float> floats(array.bytes.size() / sizeof(float));
  std::memcpy(floats.data(), array.bytes.data(), array.bytes.size());
  return floats;
}

LinearWeights read_weights(const char* file, const char* scales, const char* group) {
  constexpr NpyType kInt8[] = {kNpyInt8};
  const NpyArray array = read_npy_array(file, kInt8);
  LinearWeights weights;
  weights.out_features = array.shape.at(0);
  weights.in_features = array.shape.at(1);
  weights.group_size = std::atoi(group);
  weights.values.resize(array.bytes.size());
  std::memcpy(weights.values.data(), array.bytes.data(), array.bytes.size());
  weights.scales = read_floats(scales);
  return weights;
}

FloatType type_of(const std::string& name) {
  for (const FloatType type : {FloatType::kFloat32, FloatType::kFloat16, FloatType::kBfloat16}) {
    if (float_type_name(type) == name) return type;
  }
  throw_bad_input("which type? fp32, fp16 or bf16");
}

void run(char** arguments) {
  const FloatMatrix x = read_matrix(arguments[1]);
  const LinearWeights weights = read_weights(arguments[2], arguments[3], arguments[5]);
  std::vector<float> bias;
  if (std::strcmp(arguments[4], "-") != 0) bias = read_floats(arguments[4]);
  const FloatType type = type_of(arguments[6]);
  ThreadTeam team(1);
  const std::string path = arguments[7];
  Int8Activations activations;
  if (arguments[9] != nullptr) activations.scale = std::strtof(arguments[9], nullptr);
  FloatMatrix y;
  if (path == "packed") {
    y = PackedLinear(weights, bias).run(x, type, team);
  } else if (path == "packed_int8") {
    y = PackedLinear(weights, bias).run_int8(x, activations, type, team);
  } else if (path == "reference_int8") {
    y = reference_linear_int8(x, activations, weights, bias, type);
  } else {
    y = reference_linear(x, weights, bias, type);
  }
  const NpyType& stored = kTypes[static_cast<std::size_t>(type)];
  write_npy_array(arguments[8], {std::string(stored.descr), {y.rows, y.columns}, y.bytes});
}

}  // namespace
}  // namespace qsim::golden

int main(int argc, char** argv) {
  try {
    if (argc != 9 && argc != 10) qsim::throw_bad_input("eight or nine arguments are needed");
    qsim::golden::run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "linear_on_files: %s\n", error.what());
    return 1;
  }
  return 0;
}
