// A small float ONNX model to break in one place at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/network/graph.h"
#include "tests/importer/model_builder.h"

namespace qsim {

// "image" float32 [N, 2, 4, 4] -> Conv "conv" (3x3, pads 1, to 3 channels, bias) ->
// BatchNormalization "norm" -> Relu "relu" -> MaxPool "pool" 2x2 -> Flatten "flatten" -> Gemm "fc"
// (transB, bias) -> "scores" float32 [N, 5]. Every node's output is called "<node>.out" but the
// last. Constants: w, b, gamma, beta, mean, variance, fc_w, fc_b. Opset 13.
class RealModel : public TestModel {
 public:
  RealModel();

  // A float32 constant of that shape, whose numbers are in order 0.25 * sin(index + `phase`).
  void set_numbers(const std::string& name, std::initializer_list<std::int64_t> shape,
                   double phase = 0);
  void set_reals(const std::string& name, std::initializer_list<std::int64_t> shape,
                 const std::vector<float>& values);
  // A node of one more input after the tensor at input 0, put before node `next`.
  onnx::NodeProto& insert_binary(const std::string& next, const std::string& op_type,
                                 const std::string& name, const std::string& constant);
  void set_opset(int version);
};

// What it reads from `name` as float32, in the order of the file.
std::vector<float> numbers_of(TestModel& model, const std::string& name);

Graph import_real(const TestModel& model, std::int64_t batch = 1);
// Does what import_error of model_builder.h does, with the float importer.
ImportError real_import_error(const std::filesystem::path& path);
ImportError real_import_error(const TestModel& model, std::int64_t batch = 1);

struct RealFault {
  std::string expected;
  std::function<void(RealModel&)> apply;
};
// Each fault alone in a RealModel gives its error.
void expect_real_errors(ExitCode code, const std::vector<RealFault>& faults);

}  // namespace qsim
