// Refusals of .npy headers and layer traces that the tests of their readers leave out.
#include "formats/traces/layer_trace.h"
#include "formats/traces/npy.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

// What reading an array with this header says.
std::string refusal_of(const std::string& header) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  return error_of([&] {
    parse_npy({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "t.npy");
  });
}

TEST(NpyRefusals, EntriesWithoutACommaBetweenThem) {
  EXPECT_EQ(refusal_of("{'descr': '|i1' 'fortran_order': False, 'shape': (1,), }"),
            "t.npy: malformed header: expected ',' or '}'");
}

TEST(NpyRefusals, MoreDimensionsThanAnythingHas) {
  std::string ones;
  for (int i = 0; i < 33; ++i) ones += "1,";
  EXPECT_EQ(refusal_of("{'descr': '|i1', 'fortran_order': False, 'shape': (" + ones + "), }"),
            "t.npy: more than 32 dimensions");
}

TEST(LayerTraceRefusals, WeightsOfAnotherRankThanTheOperationHas) {
  const TemporaryFolder folder;
  write_npy(folder.path() / "x.npy", Tensor(DType::kInt8, {1, 4, 4, 2}));
  write_npy(folder.path() / "w.npy", Tensor(DType::kInt8, {3, 2}));
  write_npy(folder.path() / "b.npy", Tensor(DType::kInt32, {3}));
  write_npy(folder.path() / "y.npy", Tensor(DType::kUint8, {1, 2, 2, 3}));
  folder.file("trace.yaml",
              "schema: qsim.trace/1\ninput: {file: x.npy}\nlayers:\n"
              "- {name: c, op: conv2d, weights: w.npy, bias: b.npy, shifts: [4], ofmap: y.npy}\n");
  expect_contains(error_of([&] { read_layer_trace(folder.path()); }),
                  "weights: has shape [3, 2]; expected [Cout, kernel_h, kernel_w, Cin]");
}

TEST(LayerTraceRefusals, ALayerWithoutAnOperation) {
  const TemporaryFolder folder;
  write_npy(folder.path() / "x.npy", Tensor(DType::kInt8, {1, 4, 4, 2}));
  folder.file("trace.yaml",
              "schema: qsim.trace/1\ninput: {file: x.npy}\nlayers:\n- {name: c, ofmap: x.npy}\n");
  expect_contains(error_of([&] { read_layer_trace(folder.path()); }), "the key 'op' is missing");
}

}  // namespace
}  // namespace qsim
