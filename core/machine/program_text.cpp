// Printing; reading back is program_parser.cpp.
#include "core/machine/program_text.h"

#include <algorithm>
#include <ostream>

#include "core/base/text_line.h"
#include "core/machine/isa/command_codec.h"

namespace qsim {
namespace {

// A semaphore is written by name where that is unambiguous, else by number.
std::string semaphore_text(const Program& program, std::size_t index) {
  const std::string& name = program.semaphores[index].name;
  const auto same = [&](const Semaphore& other) { return other.name == name; };
  const bool is_identifier = !name.empty() && (name[0] < '0' || name[0] > '9') &&
                             quoted_word(name) == name && name.find(',') == std::string::npos;
  const bool is_unique =
      std::count_if(program.semaphores.begin(), program.semaphores.end(), same) == 1;
  return is_identifier && is_unique ? name : std::to_string(index);
}

std::string mask_text(const Program& program, std::uint16_t mask) {
  std::string text;
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    if (((mask >> s) & 1) == 0) continue;
    text += (text.empty() ? "" : ",") + semaphore_text(program, s);
  }
  return text;
}

std::string range_fields(const char* key, std::int32_t begin, std::int32_t end) {
  return std::string(" ") + key + "=" + std::to_string(begin) + ".." + std::to_string(end);
}

std::string origin_fields(const Origin& origin) {
  return " layer=" + std::to_string(origin.layer) + " tile=" + std::to_string(origin.tile) +
         range_fields("n", origin.n0, origin.n1) + range_fields("y", origin.y0, origin.y1) +
         range_fields("x", origin.x0, origin.x1) + range_fields("c", origin.c0, origin.c1);
}

void print_tensor(const DramTensor& tensor, std::ostream& out) {
  const Value& value = tensor.value;
  out << " address=" << tensor.address << " block=" << tensor.block
      << " dtype=" << dtype_name(value.dtype) << " batch=" << value.shape.batch
      << " height=" << value.shape.height << " width=" << value.shape.width
      << " channels=" << value.shape.channels << " zero_point=" << value.zero_point;
  if (value.scale_exponent()) {
    out << " scale_exponent=" << *value.scale_exponent();
  } else if (value.scale) {
    out << " scale_multiplier=" << value.scale->multiplier()
        << " scale_exponent=" << -value.scale->exponent();
  }
  out << "\n";
}

void print_taps(const TapPacking& taps, std::ostream& out) {
  const Window& w = taps.window;
  const ImageShape& p = taps.picture;
  out << "taps kernel_h=" << w.kernel_h << " kernel_w=" << w.kernel_w << " stride_h=" << w.stride_h
      << " stride_w=" << w.stride_w << " pad_top=" << w.pad_top << " pad_left=" << w.pad_left
      << " pad_bottom=" << w.pad_bottom << " pad_right=" << w.pad_right << " batch=" << p.batch
      << " height=" << p.height << " width=" << p.width << " channels=" << p.channels << "\n";
}

void print_header(const Program& program, std::ostream& out) {
  out << "program " << quoted_word(program.name) << "\narch";
  for (const ArchConfigField& field : arch_config_fields()) {
    if (!is_written(program.arch, field)) continue;
    out << " " << field.name << "=" << quoted_word(value_text(program.arch, field));
  }
  out << "\n";
  for (std::size_t s = 0; s < kSemaphores; ++s) {
    const Semaphore& semaphore = program.semaphores[s];
    if (semaphore == Semaphore{}) continue;
    out << "semaphore " << s << " name=" << quoted_word(semaphore.name)
        << " initial=" << int{semaphore.initial} << "\n";
  }
  out << "writable_bytes " << program.writable_bytes << "\ninput";
  print_tensor(program.input.tensor, out);
  if (program.input.taps) print_taps(*program.input.taps, out);
}

void print_segment(const DramSegment& segment, std::ostream& out) {
  out << "segment " << quoted_word(segment.name) << " address=" << segment.address
      << " bytes=" << segment.bytes.size() << "\n";
  const std::span<const std::byte> bytes(segment.bytes);
  for (std::size_t at = 0; at < bytes.size(); at += kHexLineBytes) {
    out << hex_line(bytes.subspan(at, std::min(kHexLineBytes, bytes.size() - at))) << "\n";
  }
}

}  // namespace

std::string command_text(const Program& program, const Command& command) {
  std::string text(kUnitNames[static_cast<std::size_t>(command.unit())]);
  if (command.wait_mask != 0) text += " wait=" + mask_text(program, command.wait_mask);
  if (command.signal_mask != 0) text += " signal=" + mask_text(program, command.signal_mask);
  const std::span<const CommandField> fields = command_fields(command.unit());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::int64_t value = field_value(command, i);
    if (fields[i].is_optional && value == 0) continue;
    text += " " + std::string(fields[i].name) + "=" + std::to_string(value);
  }
  return text;
}

std::string command_label(const Program& program, Unit unit, std::size_t index) {
  return std::string(kUnitNames[static_cast<std::size_t>(unit)]) + " command " +
         std::to_string(index) + " (" + origin_text(program, program.stream(unit).origin(index)) +
         ")";
}

void print_program(const Program& program, std::ostream& out) {
  print_header(program, out);
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const ProgramLayer& layer = program.layers[i];
    out << "layer " << i << " name=" << quoted_word(layer.name)
        << " operation=" << quoted_word(layer.operation)
        << " mapping=" << quoted_word(layer.mapping) << " graph_layer=" << layer.graph_layer
        << " macs=" << layer.macs;
    print_tensor(layer.ofmap, out);
  }
  for (const DramSegment& segment : program.segments) print_segment(segment, out);
  for (std::size_t unit = 0; unit < kUnits; ++unit) {
    out << "stream " << kUnitNames[unit] << "\n";
    for (const Instruction& instruction : program.streams[unit]) {
      out << command_text(program, instruction.command) << origin_fields(instruction.origin)
          << "\n";
    }
  }
  out << "end\n";
}

}  // namespace qsim
