// The one table of the accelerator's commands. From it come the C++ structs (commands.h), the
// 256-bit encoding (command_codec.h), the text form (command_text.h), docs/reference/isa.md and,
// for the RTL, the SystemVerilog package.
//
// U(name, bits, doc): an unsigned field. S(name, bits, doc): a two's-complement field.
// A command is `opcode`, `wait_mask`, `signal_mask`, then its fields in this order, least
// significant bit first; the remaining bits are zero.
#pragma once

#define QSIM_HEADER_FIELDS(U, S)                                                              \
  U(opcode, 4, "which command: 0 LOAD, 1 EXECUTE, 2 POST, 3 STORE")                           \
  U(wait_mask, 16, "semaphores that must be above zero at the start; each is lowered by one") \
  U(signal_mask, 16, "semaphores that are raised by one when the command is done")

// The DRAM side of LOAD and STORE walks `groups` x `runs` runs of `run_bytes` contiguous bytes.
#define QSIM_LOAD_FIELDS(U, S)                                                                \
  U(memory, 2, "destination: 0 activations, 1 weights, 2 parameters, 3 table (dyadic alone)") \
  U(dram_addr, 32, "byte address of the first run")                                           \
  U(local_addr, 20, "first word (activations, weights) or slot (parameters, table) written")  \
  U(run_bytes, 24, "contiguous bytes of a run")                                               \
  U(runs, 16, "runs of a group")                                                              \
  U(run_stride, 28, "bytes from one run of a group to the next")                              \
  U(groups, 12, "groups")                                                                     \
  U(group_stride, 30, "bytes from one group to the next")                                     \
  U(plane_words, 20, "pixels of one channel block; activations only, see the address formula")

#define QSIM_EXECUTE_FIELDS(U, S)                                                        \
  U(act_addr, 20, "activation word of plane 0, row 0, column 0")                         \
  U(act_row_words, 16, "words from one resident row to the next")                        \
  U(act_plane_words, 20, "words from one plane (array_rows input channels) to the next") \
  U(in_rows, 12, "resident rows; outside them the array reads pad_value")                \
  U(in_cols, 12, "resident columns; outside them the array reads pad_value")             \
  S(origin_row, 7, "resident row under kernel row 0 of output row 0")                    \
  S(origin_col, 7, "resident column under kernel column 0 of output column 0")           \
  U(kernel_h, 4, "kernel rows of this command")                                          \
  U(kernel_w, 4, "kernel columns of this command")                                       \
  U(stride_h, 3, "vertical stride")                                                      \
  U(stride_w, 3, "horizontal stride")                                                    \
  U(planes, 12, "planes of input channels")                                              \
  U(out_rows, 12, "output rows of the tile")                                             \
  U(out_cols, 12, "output columns of the tile")                                          \
  U(weight_addr, 20, "first weight word of fold 0, block 0; folds follow each other")    \
  U(acc_addr, 16, "accumulator word of the tile's first output, within the half")        \
  U(acc_half, 1, "accumulator half")                                                     \
  U(accumulate, 1, "0: the first fold overwrites the accumulator; 1: it adds")           \
  S(pad_value, 8, "carried zero_point of the ifmap")                                     \
  U(dataflow, 2, "0 weight_stationary, 1 output_stationary, 2 input_stationary")         \
  U(blocks, 8, "column blocks; more than 1 for input_stationary alone")

#define QSIM_POST_BASE_FIELDS(U, S)                                                   \
  U(acc_addr, 16, "accumulator word of the tile's first psum, within the half")       \
  U(acc_half, 1, "accumulator half")                                                  \
  U(out_addr, 17, "first output scratchpad word written")                             \
  U(param_slot, 1, "parameter slot: biases and scales of this column block")          \
  U(in_rows, 12, "psum rows of the tile")                                             \
  U(in_cols, 12, "psum columns of the tile")                                          \
  U(out_rows, 12, "ofmap rows written")                                               \
  U(out_cols, 12, "ofmap columns written")                                            \
  U(pool_h, 3, "pooling window rows; 1 without pooling")                              \
  U(pool_w, 3, "pooling window columns; 1 without pooling")                           \
  U(pool_stride_h, 3, "vertical pooling stride")                                      \
  U(pool_stride_w, 3, "horizontal pooling stride")                                    \
  S(origin_row, 4, "psum row under window row 0 of ofmap row 0; negative over a pad") \
  S(origin_col, 4, "psum column under window column 0 of ofmap column 0")             \
  U(rounding, 2, "0 floor, 1 half_even, 2 half_up; 3 float32 (dyadic alone)")         \
  S(zero_point, 8, "carried zero_point of the ofmap")                                 \
  S(lo, 8, "carried lower clamp")                                                     \
  S(hi, 8, "carried upper clamp")

// Fields of `requantizer: dyadic` alone. Programs' texts name them only where they are not 0.
#define QSIM_POST_DYADIC_FIELDS(U, S)                                                          \
  U(add, 1, "1: two psum tiles are added, operand b at acc_addr, operand a at second_addr")    \
  U(second_addr, 16, "accumulator word of operand a's first psum, within its half; add alone") \
  U(second_half, 1, "accumulator half of operand a; add alone")                                \
  U(lookup, 1, "1: each level is looked up in the table of slot param_slot")

#define QSIM_POST_FIELDS(U, S) \
  QSIM_POST_BASE_FIELDS(U, S)  \
  QSIM_POST_DYADIC_FIELDS(U, S)

#define QSIM_STORE_FIELDS(U, S)                                      \
  U(dram_addr, 32, "byte address of the first run")                  \
  U(out_addr, 17, "first output scratchpad word read; words follow") \
  U(run_bytes, 24, "contiguous bytes of a run")                      \
  U(runs, 16, "runs of a group")                                     \
  U(run_stride, 28, "bytes from one run of a group to the next")     \
  U(groups, 12, "groups")                                            \
  U(group_stride, 30, "bytes from one group to the next")
