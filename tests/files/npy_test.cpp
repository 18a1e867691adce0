// .npy files: what NumPy writes is read, everything else is refused by name.
#include "formats/traces/npy.h"

#include "formats/files/files.h"
#include "tests/files/files_test_support.h"

namespace qsim {

using namespace formats;
namespace {

// A file as NumPy writes it: version, header (without its length), data.
std::string npy(int version, const std::string& header, const std::string& data) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

Tensor parse(const std::string& file) {
  return parse_npy({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "t.npy");
}

TEST(Npy, RoundTripKeepsTypeShapeAndBytes) {
  const TemporaryFolder folder;
  for (const DType dtype : {DType::kInt8, DType::kUint8, DType::kInt32, DType::kFloat32}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{1, 0, 4}, Shape{2, 1, 3, 2}}) {
      Tensor tensor(dtype, shape);
      for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
        tensor.bytes[i] = static_cast<std::byte>(37 * i + 11);
      }
      write_npy(folder.path() / "t.npy", tensor);
      EXPECT_EQ(read_npy(folder.path() / "t.npy"), tensor) << shape_text(shape);
    }
  }
}

TEST(Npy, AnArrayOfAnyTypeIsReadIfItIsAllowedAndWrittenAsItWas) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "t.npy";
  const std::array allowed = {kNpyFloat16, kNpyUint16};
  const NpyArray array{"<f2", {2, 1}, {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}};
  write_npy_array(path, array);
  const NpyArray found = read_npy_array(path, allowed);
  EXPECT_EQ(found.descr, array.descr);
  EXPECT_EQ(found.shape, array.shape);
  EXPECT_EQ(found.bytes, array.bytes);
  expect_contains(error_of([&] {
                    read_npy_array(path, std::array{kNpyUint8, kNpyInt32});
                  }),
                  "dtype float16 (<f2); allowed: uint8 (|u1) and int32 (<i4)");
  const std::string file =
      npy(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}\n", "abc");
  expect_contains(error_of([&] {
                    parse_npy_array({reinterpret_cast<const std::byte*>(file.data()), file.size()},
                                    allowed, "t.npy");
                  }),
                  "t.npy: truncated: 3 bytes of data; uint16 [2] has 4");
}

TEST(Npy, WritesExactlyWhatNumpyWrites) {
  const std::vector<std::int32_t> values = {1, -2};
  const std::string file = npy_bytes(make_tensor<std::int32_t>({2}, values));
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  header.append(118 - header.size() - 1, ' ');
  header += '\n';
  EXPECT_EQ(file, npy(1, header, std::string("\1\0\0\0\xfe\xff\xff\xff", 8)));
}

TEST(Npy, ReadsEveryVersionAndKeyOrder) {
  const std::string header = "{\"shape\": (3,), 'fortran_order':False,'descr': '|i1'}\n";
  for (const int version : {1, 2, 3}) {
    const Tensor tensor = parse(npy(version, header, "\1\2\xff"));
    EXPECT_EQ(tensor.shape, Shape{3});
    EXPECT_EQ(tensor.as<std::int8_t>()[2], -1);
  }
  expect_contains(error_of([&] { parse(npy(4, header, "\1\2\3")); }), "version 4.0");
}

TEST(Npy, OtherTypesAreRefusedByTheirNumpyName) {
  const auto refuse = [](const std::string& descr) {
    return error_of([&] {
      parse(npy(1, "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (), }", ""));
    });
  };
  expect_contains(refuse("<f8"), "float64 (<f8)");
  expect_contains(refuse("<f8"), "allowed: int8 (|i1)");
  expect_contains(refuse("<i8"), "int64");
  expect_contains(refuse("|b1"), "bool");
  expect_contains(refuse(">i4"), "big-endian int32");
  expect_contains(
      error_of([&] { parse(npy(1, "{'descr': [('a', '<i4')], 'fortran_order': False}", "")); }),
      "structured dtype");
}

TEST(Npy, FortranOrderIsRefused) {
  const std::string header = "{'descr': '|i1', 'fortran_order': True, 'shape': (1, 3), }";
  expect_contains(error_of([&] { parse(npy(1, header, "123")); }), "Fortran order");
}

TEST(Npy, EveryTruncationIsRefused) {
  const Tensor tensor(DType::kInt32, {2, 3});
  const std::string file = npy_bytes(tensor);
  for (std::size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    error_of([&] { parse(file.substr(0, size)); });
  }
  expect_contains(error_of([&] { parse(file.substr(0, file.size() - 1)); }), "truncated: 23 bytes");
  expect_contains(error_of([&] { parse(file + "x"); }), "too long: 25 bytes");
}

TEST(Npy, MalformedHeadersAreRefused) {
  for (const char* header :
       {"", "{", "{}", "{'descr': '|i1'}", "{'descr': '|i1', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '|i1', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '|i1', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '|i1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '|i1', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "{'descr: 1",
        "{'descr': '|i1', 'x': 1}"}) {
    SCOPED_TRACE(header);
    expect_contains(error_of([&] { parse(npy(1, header, "")); }), "");
  }
  const std::string huge(70'000, ' ');
  std::string file = npy(2, huge, "");
  file[10] = 1;  // 65536 more
  expect_contains(error_of([&] { parse(file); }), "at most 65535");
}

}  // namespace
}  // namespace qsim
