#include "cli/session/inputs/shipped_files.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "formats/text/yaml.h"
#include "formats/traces/layer_trace.h"

namespace qsim::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A file of `folder` that is called `name`, with or without one of the extensions.
fs::path file_named(const fs::path& folder, const std::string& name,
                    const std::vector<std::string>& extensions) {
  for (const fs::path& path : entries(folder)) {
    const std::string extension = path.extension().string();
    if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) continue;
    if (path.stem() == name || path.filename() == name) return path;
  }
  return {};
}

// The quantized model of models/NAME/: its *-int8.onnx.
fs::path model_in(const fs::path& folder) {
  for (const fs::path& path : entries(folder)) {
    if (ends_with(path.filename().string(), "-int8.onnx")) return path;
  }
  return {};
}

void add_stems(std::set<std::string>& names, const fs::path& folder,
               const std::vector<std::string>& extensions) {
  for (const fs::path& path : entries(folder)) {
    const std::string extension = path.extension().string();
    if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
      names.insert(path.stem().string());
    }
  }
}

const std::vector<std::string> kYaml = {".yaml"};
const std::vector<std::string> kPictures = {".png", ".jpg"};
constexpr const char* kEnergyTables = "configs/energy";

// A path that the user gave. A folder counts only as a layer trace, so that a folder that happens
// to be called like a shipped model does not hide it.
bool is_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return true;
  std::error_code error;
  if (!fs::exists(name, error)) return false;
  return !fs::is_directory(name, error) ||
         fs::exists(fs::path(name) / formats::kLayerTraceFile, error);
}

// A folder that no model can be read from; configurations and pictures are files anyway.
std::string folder_note(const std::string& kind, const std::string& name) {
  std::error_code ignored;
  if (!fs::is_directory(name, ignored)) return "";
  return kind == "config" ? " (a folder)"
                          : " (a folder without " + std::string(formats::kLayerTraceFile) + ")";
}

[[noreturn]] void not_found(const std::string& kind, const std::string& name,
                            const std::string& folder, const std::vector<std::string>& shipped) {
  std::string message = kind + " '" + name + "' not found; searched: ./" + name;
  message += folder_note(kind, name);
  for (const fs::path& root : shipped_roots()) message += ", " + (root / folder).string();
  const std::vector<std::string_view> names(shipped.begin(), shipped.end());
  const std::string_view nearest = nearest_name(name, names);
  if (!nearest.empty()) message += "; did you mean '" + std::string(nearest) + "'?";
  if (!names.empty()) message += "; shipped:";
  for (std::size_t i = 0; i < names.size(); ++i) {
    message += (i == 0 ? " " : ", ") + std::string(names[i]);
  }
  throw_bad_input(message);
}

}  // namespace

std::vector<fs::path> shipped_roots() {
  std::vector<fs::path> roots;
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& root :
       {executable.parent_path().parent_path() / "share" / "qsim", fs::path(QSIM_SOURCE_DIR)}) {
    if (fs::is_directory(root / "configs", error)) roots.push_back(root);
  }
  return roots;
}

fs::path find_config(const std::string& name) {
  if (is_path(name)) return name;
  for (const fs::path& root : shipped_roots()) {
    const fs::path path = file_named(root / "configs", name, kYaml);
    if (!path.empty()) return path;
  }
  not_found("config", name, "configs", shipped_configs());
}

fs::path find_model(const std::string& name, const std::string& kind) {
  if (is_path(name)) return name;
  for (const fs::path& root : shipped_roots()) {
    fs::path path = file_named(root / "models" / "workloads", name, kYaml);
    if (path.empty()) path = file_named(root / "models" / "networks", name, kYaml);
    if (path.empty()) path = model_in(root / "models" / name);
    if (!path.empty()) return path;
  }
  not_found(kind, name, "models", shipped_models());
}

fs::path find_input(const std::string& name, const std::string& kind) {
  if (is_path(name)) return name;
  for (const fs::path& root : shipped_roots()) {
    const fs::path path = file_named(root / "models" / "pictures", name, kPictures);
    if (!path.empty()) return path;
  }
  std::error_code ignored;
  if (fs::is_directory(name, ignored)) return name;  // of arrays, for a network with a host
  not_found(kind, name, "models/pictures", shipped_inputs());
}

fs::path find_energy_table(const std::string& name) {
  if (is_path(name)) return name;
  for (const fs::path& root : shipped_roots()) {
    const fs::path path = file_named(root / kEnergyTables, name, kYaml);
    if (!path.empty()) return path;
  }
  not_found("energy table", name, kEnergyTables, shipped_energy_tables());
}

fs::path find_config_or_model(const std::string& name) {
  const std::vector<std::string> configs = shipped_configs();
  if (is_path(name)) return name;
  if (std::find(configs.begin(), configs.end(), name) != configs.end()) return find_config(name);
  std::vector<std::string> names = shipped_models();
  if (std::find(names.begin(), names.end(), name) != names.end()) return find_model(name);
  names.insert(names.end(), configs.begin(), configs.end());
  not_found("program, model, workload, trace or config", name, "{configs,models}", names);
}

std::vector<std::string> shipped_configs() {
  std::set<std::string> names;
  for (const fs::path& root : shipped_roots()) add_stems(names, root / "configs", kYaml);
  return {names.begin(), names.end()};
}

std::vector<std::string> shipped_energy_tables() {
  std::set<std::string> names;
  for (const fs::path& root : shipped_roots()) add_stems(names, root / kEnergyTables, kYaml);
  return {names.begin(), names.end()};
}

std::vector<std::string> shipped_models() {
  std::set<std::string> names;
  for (const fs::path& root : shipped_roots()) {
    add_stems(names, root / "models" / "workloads", kYaml);
    add_stems(names, root / "models" / "networks", kYaml);
    for (const fs::path& folder : entries(root / "models")) {
      if (!model_in(folder).empty()) names.insert(folder.filename().string());
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> shipped_inputs() {
  std::set<std::string> names;
  for (const fs::path& root : shipped_roots()) {
    add_stems(names, root / "models" / "pictures", kPictures);
  }
  return {names.begin(), names.end()};
}

}  // namespace qsim::cli
