#include "formats/pictures/picture_folder.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/base/error.h"

namespace qsim::formats {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// Calls `visit` for each entry that is not hidden; it says of a folder whether to go into it.
template <typename Visit>
void walk(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const bool enters = !is_hidden(entry->path()) && visit(*entry);
    if (!enters) entry.disable_recursion_pending();
  }
  if (error) throw_bad_input(folder.string() + ": cannot be read: " + error.message());
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

// Throws Error for a name of a picture or a batch whose file is none, and for what is neither a
// file nor a folder: to leave it out without a word would give the figures of other pictures.
void require_file(const fs::directory_entry& entry) {
  std::error_code ignored;
  const fs::file_type type = entry.status(ignored).type();
  if (type == fs::file_type::regular) return;
  const bool is_named = is_picture_name(entry.path()) || is_batch_name(entry.path());
  if (type == fs::file_type::directory && !is_named) return;
  const std::string what = type == fs::file_type::directory   ? "a folder"
                           : type == fs::file_type::not_found ? "a link to nothing"
                           : type == fs::file_type::fifo      ? "a pipe"
                                                              : "not a file that can be read";
  if (!is_named) {
    throw_bad_input(entry.path().string() + ": is " + what +
                    "; expected a folder, a picture or a batch; remove it");
  }
  throw_bad_input(entry.path().string() + ": is " + what +
                  "; expected a picture or a batch, as its name says; " +
                  "rename it, or remove it");
}

// The pictures in the order of torchvision: by the folder, then by the file's name.
std::vector<fs::path> pictures_beneath(const fs::path& folder) {
  std::vector<std::pair<std::string, fs::path>> found;
  walk(folder, [&](const fs::directory_entry& entry) {
    require_file(entry);
    if (is_folder(entry) && entry.is_symlink()) {  // which the walk does not follow
      throw_bad_input(
          entry.path().string() +
          ": is a link to a folder; expected a folder, a picture or a batch; remove it");
    }
    if (is_picture_name(entry.path())) {
      found.emplace_back(entry.path().parent_path().string(), entry.path());
    }
    return true;
  });
  std::sort(found.begin(), found.end());
  std::vector<fs::path> pictures;
  for (auto& [parent, path] : found) pictures.push_back(std::move(path));
  return pictures;
}

void require_one_kind(const PictureFolder& found, const fs::path& folder) {
  const int kinds = (found.batches.empty() ? 0 : 1) + (found.classes.empty() ? 0 : 1) +
                    (found.pictures.empty() ? 0 : 1);
  if (kinds == 1) return;
  const std::string allowed =
      "allowed: CIFAR-10 batches (*.bin), or a folder a class, or pictures (.png, .jpg, .jpeg)";
  if (kinds == 0) throw_bad_input(folder.string() + ": has no pictures; " + allowed);
  throw_bad_input(folder.string() + ": has " + std::to_string(found.batches.size()) +
                  " batches (*.bin), " + std::to_string(found.classes.size()) + " folders and " +
                  std::to_string(found.pictures.size()) +
                  " pictures, of which one kind is wanted; " + allowed);
}

void add_pictures_of_classes(PictureFolder& found, const fs::path& folder) {
  for (std::size_t i = 0; i < found.classes.size(); ++i) {
    const std::vector<fs::path> pictures = pictures_beneath(folder / found.classes[i]);
    if (pictures.empty()) {
      throw_bad_input((folder / found.classes[i]).string() +
                      ": the class folder has no picture (.png, .jpg, .jpeg)");
    }
    found.pictures.insert(found.pictures.end(), pictures.begin(), pictures.end());
    found.classes_of.insert(found.classes_of.end(), pictures.size(), i);
  }
}

}  // namespace

bool is_picture_name(const fs::path& path) {
  const std::string extension = extension_of(path);
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

bool is_batch_name(const fs::path& path) { return extension_of(path) == ".bin"; }

PictureFolder scan_picture_folder(const fs::path& folder) {
  PictureFolder found;
  walk(folder, [&](const fs::directory_entry& entry) {
    require_file(entry);
    if (is_folder(entry)) {
      found.classes.push_back(entry.path().filename().string());
    } else if (is_batch_name(entry.path())) {
      found.batches.push_back(entry.path());
    } else if (is_picture_name(entry.path())) {
      found.pictures.push_back(entry.path());
    }
    return false;
  });
  std::sort(found.batches.begin(), found.batches.end());
  std::sort(found.classes.begin(), found.classes.end());
  std::sort(found.pictures.begin(), found.pictures.end());
  require_one_kind(found, folder);
  add_pictures_of_classes(found, folder);
  return found;
}

}  // namespace qsim::formats
