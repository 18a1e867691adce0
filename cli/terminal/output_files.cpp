#include "cli/terminal/output_files.h"

#include <algorithm>
#include <array>
#include <vector>

#include <sys/stat.h>

#include "core/command_streams.h"
#include "core/error.h"
#include "files/layer_trace.h"
#include "files/temporary_files.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

struct Output {
  std::string option;
  fs::path path;
  bool (*holds)(const std::string& name) = nullptr;  // of a folder: whether it gets such a file
};

bool is_run_file(const std::string& name) {
  constexpr std::array kNames = {"config.yaml", "run.json", "layers.csv", "output.npy",
                                 "output_q.npy"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_golden_file(const std::string& name) { return name == "output.npy"; }

std::vector<Output> outputs_of(const Options& options) {
  std::vector<Output> outputs;
  const auto add = [&outputs](const char* option, const std::string& path,
                              bool (*holds)(const std::string&) = nullptr) {
    if (!path.empty() && (path != "-" || holds != nullptr)) {
      outputs.push_back({option, path, holds});
    }
  };
  add("--json", options.json);
  add("--out", options.program_out);
  add("--trace", options.trace);
  const bool is_run = options.command == CommandName::kRun;
  const bool is_export = options.command == CommandName::kExportVectors;
  add("--out", options.out, is_run ? is_run_file : is_export ? is_vector_file : is_golden_file);
  add("--dump-layers", options.dump_layers, is_layer_trace_file);
  return outputs;
}

// Where a path leads.
struct Place {
  fs::path path;  // without links, but of a last part that does not exist
  bool exists = false;
  bool is_special = false;  // a device or a pipe
  std::pair<dev_t, ino_t> inode;
};

// The path that a link to something absent leads to, and any other path as it is.
fs::path followed(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(path, error); ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;  // `target` alone, where it is absolute
  }
  return path;
}

Place place_of(const fs::path& given) {
  const fs::path path = followed(given);
  Place place;
  struct stat status {};
  std::error_code error;
  place.exists = ::stat(path.c_str(), &status) == 0;
  if (place.exists) {
    place.is_special = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    place.inode = {status.st_dev, status.st_ino};
    place.path = fs::canonical(path, error);
  } else {
    const bool is_named = path.has_filename();  // not "folder/"
    const fs::path whole = is_named ? path : path.parent_path();
    place.path = fs::weakly_canonical(fs::absolute(folder_of(whole)), error) / whole.filename();
  }
  if (error) place.path = fs::absolute(path, error).lexically_normal();
  return place;
}

bool same(const Place& a, const Place& b) {
  return a.path == b.path || (a.exists && b.exists && a.inode == b.inode);
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
bool writes(const Output& output, const Place& place) {
  if (place.is_special) return false;
  const Place own = place_of(output.path);
  if (own.is_special) return false;
  if (same(own, place)) return true;
  if (output.holds == nullptr) return false;
  if (place.path.parent_path() == own.path && output.holds(place.path.filename().string())) {
    return true;
  }
  const std::vector<fs::path> files = files_there(output);
  return std::any_of(files.begin(), files.end(),
                     [&](const fs::path& file) { return same(place_of(file), place); });
}

bool is_beneath(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

[[noreturn]] void refuse_both(const Output& a, const Output& b, const fs::path& file) {
  throw Error(ExitCode::kUsage, a.option + " and " + b.option + " would both write '" +
                                    file.string() + "'; give each its own file");
}

// A file that another output writes too, or in whose place the other needs a folder.
void require_file_apart(const Output& file, const Output& other) {
  const Place place = place_of(file.path);
  const bool is_folder_of =
      other.holds != nullptr && is_beneath(place_of(other.path).path, place.path);
  if (writes(other, place) || is_folder_of) refuse_both(file, other, file.path);
}

// A link in a folder of output is followed, and may lead to what another output writes, or the
// same folder under another name.
void require_links_apart(const Output& folder, const std::vector<Output>& outputs) {
  for (const fs::path& file : files_there(folder)) {
    std::error_code unknown;
    if (!fs::is_symlink(file, unknown)) continue;
    const Place place = place_of(file);
    for (const Output& other : outputs) {
      const bool is_own = &other == &folder || same(place_of(other.path), place_of(folder.path));
      const bool taken = is_own ? place.path.parent_path() == place_of(other.path).path &&
                                      other.holds(place.path.filename().string()) &&
                                      place.path.filename() != file.filename()
                                : writes(other, place);
      if (taken) refuse_both(folder, other, file);
    }
  }
}

}  // namespace

bool is_vector_file(const std::string& name) {
  constexpr std::array kSingle = {"manifest.json", "config.yaml", "program.qprog", "vectors.svh"};
  if (std::find(kSingle.begin(), kSingle.end(), name) != kSingle.end()) return true;
  const std::string stem = name.substr(0, name.rfind('.'));
  if (name != stem + ".npy" && name != stem + ".hex") return false;
  for (const std::string_view unit : kUnitNames) {
    if (stem == unit || stem == std::string(unit) + "_times") return true;
  }
  constexpr std::array kBoth = {"semaphores", "dram_before", "dram_after"};
  const bool is_layer = stem.starts_with("layer") && stem.size() > 5 &&
                        stem.find_first_not_of("0123456789", 5) == std::string::npos;
  return is_layer || std::find(kBoth.begin(), kBoth.end(), stem) != kBoth.end();
}

void require_outputs_apart(const Options& options) {
  const std::vector<Output> outputs = outputs_of(options);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].holds != nullptr) {
      require_links_apart(outputs[i], outputs);
      continue;
    }
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const bool is_new_pair = outputs[j].holds != nullptr || j > i;
      if (i != j && is_new_pair) require_file_apart(outputs[i], outputs[j]);
    }
  }
}

void require_not_written(const Options& options, const fs::path& file, const std::string& what) {
  const Place place = place_of(file);
  for (const Output& output : outputs_of(options)) {
    if (!writes(output, place)) continue;
    throw Error(ExitCode::kUsage, output.option + " would overwrite '" + file.string() + "', " +
                                      what + " of this run; name another place");
  }
}

void require_trace_not_written(const Options& options, const fs::path& folder) {
  const std::string what = "the layer trace";
  require_not_written(options, folder, what);
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (name == kLayerTraceFile || name.extension() == ".npy") {
      require_not_written(options, entry->path(), what);
    }
  }
}

}  // namespace qsim
