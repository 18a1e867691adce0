// Reads a program's text line by line; the form is what program_text.cpp prints. What a line holds
// comes first, each as the noun that it describes; all throw Error with the line, what was found
// and what is expected.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text_line.h"
#include "core/machine/isa/command_codec.h"
#include "core/machine/program.h"
#include "core/machine/program_text.h"

namespace qsim {
namespace {

using Semaphores = decltype(Program::semaphores);

constexpr std::int64_t kMaxDimension = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMinInt32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

constexpr std::array<std::string_view, 10> kTensorKeys = {
    "address", "block",    "dtype",      "batch",          "height",
    "width",   "channels", "zero_point", "scale_exponent", "scale_multiplier"};
constexpr std::array<std::string_view, 12> kTapKeys = {
    "kernel_h",   "kernel_w",  "stride_h", "stride_w", "pad_top", "pad_left",
    "pad_bottom", "pad_right", "batch",    "height",   "width",   "channels"};
constexpr std::array<std::string_view, 6> kOriginKeys = {"layer", "tile", "n", "y", "x", "c"};

template <std::size_t N>
std::vector<std::string_view> with_keys(std::initializer_list<std::string_view> first,
                                        const std::array<std::string_view, N>& more) {
  std::vector<std::string_view> keys(first);
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

ImageShape parse_shape(const TextLine& line) {
  return {line.number("batch", 1, kMaxDimension), line.number("height", 1, kMaxDimension),
          line.number("width", 1, kMaxDimension), line.number("channels", 1, kMaxDimension)};
}

// scale_multiplier * 2^-scale_exponent; the multiplier is 1 where it is absent.
Scale parse_scale(const TextLine& line) {
  const bool has_multiplier = line.has("scale_multiplier");
  const std::int64_t multiplier =
      has_multiplier ? line.number("scale_multiplier", 1, (1 << 24) - 1) : 1;
  const std::int64_t exponent =
      line.number("scale_exponent", -Scale::kMaxLog2, 23 - Scale::kMinLog2);
  const double real = std::ldexp(static_cast<double>(multiplier), static_cast<int>(-exponent));
  const bool fits = real <= static_cast<double>(std::numeric_limits<float>::max());
  const auto scale = Scale::of(fits ? static_cast<float>(real) : 0.0F);
  if (!scale || static_cast<double>(scale->real()) != real) {
    line.fail("scale_exponent", "a scale that float32 represents exactly");
  }
  return *scale;
}

DramTensor tensor_of(const TextLine& line, std::int64_t writable_bytes) {
  DramTensor tensor;
  tensor.address = line.number("address", 0, kMaxDramBytes);
  tensor.block = line.number("block", 1, kMaxDimension);
  const std::string dtype = line.text("dtype");
  if (dtype != "int8" && dtype != "uint8") line.fail("dtype", "int8 or uint8");
  tensor.value.dtype = dtype == "int8" ? DType::kInt8 : DType::kUint8;
  tensor.value.shape = parse_shape(line);
  tensor.value.zero_point =
      static_cast<std::int32_t>(line.number("zero_point", tensor.value.min(), tensor.value.max()));
  if (line.has("scale_exponent")) tensor.value.scale = parse_scale(line);
  std::int64_t bytes = kMaxInt64;
  try {
    bytes = tensor.size_bytes();
  } catch (const Error&) {  // too large for 64 bits, so for the writable area
  }
  if (bytes > writable_bytes - tensor.address) {
    line.fail("address", "a tensor that lies within the " + std::to_string(writable_bytes) +
                             " writable bytes");
  }
  return tensor;
}

std::size_t parse_semaphore_name(const TextLine& line, std::string_view key, std::string_view name,
                                 const Semaphores& semaphores) {
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    const bool is_name = !name.empty() && semaphores[s].name == name;
    if (is_name || std::to_string(s) == name) return s;
  }
  line.fail(key, "names of the program's semaphores, or 0 to 15, with commas between");
}

std::uint16_t parse_mask(const TextLine& line, std::string_view key, const Semaphores& semaphores) {
  if (!line.has(key)) return 0;
  const std::string text = line.text(key);
  unsigned mask = 0;
  std::string_view names = text;
  while (true) {
    const std::size_t comma = names.find(',');
    const unsigned bit = 1u << parse_semaphore_name(line, key, names.substr(0, comma), semaphores);
    if ((mask & bit) != 0) line.fail(key, "every semaphore once");
    mask |= bit;
    if (comma == std::string_view::npos) break;
    names.remove_prefix(comma + 1);
  }
  return static_cast<std::uint16_t>(mask);
}

Origin parse_origin(const TextLine& line) {
  const auto number = [&](std::string_view key) {
    return static_cast<std::int32_t>(line.number(key, kMinInt32, kMaxInt32));
  };
  const auto range = [&](std::string_view key, std::int32_t& begin, std::int32_t& end) {
    const auto [first, last] = line.range(key, kMinInt32, kMaxInt32);
    begin = static_cast<std::int32_t>(first);
    end = static_cast<std::int32_t>(last);
  };
  Origin origin;
  origin.layer = number("layer");
  origin.tile = number("tile");
  range("n", origin.n0, origin.n1);
  range("y", origin.y0, origin.y1);
  range("x", origin.x0, origin.x1);
  range("c", origin.c0, origin.c1);
  return origin;
}

// The line `input`; the tensor must lie within the writable area: engines rely on it.
DramTensor input_of(const TextLine& line, std::int64_t writable_bytes) {
  line.expect(1, kTensorKeys);
  return tensor_of(line, writable_bytes);
}

TapPacking taps_of(const TextLine& line) {
  line.expect(1, kTapKeys);
  const auto size = [&](std::string_view key) { return line.number(key, 1, kMaxDimension); };
  const auto pad = [&](std::string_view key) { return line.number(key, 0, kMaxDimension); };
  const Window window = {size("kernel_h"), size("kernel_w"), size("stride_h"),  size("stride_w"),
                         pad("pad_top"),   pad("pad_left"),  pad("pad_bottom"), pad("pad_right")};
  return {window, parse_shape(line)};
}

// The line `layer`, which must be that of layer `number`.
ProgramLayer layer_of(const TextLine& line, std::int64_t number, std::int64_t writable_bytes) {
  static const auto kKeys =
      with_keys({"name", "operation", "mapping", "graph_layer", "macs"}, kTensorKeys);
  line.expect(2, kKeys);
  line.word_number(1, number, number);
  ProgramLayer layer;
  layer.name = line.text("name");
  layer.operation = line.text("operation");
  layer.mapping = line.text("mapping");
  layer.graph_layer = static_cast<std::int32_t>(line.number("graph_layer", 0, kMaxInt32));
  layer.macs = line.number("macs", 0, kMaxInt64);
  layer.ofmap = tensor_of(line, writable_bytes);
  return layer;
}

// The keys that a command of this unit may have, which the caller checks: once made, for a stream.
std::vector<std::string_view> instruction_keys(Unit unit) {
  std::vector<std::string_view> keys = with_keys({"wait", "signal"}, kOriginKeys);
  for (const CommandField& field : command_fields(unit)) keys.push_back(field.name);
  return keys;
}

Instruction instruction_of(const TextLine& line, Unit unit, const Semaphores& semaphores) {
  Instruction instruction;
  Command& command = instruction.command;
  command = empty_command(unit);
  command.wait_mask = parse_mask(line, "wait", semaphores);
  command.signal_mask = parse_mask(line, "signal", semaphores);
  const std::span<const CommandField> fields = command_fields(unit);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].is_optional && !line.has(fields[i].name)) continue;
    const int magnitude_bits = fields[i].bits - (fields[i].is_signed ? 1 : 0);
    const std::int64_t high = (std::int64_t{1} << magnitude_bits) - 1;
    set_field(command, i, line.number(fields[i].name, fields[i].is_signed ? -high - 1 : 0, high));
  }
  instruction.origin = parse_origin(line);
  return instruction;
}

