// How often each part of the accelerator works for a command: counts of multiply-accumulates,
// register hops, memory accesses and DRAM bits. From the command alone, without data and without
// time.
#pragma once

#include <cstdint>

#include "core/machine/arch_config.h"
#include "core/machine/isa/commands.h"

namespace qsim {

// Accesses of one memory, and the bits that they move.
struct MemoryEvents {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t read_bits = 0;
  std::uint64_t write_bits = 0;

  MemoryEvents& operator+=(const MemoryEvents& other);
  bool operator==(const MemoryEvents&) const = default;
};

struct EnergyEvents {
  std::uint64_t useful_macs = 0;  // ProgramLayer::macs; 0 for a single command
  std::uint64_t pe_macs = 0;      // of all PEs while pixels stream, edge lanes included
  // Bits of operands and psums that PEs' registers take over. Not in it: skews, transposers and the
  // realignment of psums, which are between the memories and the PEs, and what a PE without a pixel
  // makes of zeros.
  std::uint64_t activation_hop_bits = 0;
  std::uint64_t psum_hop_bits = 0;
  std::uint64_t weight_hop_bits = 0;
  std::uint64_t adds = 0;  // int32: into the accumulator, and POST's biases
  MemoryEvents activation;
  MemoryEvents weight;
  MemoryEvents accumulator;
  MemoryEvents output;
  MemoryEvents parameter;
  std::uint64_t dram_read_bits = 0;
  std::uint64_t dram_write_bits = 0;

  EnergyEvents& operator+=(const EnergyEvents& other);
  bool operator==(const EnergyEvents&) const = default;
};

// LOAD of n = groups x runs x run_bytes bytes, a word of w bytes at the other end:
//   dram_read_bits = write_bits = 8 n        writes = n / w; parameters: 1
// A table counts as parameters. C lanes have a copy each: writes = C, write_bits = 8 n C.
EnergyEvents events_of(const Load& load, const ArchConfig& arch);

// EXECUTE. R = array_rows, C = array_cols, F = folds = planes kernel_h kernel_w, P = pixels =
// out_rows out_cols, B = blocks, W = min(R, C) words of a fold, max(R, C) bytes each, S = 16 + log2
// R bits of a sum of R products of int8, G = groups of pixels: 1 of P (weight_stationary), ceil(P /
// R) of up to R (output_stationary), ceil(P / C) of up to C (input_stationary). Every dataflow has:
//   pe_macs           = F B P R C
//   activation.reads  = pixels of all folds inside the resident rows and columns, R bytes each: not
//                       pads, and once for all blocks
//   weight.reads      = G F B W
//   adds              = C accumulator.reads
// weight_stationary, input_stationary:
//   accumulator.writes = F B P, 4 C bytes each;  reads = F B P, less B P where the first fold
//                        overwrites
// output_stationary: one update a command, accumulator.writes = P;  reads = P, 0 where it
// overwrites
//
// What PEs' registers take over: tests/rtl/energy compares it with the RTL. Operands that stay come
// in from above: row r's through the shadow registers of rows 0 to r, then into use, in all
// R (R + 1) / 2 + R registers a column. Weights of a partial group move through all PEs.
//   weight_stationary   activation_hop_bits = 8 F P R C: to the right, through C PEs
//                       weight_hop_bits     = 8 F C (R (R + 1) / 2 + R)
//                       psum_hop_bits       = S F P R C: down, through R PEs
//   input_stationary    the same with the operands exchanged:
//                       activation_hop_bits = 8 F P (R (R + 1) / 2 + R)
//                       weight_hop_bits     = 8 G F B C R C
//                       psum_hop_bits       = S F B P R C
//   output_stationary   activation_hop_bits = 8 F P R C
//                       weight_hop_bits     = 16 G F R C R: down, through R PEs, in each the shadow
//                         register and then the one that the multiplier takes
//                       psum_hop_bits       = 32 C (F P R + sum over pixels (R - r)): each product
//                         updates the psum; the psums of row r leave through R - r shadow psums
EnergyEvents events_of(const Execute& execute, const ArchConfig& arch);

// POST. V = psums of all windows inside the tile, twice where it adds; W = out_rows out_cols ofmap
// words, P = bytes of a parameter slot, which the command reads once:
//   accumulator.reads = V, 4 C bytes each    adds = C V
//   parameter.reads   = 1, P bytes           output.writes = W, C bytes each
// A table is read for each position of all windows and each channel, a bus word (bus_bytes) each;
// these are parameter.reads too. Positions outside the tile are looked up like the others.
EnergyEvents events_of(const Post& post, const ArchConfig& arch);

// STORE of n bytes: output.reads = n / C, dram_write_bits = output.read_bits = 8 n.
EnergyEvents events_of(const Store& store, const ArchConfig& arch);

}  // namespace qsim
