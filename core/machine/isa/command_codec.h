// Between a Command and its 256 bits, and between a Command and its list of named fields. The
// only code that knows bit positions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/machine/isa/command_fields.h"

namespace qsim {

// Least significant word first.
using EncodedCommand = std::array<std::uint64_t, 4>;

// Where the masks of the header begin.
inline constexpr int kWaitMaskBit = header_bit("wait_mask");
inline constexpr int kSignalMaskBit = header_bit("signal_mask");

// The fields of a unit's command, in encoding order, without the header.
std::span<const CommandField> command_fields(Unit unit);
std::span<const CommandField> command_header_fields();

// Field number `index` of command_fields(command.unit()), sign-extended where it is signed.
std::int64_t field_value(const Command& command, std::size_t index);
// Stores `value` in that field. Throws Error when it does not fit the field's width.
void set_field(Command& command, std::size_t index, std::int64_t value);
// A command of `unit` with every field zero.
Command empty_command(Unit unit);

// Throws Error naming the field when a value does not fit its width.
EncodedCommand encode(const Command& command);
// Throws Error when the opcode is unknown or a bit beyond the last field is set.
Command decode(const EncodedCommand& bits);
// The fields alone, of a command of that type (Load, Execute, Post or Store); a command of another
// unit is a bug. Throws Error when a bit beyond the last field is set.
template <typename Fields>
Fields decode_as(const EncodedCommand& bits);
// The masks alone, without decoding the rest.
inline std::uint16_t wait_mask_of(const EncodedCommand& bits) {
  return static_cast<std::uint16_t>(bits[0] >> kWaitMaskBit);
}
inline std::uint16_t signal_mask_of(const EncodedCommand& bits) {
  return static_cast<std::uint16_t>(bits[0] >> kSignalMaskBit);
}

}  // namespace qsim
