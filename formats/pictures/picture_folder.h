// What a folder of pictures holds: CIFAR-10 binary batches, class folders as torchvision's
// ImageFolder takes them, or pictures alone. By names only; no picture is opened.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace qsim::formats {

// Whether the name ends with .png, .jpg or .jpeg, and with .bin; in capital letters too.
bool is_picture_name(const std::filesystem::path& path);
bool is_batch_name(const std::filesystem::path& path);

struct PictureFolder {
  std::vector<std::filesystem::path> batches;  // *.bin
  std::vector<std::string> classes;            // names of the class folders
  std::vector<std::filesystem::path> pictures;
  std::vector<std::size_t> classes_of;  // one a picture: an index of `classes`; empty without them
};

// All sorted by name (bytes). A class folder's own folders count as part of it; links to folders
// inside it are not followed. Names that begin with a point and files of other kinds are left out.
// Throws Error (exit code 3) for a folder that cannot be read, for a picture's or batch's name that
// is not a regular file (a link to nothing, a pipe, a folder), for a folder that has nothing of
// these, or more than one of them, and for a class folder without a picture.
PictureFolder scan_picture_folder(const std::filesystem::path& folder);

}  // namespace qsim::formats
