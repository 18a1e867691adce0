// Constant nodes that are not as ONNX says.
#include <gtest/gtest.h>

#include "tests/importer/model_builder.h"

namespace qsim {
namespace {

TEST(ImporterRefuses, AConstantNodeWithMoreThanItsOneAttribute) {
  TestModel model;
  onnx::NodeProto& node = *model.graph().add_node();
  node.set_op_type("Constant");
  node.set_name("two");
  node.add_output("two.out");
  for (const char* name : {"value_int", "value_float"}) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
  }
  EXPECT_EQ(import_error(model),
            (ImportError{ExitCode::kBadInput,
                         "node 'two' (Constant): 2 attributes, 0 inputs, 1 outputs; expected 1, 0, "
                         "1"}));
}

}  // namespace
}  // namespace qsim
