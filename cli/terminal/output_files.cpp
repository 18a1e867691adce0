#include "cli/terminal/output_files.h"

#include <algorithm>
#include <vector>

#include "cli/terminal/file_place.h"
#include "cli/terminal/output_folders.h"
#include "core/error.h"
#include "files/layer_trace.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

struct Output {
  std::string option;
  fs::path path;
  bool (*holds)(const std::string& name) = nullptr;  // of a folder: whether it gets such a file
};

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
  if (options.command == CommandName::kQuantize && !options.program_out.empty()) {
    add("--out", fs::path(options.program_out).replace_extension(".yaml").string());
  }
  add("--out-scales", options.convert.out_scales);
  add("--out-zero-points", options.convert.out_zero_points);
  add("--out-back", options.convert.out_back);
  add("--out-scales", options.linear.out_scales);
  add("--out-zero-points", options.linear.out_zero_points);
  add("--trace", options.trace);
  add("--write-mapping", options.write_mapping);
  add("--report", options.report);
  add("--csv", options.csv);
  add("--resume", options.resume);
  const bool is_run = options.command == CommandName::kRun;
  const bool is_export = options.command == CommandName::kExportVectors;
  const bool is_eval = options.command == CommandName::kEval;
  add("--out", options.out,
      is_run      ? is_run_file
      : is_export ? is_vector_file
      : is_eval   ? is_eval_file
                  : is_golden_file);
  add("--dump-layers", options.dump_layers, is_layer_trace_file);
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
  if (place.is_special) return false;
  const FilePlace own = place_of(output.path);
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

[[noreturn]] void refuse_both(const Output& a, const Output& b, const fs::path& file) {
  throw Error(ExitCode::kUsage, a.option + " and " + b.option + " would both write '" +
                                    file.string() + "'; give each its own file");
}

// A file that another output writes too, or in whose place the other needs a folder.
void require_file_apart(const Output& file, const Output& other) {
  const FilePlace place = place_of(file.path);
  const bool is_folder_of =
      other.holds != nullptr && is_beneath(place_of(other.path).path, place.path);
  if (writes(other, place) || is_folder_of) refuse_both(file, other, file.path);
}

// A folder inside the other has no name that the other gives to a file.
void require_folders_apart(const Output& outer, const Output& inner) {
  const fs::path folder = place_of(outer.path).path;
  const fs::path path = place_of(inner.path).path;
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

void require_outputs_apart(const Options& options) {
  const std::vector<Output> outputs = outputs_of(options);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].holds != nullptr) {
      require_links_apart(outputs[i], outputs);
      for (const Output& other : outputs) {
        if (other.holds != nullptr) require_folders_apart(outputs[i], other);
      }
      continue;
    }
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const bool is_new_pair = outputs[j].holds != nullptr || j > i;
      if (i != j && is_new_pair) require_file_apart(outputs[i], outputs[j]);
    }
  }
}

void require_not_written(const Options& options, const fs::path& file, const std::string& what) {
  const FilePlace place = place_of(file);
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