class ProgramParser {
 public:
  ProgramParser(std::string_view text, const std::string& source)
      : rest_(text), position_{&source, 0} {}

  Program parse();

 private:
  bool next_is(std::string_view keyword) const;
  [[noreturn]] void fail_many(const std::string& what, std::int64_t most) const {
    fail_at(position_, 1, "more than " + std::to_string(most) + " " + what, "no more");
  }
  std::string_view take_raw_line();
  TextLine take_line(std::string_view keyword);

  void parse_arch();
  void parse_semaphore();
  void parse_layer();
  void parse_segment();
  void parse_stream(Unit unit);

  std::string_view rest_;
  TextPosition position_;
  Program program_;
};

bool ProgramParser::next_is(std::string_view keyword) const {
  return rest_.starts_with(keyword) &&
         (rest_.size() == keyword.size() || rest_[keyword.size()] == ' ' ||
          rest_[keyword.size()] == '\n');
}

std::string_view ProgramParser::take_raw_line() {
  ++position_.line;
  const std::size_t end = rest_.find('\n');
  if (end == std::string_view::npos) {
    fail_at(position_, rest_.size() + 1, "the end of the text", "a whole line, and at last 'end'");
  }
  const std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return line;
}

TextLine ProgramParser::take_line(std::string_view keyword) {
  TextLine line(take_raw_line(), position_);
  if (line.word(0) != keyword) line.fail_word(0, "'" + std::string(keyword) + "'");
  return line;
}

