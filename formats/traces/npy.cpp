#include "formats/traces/npy.h"

#include <array>
#include <cctype>
#include <cstring>
#include <optional>

#include "core/base/checked_math.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "core/numerics/half.h"
#include "formats/files/files.h"

namespace qsim::formats {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct TensorType {
  NpyType type;
  DType dtype;
};
// The first five are those of networks; all are those of a host.
constexpr std::array<TensorType, 8> kTensorTypes = {{{kNpyInt8, DType::kInt8},
                                                     {kNpyUint8, DType::kUint8},
                                                     {{"<i2", "int16", 2}, DType::kInt16},
                                                     {kNpyInt32, DType::kInt32},
                                                     {kNpyFloat32, DType::kFloat32},
                                                     {kNpyInt64, DType::kInt64},
                                                     {{"<f8", "float64", 8}, DType::kFloat64},
                                                     {{"|b1", "bool", 1}, DType::kBool}}};
constexpr std::size_t kNetworkTypes = 5;

// "int8 (|i1), uint8 (|u1) and float32 (<f4)"
std::string types_text(std::span<const NpyType> types) {
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i > 0) text += i + 1 == types.size() ? " and " : ", ";
    text += std::string(types[i].name) + " (" + std::string(types[i].descr) + ")";
  }
  return text;
}

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// Parses the Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::span<const NpyType> allowed, const std::string& source)
      : text_(text), allowed_(allowed), source_(source) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      refuse_second(key, header);
      if (key == "descr") {
        if (peek() == '[') fail("a structured dtype; allowed: " + types_text(allowed_));
        header.descr = string();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        fail("unknown header key '" + echoed(key) + "'; expected descr, fortran_order, shape");
      }
      if (!accept(',') && peek() != '}') fail("malformed header: expected ',' or '}'");
    }
    peek();
    if (at_ < text_.size()) {
      fail("malformed header: text after '}' at byte " + std::to_string(at_) +
           "; expected spaces and a line end");
    }
    if (!header.descr || !header.fortran_order || !header.shape) {
      fail("the header lacks one of descr, fortran_order, shape");
    }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw_bad_input(source_ + ": " + message);
  }

  // Python takes the last one, other readers the first.
  void refuse_second(const std::string& key, const Header& header) const {
    if ((key == "descr" && header.descr) || (key == "fortran_order" && header.fortran_order) ||
        (key == "shape" && header.shape)) {
      fail("malformed header: " + key + " twice; expected once");
    }
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) {
      fail("malformed header at byte " + std::to_string(at_) + ": expected '" + c + "'");
    }
  }

  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("malformed header: expected a quoted string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("malformed header: a string has no closing quote");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    fail("malformed header: fortran_order is neither True nor False");
  }

  Shape shape() {
    Shape dims;
    expect('(');
    while (!accept(')')) {
      dims.push_back(dimension());
      if (static_cast<std::int64_t>(dims.size()) > kMaxNpyDims) {
        fail("more than " + std::to_string(kMaxNpyDims) + " dimensions");
      }
      if (!accept(',') && peek() != ')') fail("malformed header: expected ',' or ')' in shape");
    }
    return dims;
  }

  std::int64_t dimension() {
    if (std::isdigit(static_cast<unsigned char>(peek())) == 0) {
      fail("malformed header: a dimension of shape is not a number");
    }
    std::int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      value = checked_add(checked_mul(value, 10), text_[at_++] - '0');
    }
    return value;
  }

  std::string_view text_;
  std::span<const NpyType> allowed_;
  const std::string& source_;
  std::size_t at_ = 0;
};

