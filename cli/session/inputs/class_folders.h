// Which class of a network the pictures of a class folder are of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace qsim::cli {

// The class of each folder of `names`, which are sorted: the class whose label is the folder's
// name. Where no label has a folder's name, or there are no labels, the folders are the classes 0,
// 1, ... in their order, which `note` is told. Throws Error (exit code 3) for a folder without a
// label where another one has a label, and for more folders than classes (`classes` 0: not known).
std::vector<int> classes_of_folders(const std::vector<std::string>& names,
                                    const std::vector<std::string>& labels, std::int64_t classes,
                                    const std::filesystem::path& folder,
                                    const std::function<void(const std::string&)>& note);

}  // namespace qsim::cli
