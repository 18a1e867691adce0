// The best rates that a device sustains, measured on it. Times of kernels are compared with them.
#pragma once

namespace qsim::golden {

// int8 tensor-core operations per second (a multiply-accumulate is two) of a loop that does
// nothing else, on random data, on all multiprocessors; median of several runs, which take a few
// hundred milliseconds. Throws Error (exit code 3) without that device.
double measure_peak_int8_ops(int device);

// Bytes per second of a copy within device memory, each byte counted where it is read and where it
// is written; median of several copies much larger than the L2 cache. Throws Error (exit code 3)
// without that device.
double measure_copy_bytes(int device);

}  // namespace qsim::golden