// Other types by the name that a NumPy user knows.
std::string descr_name(const std::string& descr) {
  constexpr std::array<std::array<std::string_view, 2>, 12> kNames = {{{"f8", "float64"},
                                                                       {"f2", "float16"},
                                                                       {"i8", "int64"},
                                                                       {"i2", "int16"},
                                                                       {"u2", "uint16"},
                                                                       {"u4", "uint32"},
                                                                       {"u8", "uint64"},
                                                                       {"b1", "bool"},
                                                                       {"c8", "complex64"},
                                                                       {"c16", "complex128"},
                                                                       {"i4", "int32"},
                                                                       {"f4", "float32"}}};
  for (const auto& [suffix, name] : kNames) {
    if (descr.empty() || descr.substr(1) != suffix) continue;
    return (descr[0] == '>' ? "big-endian " : "") + std::string(name) + " (" + echoed(descr) + ")";
  }
  return "'" + echoed(descr) + "'";
}

const NpyType& type_of_descr(const std::string& descr, std::span<const NpyType> allowed,
                             const std::string& source) {
  for (const NpyType& known : allowed) {
    const bool one_byte = known.descr[0] == '|';
    if (descr == known.descr || (one_byte && !descr.empty() &&
                                 descr.substr(1) == known.descr.substr(1) && descr[0] != '>')) {
      return known;
    }
  }
  throw_bad_input(source + ": dtype " + descr_name(descr) + "; allowed: " + types_text(allowed) +
                  ". In NumPy: array.astype(...)");
}

// A product of sizes that does not fit 64 bits knows nothing of the file.
std::int64_t data_bytes(const Shape& shape, const NpyType& type, const std::string& source) {
  try {
    return checked_mul(element_count(shape), static_cast<std::int64_t>(type.bytes));
  } catch (const Error& error) {
    throw_bad_input(source + ": " + error.what());
  }
}

struct HeaderSpan {
  std::size_t begin;
  std::size_t size;
};

HeaderSpan header_span(std::span<const std::byte> bytes, const std::string& source) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    throw_bad_input(source + ": not a .npy file (it does not start with \\x93NUMPY)");
  }
  const std::size_t major = byte(6);
  if (major < 1 || major > 3) {
    throw_bad_input(source + ": .npy version " + std::to_string(major) + "." +
                    std::to_string(byte(7)) + "; allowed: 1.0, 2.0 and 3.0");
  }
  HeaderSpan span{10, byte(8) | byte(9) << 8};
  if (major > 1) {
    if (bytes.size() < 12) throw_bad_input(source + ": truncated in the header");
    span = {12, span.size | byte(10) << 16 | byte(11) << 24};
  }
  if (static_cast<std::int64_t>(span.size) > kMaxNpyHeaderBytes) {
    throw_bad_input(source + ": a header of " + std::to_string(span.size) + " bytes; at most " +
                    std::to_string(kMaxNpyHeaderBytes) + " are allowed");
  }
  if (span.begin + span.size > bytes.size()) throw_bad_input(source + ": truncated in the header");
  return span;
}

struct Layout {
  NpyType type;
  Shape shape;
  std::size_t begin;  // of the data
};

// The layout of a file of `bytes` bytes that begins with `start`, which has all of the header.
Layout layout_of(std::span<const std::byte> start, std::int64_t bytes,
                 std::span<const NpyType> allowed, const std::string& source) {
  const HeaderSpan span = header_span(start, source);
  const std::string_view text(reinterpret_cast<const char*>(start.data()) + span.begin, span.size);
  Header header = HeaderParser(text, allowed, source).parse();
  const NpyType& type = type_of_descr(*header.descr, allowed, source);
  // One dimension is both C and Fortran order.
  if (*header.fortran_order && header.shape->size() > 1) {
    throw_bad_input(source + ": Fortran order; save numpy.ascontiguousarray(array)");
  }
  const std::size_t begin = span.begin + span.size;
  const std::int64_t needed = data_bytes(*header.shape, type, source);
  const std::int64_t found = bytes - static_cast<std::int64_t>(begin);
  if (found != needed) {
    throw_bad_input(source + ": " + (found < needed ? "truncated: " : "too long: ") +
                    std::to_string(found) + " bytes of data; " + std::string(type.name) + " " +
                    shape_text(*header.shape) + " has " + std::to_string(needed));
  }
  return {type, std::move(*header.shape), begin};
}

