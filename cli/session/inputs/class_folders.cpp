#include "cli/session/inputs/class_folders.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/nearest_name.h"
#include "core/base/printable.h"

namespace qsim::cli {
namespace {

constexpr int kNone = -1;

int label_of(const std::string& name, const std::vector<std::string>& labels) {
  const auto found = std::find(labels.begin(), labels.end(), name);
  return found == labels.end() ? kNone : static_cast<int>(found - labels.begin());
}

[[noreturn]] void refuse_folder(const std::string& name, const std::vector<std::string>& labels,
                                const std::filesystem::path& folder) {
  const std::vector<std::string_view> known(labels.begin(), labels.end());
  const std::string_view nearest = nearest_name(name, known);
  throw_bad_input((folder / name).string() +
                  ": no label of the model is called as this class folder" +
                  (nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?"));
}

}  // namespace

std::vector<int> classes_of_folders(const std::vector<std::string>& names,
                                    const std::vector<std::string>& labels, std::int64_t classes,
                                    const std::filesystem::path& folder,
                                    const std::function<void(const std::string&)>& note) {
  std::vector<int> found;
  for (const std::string& name : names) found.push_back(label_of(name, labels));
  const auto missing = std::count(found.begin(), found.end(), kNone);
  if (missing == 0) return found;
  if (missing < std::ssize(found)) {
    const auto first = std::find(found.begin(), found.end(), kNone) - found.begin();
    refuse_folder(names[static_cast<std::size_t>(first)], labels, folder);
  }
  if (classes > 0 && std::ssize(names) > classes) {
    throw_bad_input(folder.string() + ": " + std::to_string(names.size()) +
                    " class folders; the model has " + std::to_string(classes) + " classes");
  }
  note(folder.string() +
       ": folders are classes in the order of their names, as in torchvision: 0 is " +
       echoed(names.front()) + ", " + std::to_string(names.size() - 1) + " is " +
       echoed(names.back()));
  std::iota(found.begin(), found.end(), 0);
  return found;
}

}  // namespace qsim::cli
