// The rows of the command table as constants: the name, the width and the range of each field.
// Code that needs a limit of a command asks here, at compile time: max_of<Execute>("kernel_h").
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/machine/isa/commands.h"

namespace qsim {

// One row of the command table.
struct CommandField {
  std::string_view name;
  int bits;
  bool is_signed;
  std::string_view description;
  bool is_optional = false;  // in a program's text: 0 where it is not named

  constexpr std::int64_t min() const {
    return is_signed ? -(std::int64_t{1} << (bits - 1)) : std::int64_t{0};
  }
  constexpr std::int64_t max() const {
    return (std::int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
  }
};

#define QSIM_U_ROW(name, bits, doc) CommandField{#name, bits, false, doc},
#define QSIM_S_ROW(name, bits, doc) CommandField{#name, bits, true, doc},
inline constexpr CommandField kHeaderFields[] = {QSIM_HEADER_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
inline constexpr CommandField kLoadFields[] = {QSIM_LOAD_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
inline constexpr CommandField kExecuteFields[] = {QSIM_EXECUTE_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
#define QSIM_OPTIONAL_ROW(name, bits, doc) CommandField{#name, bits, false, doc, true},
inline constexpr CommandField kPostFields[] = {QSIM_POST_BASE_FIELDS(
    QSIM_U_ROW, QSIM_S_ROW) QSIM_POST_DYADIC_FIELDS(QSIM_OPTIONAL_ROW, QSIM_OPTIONAL_ROW)};
#undef QSIM_OPTIONAL_ROW
inline constexpr CommandField kStoreFields[] = {QSIM_STORE_FIELDS(QSIM_U_ROW, QSIM_S_ROW)};
#undef QSIM_U_ROW
#undef QSIM_S_ROW

// The header of every command, as a type for the functions below.
struct CommandHeader {};

// The fields of Load, Execute, Post, Store or CommandHeader, in encoding order.
template <typename T>
constexpr std::span<const CommandField> fields_of() {
  if constexpr (std::is_same_v<T, Load>) {
    return kLoadFields;
  } else if constexpr (std::is_same_v<T, Execute>) {
    return kExecuteFields;
  } else if constexpr (std::is_same_v<T, Post>) {
    return kPostFields;
  } else if constexpr (std::is_same_v<T, Store>) {
    return kStoreFields;
  } else {
    static_assert(std::is_same_v<T, CommandHeader>, "not a command");
    return kHeaderFields;
  }
}

constexpr int total_bits(std::span<const CommandField> fields) {
  int bits = 0;
  for (const CommandField& field : fields) bits += field.bits;
  return bits;
}

// The field called `name`. A name that the command does not have fails to compile.
template <typename T>
consteval CommandField field_of(std::string_view name) {
  for (const CommandField& field : fields_of<T>()) {
    if (field.name == name) return field;
  }
  throw "the command has no field of this name";
}

template <typename T>
consteval int bits_of(std::string_view name) {
  return field_of<T>(name).bits;
}
template <typename T>
consteval std::int64_t min_of(std::string_view name) {
  return field_of<T>(name).min();
}
template <typename T>
consteval std::int64_t max_of(std::string_view name) {
  return field_of<T>(name).max();
}

// The lowest bit of a header field.
consteval int header_bit(std::string_view name) {
  int position = 0;
  for (const CommandField& field : kHeaderFields) {
    if (field.name == name) return position;
    position += field.bits;
  }
  throw "the header has no field of this name";
}

}  // namespace qsim
