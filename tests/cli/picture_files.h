// Pictures as files that a test makes: PNG and JPEG by libpng and libjpeg, CIFAR-10 records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qsim {

// 8-bit RGB, [height][width][3].
std::string png_file(int height, int width, const std::vector<std::uint8_t>& rgb);
std::string jpeg_file(int height, int width, const std::vector<std::uint8_t>& rgb);
// A record of CIFAR-10's binary version: the label, then the planes R, G, B of seeded bytes.
std::string cifar_record(int label, std::uint64_t seed);
// height * width * 3 seeded bytes.
std::vector<std::uint8_t> seeded_rgb(int height, int width, std::uint64_t seed);

}  // namespace qsim