Program ProgramParser::parse() {
  if (!next_is("program")) {
    fail_at({position_.source, 1}, 1, "text that is not a program",
            "'program NAME' in the first line, as `qsim compile --out FILE` writes it");
  }
  const TextLine name = take_line("program");
  name.expect(2, {});
  program_.name = name.word_text(1);
  parse_arch();
  while (next_is("semaphore")) parse_semaphore();
  const TextLine writable = take_line("writable_bytes");
  writable.expect(2, {});
  program_.writable_bytes = writable.word_number(1, 0, kMaxDramBytes);
  const TextLine input = take_line("input");
  program_.input.tensor = input_of(input, program_.writable_bytes);
  if (next_is("taps")) program_.input.taps = taps_of(take_line("taps"));
  while (next_is("layer")) parse_layer();
  while (next_is("segment")) parse_segment();
  for (std::size_t unit = 0; unit < kUnits; ++unit) parse_stream(static_cast<Unit>(unit));
  take_line("end").expect(1, {});
  if (!rest_.empty()) {
    ++position_.line;
    fail_at(position_, 1, "text after 'end'", "the end of the text");
  }
  return std::move(program_);
}

void ProgramParser::parse_arch() {
  const TextLine line = take_line("arch");
  std::vector<std::string_view> keys;
  for (const ArchConfigField& field : arch_config_fields()) keys.push_back(field.name);
  line.expect(1, keys);
  for (const ArchConfigField& field : arch_config_fields()) {
    if (field.number != nullptr) {
      program_.arch.*field.number = line.number(field.name, field.min, field.max);
    } else if (field.text != nullptr) {
      program_.arch.*field.text = line.text(field.name);
    } else if (line.has(field.name)) {
      set_word(program_.arch, field, line.choice(field.name, field.words));
    }
  }
  try {
    validate(program_.arch);
  } catch (const Error& error) {
    fail_at(position_, 1, error.what(), "a configuration that can be built");
  }
}

void ProgramParser::parse_semaphore() {
  const TextLine line = take_line("semaphore");
  line.expect(2, {"name", "initial"});
  const std::int64_t index = line.word_number(1, 0, std::int64_t{kSemaphores} - 1);
  Semaphore& semaphore = program_.semaphores[static_cast<std::size_t>(index)];
  if (semaphore != Semaphore{}) line.fail_word(1, "a semaphore that has not been described");
  semaphore.name = line.text("name");
  semaphore.initial = static_cast<std::uint8_t>(line.number("initial", 0, kSemaphoreMax));
}

void ProgramParser::parse_layer() {
  const TextLine line = take_line("layer");
  const auto number = std::ssize(program_.layers);
  if (number == kMaxLayers) fail_many("layers", kMaxLayers);
  program_.layers.push_back(layer_of(line, number, program_.writable_bytes));
}

void ProgramParser::parse_segment() {
  const TextLine line = take_line("segment");
  line.expect(2, {"address", "bytes"});
  if (std::ssize(program_.segments) == kMaxSegments) fail_many("segments", kMaxSegments);
  const std::int64_t free = program_.dram_bytes();
  DramSegment segment;
  segment.name = line.word_text(1);
  segment.address = line.number("address", free, kMaxDramBytes);
  const auto count =
      static_cast<std::size_t>(line.number("bytes", 0, kMaxDramBytes - segment.address));
  // Two digits a byte are still to come, so a false count cannot make us reserve much.
  if (count > rest_.size() / 2) line.fail("bytes", "as many bytes as the text holds");
  segment.bytes.reserve(count);
  while (segment.bytes.size() < count) {
    const std::size_t line_bytes = std::min(kHexLineBytes, count - segment.bytes.size());
    append_hex(take_raw_line(), position_, line_bytes, segment.bytes);
  }
  program_.segments.push_back(std::move(segment));
}

void ProgramParser::parse_stream(Unit unit) {
  const std::string_view name = kUnitNames[static_cast<std::size_t>(unit)];
  const TextLine line = take_line("stream");
  line.expect(2, {});
  if (line.word(1) != name) line.fail_word(1, "'" + std::string(name) + "'");
  const std::vector<std::string_view> keys = instruction_keys(unit);
  while (next_is(name)) {
    const TextLine command = take_line(name);
    command.expect(1, keys);
    const Instruction instruction = instruction_of(command, unit, program_.semaphores);
    program_.streams.append(instruction.command, instruction.origin);
  }
}

}  // namespace

Program parse_program(std::string_view text, const std::string& source) {
  return ProgramParser(text, source).parse();
}

}  // namespace qsim