// The file, whose header and length agree.
std::vector<std::byte> read_npy_file(const std::filesystem::path& path,
                                     std::span<const NpyType> allowed) {
  return read_binary_file(path, kMaxFileBytes,
                          [&](std::span<const std::byte> start, std::int64_t bytes) {
                            layout_of(start, bytes, allowed, path.string());
                          });
}

constexpr std::array<NpyType, kTensorTypes.size()> types_of_tensors() {
  std::array<NpyType, kTensorTypes.size()> types;
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = kTensorTypes[i].type;
  return types;
}
constexpr std::array kNpyTypesOfHosts = types_of_tensors();
constexpr std::span<const NpyType> kNpyTypesOfTensors =
    std::span(kNpyTypesOfHosts).first<kNetworkTypes>();

constexpr std::array<NpyType, kTensorTypes.size() + 1> with_half() {
  std::array<NpyType, kTensorTypes.size() + 1> types{};
  for (std::size_t i = 0; i < kTensorTypes.size(); ++i) types[i] = kNpyTypesOfHosts[i];
  types.back() = kNpyFloat16;
  return types;
}
constexpr std::array kNpyTypesOfFiles = with_half();

Tensor tensor_of(NpyArray array) {
  Tensor tensor;
  for (const TensorType& known : kTensorTypes) {
    if (known.type.descr == array.descr) tensor.dtype = known.dtype;
  }
  tensor.shape = std::move(array.shape);
  tensor.bytes = std::move(array.bytes);
  return tensor;
}

}  // namespace

NpyArray parse_npy_array(std::span<const std::byte> bytes, std::span<const NpyType> allowed,
                         const std::string& source) {
  Layout layout = layout_of(bytes, std::ssize(bytes), allowed, source);
  const std::span<const std::byte> data = bytes.subspan(layout.begin);
  return {std::string(layout.type.descr), std::move(layout.shape), {data.begin(), data.end()}};
}

NpyArray read_npy_array(const std::filesystem::path& path, std::span<const NpyType> allowed) {
  return parse_npy_array(read_npy_file(path, allowed), allowed, path.string());
}

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& source) {
  return tensor_of(parse_npy_array(bytes, kNpyTypesOfTensors, source));
}

Tensor read_host_npy(const std::filesystem::path& path) {
  NpyArray array = read_npy_array(path, kNpyTypesOfFiles);
  if (array.descr != kNpyFloat16.descr) return tensor_of(std::move(array));
  Tensor tensor(DType::kFloat32, array.shape);
  for (std::size_t i = 0; i < array.bytes.size() / 2; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &array.bytes[2 * i], 2);
    tensor.as<float>()[i] = float_of_half(bits);
  }
  return tensor;
}

Tensor read_npy(const std::filesystem::path& path) {
  return parse_npy(read_npy_file(path, kNpyTypesOfTensors), path.string());
}

std::string npy_array_header(std::string_view descr, const Shape& shape) {
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t dim : shape) header += std::to_string(dim) + ", ";
  // NumPy writes (5,) and (2, 3): no comma at the end but for one dimension.
  if (shape.size() == 1) header.pop_back();
  if (shape.size() > 1) header.resize(header.size() - 2);
  header += "), }";
  // Data starts at a multiple of 64 bytes; the header ends with a newline.
  const std::size_t start =
      static_cast<std::size_t>(round_up(static_cast<std::int64_t>(10 + header.size() + 1), 64));
  header.append(start - 10 - header.size() - 1, ' ');
  header += '\n';
  std::string file(kMagic);
  file += '\1';
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header;
}

std::string npy_bytes(const Tensor& tensor) {
  std::string_view descr;
  for (const TensorType& known : kTensorTypes) {
    if (known.dtype == tensor.dtype) descr = known.type.descr;
  }
  std::string file = npy_array_header(descr, tensor.shape);
  file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return file;
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  write_file_atomically(path, npy_bytes(tensor));
}

void write_npy_array(const std::filesystem::path& path, const NpyArray& array) {
  std::string file = npy_array_header(array.descr, array.shape);
  file.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  write_file_atomically(path, file);
}

}  // namespace qsim::formats
