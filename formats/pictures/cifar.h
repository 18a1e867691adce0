// CIFAR-10's official binary batches: records of one label byte and 3 x 32 x 32 bytes, the planes
// R, G, B.
#pragma once

#include <filesystem>
#include <vector>

#include "formats/pictures/image.h"

namespace qsim::formats {

struct CifarRecord {
  int label = 0;  // 0..9
  Image image;
};

// The label of each record. Throws Error as the two below.
std::vector<int> cifar_labels(const std::filesystem::path& path);

// Number of records. Throws Error when the file's length is not a whole number of them.
std::int64_t cifar_count(const std::filesystem::path& path);

// Throws Error when `index` is not below cifar_count (saying the count), or for a label above 9.
CifarRecord read_cifar(const std::filesystem::path& path, std::int64_t index);

}  // namespace qsim::formats
