// A HostNetwork written and read again is the same, node by node.
#include "formats/onnx/exporter/host_exporter.h"

#include <gtest/gtest.h>

#include "formats/onnx/importer/host_importer.h"
#include "tests/quantize/hosted/float_network.h"
#include "tests/test_folder.h"

namespace qsim::formats {
namespace {

using quantize::FloatNetwork;

HostNetwork written_and_read(const HostNetwork& network, const std::vector<Tensor>& outputs) {
  const TestFolder folder;
  const std::string path = folder.write("net.onnx", onnx_bytes(network, outputs));
  return import_host_network(std::make_shared<const HeldFile>(path), {}, {});
}

std::vector<std::string> names_of(const HostNetwork& network, const std::vector<HostValueId>& ids) {
  std::vector<std::string> names;
  for (const HostValueId id : ids) {
    names.push_back(id == kAbsentValue ? "" : network.values[id].name);
  }
  return names;
}

TEST(HostExporter, NodesAttributesAndConstantsComeBack) {
  FloatNetwork net;
  const HostValueId x = net.picture();
  const HostValueId small =
      net.add("Resize", {x, kAbsentValue, net.constant(golden::f32({4}, {1, 1, 0.5F, 0.5F}))},
              {{"mode", std::string("nearest")},
               {"axes", golden::Integers{0, 1, 2, 3}},
               {"cubic_coeff_a", -0.5F}});
  const HostValueId bytes =
      net.add("QuantizeLinear", {net.conv(small, 3, 4), net.constant(golden::f32({}, {0.1F})),
                                 net.constant(golden::u8({}, {7}))});
  const HostValueId filled = net.add("ConstantOfShape", {net.constant(golden::list({2}))},
                                     {{"value", golden::i64({1}, {5})}});
  net.network.nodes.back().attributes["words"] = std::vector<std::string>{"a", "b"};
  net.network.nodes.back().attributes["reals"] = std::vector<float>{0.5F, 2};
  net.network.nodes.back().attributes["one"] = golden::Int{1};
  for (const HostValueId id : {bytes, filled}) net.output(id);
  const HostNetwork found = written_and_read(
      net.network, {golden::u8({1, 4, 3, 3}, std::vector<int>(36)), golden::list({5, 5})});
  ASSERT_EQ(found.nodes.size(), net.network.nodes.size());
  for (std::size_t n = 0; n < found.nodes.size(); ++n) {
    const HostNode& written = net.network.nodes[n];
    const HostNode& read = found.nodes[n];
    EXPECT_EQ(read.op, written.op);
    EXPECT_EQ(read.name, written.name);
    EXPECT_EQ(read.opset, written.opset);
    EXPECT_EQ(names_of(found, read.inputs), names_of(net.network, written.inputs));
    EXPECT_EQ(names_of(found, read.outputs), names_of(net.network, written.outputs));
    ASSERT_EQ(read.attributes.size(), written.attributes.size());
    for (const auto& [name, value] : written.attributes) {
      EXPECT_TRUE(read.attributes.at(name) == value) << name;
    }
  }
  EXPECT_EQ(names_of(found, found.inputs), names_of(net.network, net.network.inputs));
  EXPECT_EQ(names_of(found, found.outputs), names_of(net.network, net.network.outputs));
  EXPECT_EQ(found.values[found.inputs[0]].array.tensor.shape, (Shape{1, 3, 6, 6}));
}

TEST(HostExporter, TheNetworkThatIsReadGivesTheSameOutputs) {
  FloatNetwork net;
  const HostValueId y = net.silu(net.norm(net.conv(net.picture(), 3, 4), 4));
  net.output(y);
  golden::fold_and_shape(net.network);
  HostNetwork found = written_and_read(net.network, {net.array(y).tensor});
  golden::fold_and_shape(found);
  const std::vector<Tensor> inputs = net.sample(net.network);
  EXPECT_EQ(golden::run_host_network(found, inputs), golden::run_host_network(net.network, inputs));
}

// What a graph inside a node reads around it may have another name by now.
TEST(HostExporter, AGraphInsideANodeReadsWhatIsAroundIt) {
  FloatNetwork inside;
  const HostValueId captured = inside.picture();
  inside.output(inside.add("Relu", {captured}));
  FloatNetwork other;
  const HostValueId read = other.picture();
  other.output(other.add("Neg", {read}));
  FloatNetwork net;
  const HostValueId x = net.picture();
  net.network.values[x].name = "another name";
  const HostValueId condition = net.input(DType::kBool, {});
  const HostValueId y = net.add("If", {condition, x});
  HostNode& node = net.network.nodes.back();
  node.attributes["then_branch"] =
      HostBody{std::make_shared<const HostNetwork>(inside.network), {1}};
  node.attributes["else_branch"] =
      HostBody{std::make_shared<const HostNetwork>(other.network), {1}};
  net.output(y);
  const Tensor picture = net.reals({1, 3, 6, 6});
  HostNetwork found = written_and_read(net.network, {picture});
  golden::fold_and_shape(found);
  for (const bool is_true : {true, false}) {
    const Tensor chosen =
        golden::run_host_network(found, {picture, golden::bools({}, {is_true})})[0];
    for (std::size_t i = 0; i < chosen.as<float>().size(); ++i) {
      const float real = picture.as<float>()[i];
      ASSERT_EQ(chosen.as<float>()[i], is_true ? std::max(real, 0.0F) : -real);
    }
  }
}

TEST(HostExporter, AnOutputOfUnknownShapeHasTheRankOfItsTensor) {
  FloatNetwork net;
  const HostValueId places = net.add("NonZero", {net.picture({3})});
  net.output(places);
  golden::fold_and_shape(net.network);
  const HostNetwork found = written_and_read(net.network, {golden::i64({1, 2}, {0, 2})});
  EXPECT_EQ(names_of(found, found.outputs), names_of(net.network, {places}));
}

}  // namespace
}  // namespace qsim::formats
