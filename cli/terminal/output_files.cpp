#include "cli/terminal/output_files.h"

#include <algorithm>
#include <map>
#include <utility>

#include <sys/stat.h>

#include "cli/terminal/file_place.h"
#include "cli/terminal/usage_error.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStandardOutput = "standard output";

struct Output {
  std::string option;
  fs::path path;                           // "" of standard output
  bool (*holds)(const std::string& name);  // of a folder: whether it gets such a file
  FilePlace place;

  bool is_folder() const { return holds != nullptr; }
  bool is_file() const { return !is_folder() && !path.empty(); }
};

// Standard output comes last, under the name of the option that has it or of its own: text for
// people goes there unless an option has it.
std::vector<Output> outputs_of(NamedOutputs named) {
  std::vector<Output> outputs;
  std::string stdout_name = kStandardOutput;
  for (const NamedOutput& row : named) {
    if (row.is_stdout()) {
      stdout_name = row.option;
    } else {
      outputs.push_back({row.option, row.path, row.holds, place_of(row.path)});
    }
  }
  outputs.push_back({stdout_name, "", nullptr, place_of_stdout()});
  return outputs;
}

// The files of a folder that it may get, and that are there already.
std::vector<fs::path> files_there(const Output& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder.path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (folder.holds(entry->path().filename().string())) files.push_back(entry->path());
  }
  return files;
}

// Whether the output is at `place`, or puts a file there.
bool writes(const Output& output, const FilePlace& place) {
  if (place.is_sink || output.place.is_sink) return false;
  if (same(output.place, place)) return true;
  if (!output.is_folder()) return false;
  if (place.path.parent_path() == output.place.path &&
      output.holds(place.path.filename().string())) {
    return true;
  }
  const std::vector<fs::path> files = files_there(output);
  return std::any_of(files.begin(), files.end(),
                     [&](const fs::path& file) { return same(place_of(file), place); });
}

[[noreturn]] void refuse_both(const Output& a, const Output& b, const fs::path& file) {
  throw Error(ExitCode::kUsage, a.option + " and " + b.option + " would both write '" +
                                    file.string() + "'; give each its own file");
}

// A file that another output writes too, or in whose place the other needs a folder.
void require_file_apart(const Output& file, const Output& other) {
  const bool is_folder_of =
      other.is_folder() && file.is_file() && is_beneath(other.place.path, file.place.path);
  if (!writes(other, file.place) && !is_folder_of) return;
  refuse_both(file, other, file.path.empty() ? other.path : file.path);
}

// A folder inside the other has no name that the other gives to a file.
void require_folders_apart(const Output& outer, const Output& inner) {
  const fs::path& folder = outer.place.path;
  const fs::path& path = inner.place.path;
  if (path == folder || !is_beneath(path, folder)) return;
  const fs::path name = *path.lexically_relative(folder).begin();
  if (outer.holds(name.string())) refuse_both(outer, inner, outer.path / name);
}

// A link in a folder of output is followed, and may lead to what another output writes, or the
// same folder under another name.
void require_links_apart(const Output& folder, const std::vector<Output>& outputs) {
  for (const fs::path& file : files_there(folder)) {
    std::error_code unknown;
    if (!fs::is_symlink(file, unknown)) continue;
    const FilePlace place = place_of(file);
    for (const Output& other : outputs) {
      const bool is_own = &other == &folder || same(other.place, folder.place);
      const bool taken = is_own ? place.path.parent_path() == other.place.path &&
                                      other.holds(place.path.filename().string()) &&
                                      place.path.filename() != file.filename()
                                : writes(other, place);
      if (taken) refuse_both(folder, other, file);
    }
  }
}

[[noreturn]] void refuse_overwriting(const std::string& option, const ReadFile& file) {
  throw Error(ExitCode::kUsage, option + " would overwrite '" + file.path.string() + "', " +
                                    file.what + " of this run; name another place");
}

// What of the outputs is there already, by device and inode: very many files may be looked up.
class Existing {
 public:
  explicit Existing(const std::vector<Output>& outputs) {
    for (const Output& output : outputs) {
      add(output.option, output.place);
      if (!output.is_folder()) continue;
      for (const fs::path& file : files_there(output)) add(output.option, place_of(file));
    }
  }

  // The option that has the file; nullptr for none.
  const std::string* find(const std::pair<dev_t, ino_t>& inode) const {
    const auto found = options_.find(inode);
    return found == options_.end() ? nullptr : &found->second;
  }

 private:
  void add(const std::string& option, const FilePlace& place) {
    if (place.exists && !place.is_special) options_.emplace(place.inode, option);
  }
  std::map<std::pair<dev_t, ino_t>, std::string> options_;
};

}  // namespace

std::vector<NamedOutput> named_outputs(const Declarations& declared) {
  std::vector<NamedOutput> named;
  std::size_t files = 0;  // --json and --out
  for (const OptionRow& row : declared.rows()) {
    if (row.writes == Writes::kNothing || row.values.empty()) continue;
    const std::string& path = row.values.back();
    std::vector<NamedOutput> own = {{row.long_name(), path, row.holds}};
    if (row.writes == Writes::kFileAndSidecar) {
      own.push_back(
          {row.long_name() + "'s sidecar", fs::path(path).replace_extension(".yaml").string()});
    }
    const bool is_first = row.long_name() == "--json" || row.long_name() == "--out";
    const std::size_t place = is_first ? files : named.size();
    named.insert(named.begin() + std::ptrdiff_t(place), own.begin(), own.end());
    if (is_first) files += own.size();
  }
  return named;
}

void require_stdout_once(NamedOutputs named) {
  std::string first;
  for (const NamedOutput& row : named) {
    if (!row.is_stdout()) continue;
    if (!first.empty()) {
      usage_error(first + " - and " + row.option +
                  " - cannot both write to stdout; give one of them a file");
    }
    first = row.option;
  }
}

void require_outputs_apart(NamedOutputs named) {
  const std::vector<Output> outputs = outputs_of(named);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_folder()) {
      require_links_apart(outputs[i], outputs);
      for (const Output& other : outputs) {
        if (other.is_folder()) require_folders_apart(outputs[i], other);
      }
      continue;
    }
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const bool is_new_pair = outputs[j].is_folder() || j > i;
      if (i != j && is_new_pair) require_file_apart(outputs[i], outputs[j]);
    }
  }
}

void require_kept(NamedOutputs named, std::span<const ReadFile> files) {
  const std::vector<Output> outputs = outputs_of(named);
  const Existing existing(outputs);
  for (const ReadFile& file : files) {
    struct stat status {};
    if (::stat(file.path.c_str(), &status) == 0) {
      const std::string* option = existing.find({status.st_dev, status.st_ino});
      if (option != nullptr) refuse_overwriting(*option, file);
      continue;
    }
    const FilePlace place = place_of(file.path);
    for (const Output& output : outputs) {
      if (writes(output, place)) refuse_overwriting(output.option, file);
    }
  }
}

}  // namespace qsim::cli
