// The law behind area_of(): gates and flip-flops of a part of the RTL as a sum of terms of the
// configuration. core/machine/area_law.cpp has the numbers, which `tools/energy/area_law.py
// --write` fits to rtl/yosys/area.csv and area_dyadic.csv by least squares.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "core/machine/arch_config.h"

namespace qsim {

// What is counted by modules: the parts of area.csv, in its order.
// array, operands, accumulate, post, dma, control; and post where it multiplies by any scale
inline constexpr std::size_t kLawParts = 7;

// With R rows, C columns, a bus of B bytes, W = max(R, C):
// 1, R, C, RC, R(R - 1), C^2, RW, max(0, R - C), max(0, C - R), max(0, W - B), 1 where C > R.
inline constexpr std::size_t kLawTerms = 11;
inline constexpr std::size_t kPeTerm = 3;  // RC

using LawTerms = std::array<double, kLawTerms>;

LawTerms law_terms(const ArchConfig& arch);

// Cells for one unit of each term.
struct PartLaw {
  LawTerms gates;
  LawTerms flip_flops;
};
const std::array<PartLaw, kLawParts>& area_law();

// What is beyond the configurations that were counted, such as "array_rows 32 (counted: 4 to 16)";
// several are joined by ", ". Empty where nothing is.
std::string beyond_counted(const ArchConfig& arch);

}  // namespace qsim
