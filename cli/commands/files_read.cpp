#include "cli/commands/files_read.h"

#include <filesystem>
#include <memory>

#include "cli/session/inputs/picture_set.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/results/condition_option.h"
#include "cli/session/results/report_page_option.h"
#include "compiler/importer/external_files.h"
#include "core/error.h"
#include "files/arch_config_file.h"
#include "files/layer_trace.h"
#include "files/picture_folder.h"
#include "files/sidecar.h"

namespace qsim {
namespace {

namespace fs = std::filesystem;

using Files = std::vector<ReadFile>;

// What is wrong with a file is the command's to say, when it reads it.
template <typename Step>
void if_possible(Step step) {
  try {
    step();
  } catch (const Error&) {
    return;
  }
}

bool is_folder(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

void add_onnx(const fs::path& path, const std::string& what, Files& files) {
  files.push_back({path, what});
  files.push_back({sidecar_path(path), "the model's sidecar"});
  if_possible([&] {
    for (const fs::path& data : external_files(std::make_shared<const HeldFile>(path))) {
      files.push_back({data, "the model's external data"});
    }
  });
}

void add_trace(const fs::path& folder, Files& files) {
  const std::string what = "the layer trace";
  files.push_back({folder, what});
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (name == kLayerTraceFile || name.extension() == ".npy") {
      files.push_back({entry->path(), what});
    }
  }
}

void add_network(const fs::path& path, const std::string& what, Files& files) {
  if (is_folder(path)) return add_trace(path, files);
  const std::string extension = path.extension().string();
  if (extension == ".onnx") return add_onnx(path, what, files);
  const bool is_model = what == "the model";
  files.push_back({path, is_model && extension == ".csv"    ? "the topology"
                         : is_model && extension != ".onnx" ? "the workload"
                                                            : what});
}

// One picture or array, or a folder of them.
void add_pictures(const fs::path& path, const std::string& what, Files& files) {
  files.push_back({path, what});
  if (path.extension() == ".npy") files.push_back({labels_path(path), "the pictures' labels"});
  if (!is_folder(path)) return;
  if_possible([&] {
    const PictureFolder found = scan_picture_folder(path);
    for (const fs::path& file : found.batches) files.push_back({file, what});
    for (const fs::path& file : found.pictures) files.push_back({file, what});
  });
}

// Nothing of a pipe, whose bytes can be read once.
void add_networks_of(const fs::path& config_file, const Options& options, Files& files) {
  std::error_code unknown;
  if (!fs::is_regular_file(config_file, unknown)) return;
  if_possible([&] {
    const ArchConfig config = load_arch_config(config_file);
    if (options.model.empty() && options.models.empty()) {
      if_possible([&] { add_network(find_model(config.model), "the model", files); });
    }
    if (options.input.empty()) {
      if_possible([&] { add_pictures(find_input(config.input), "the input", files); });
    }
  });
}

// Whether the command runs what its configuration names.
bool reads_networks_of_config(const Options& options) {
  switch (options.command) {
    case CommandName::kRun:
    case CommandName::kVerify:
    case CommandName::kExplain:
    case CommandName::kProfile:
    case CommandName::kEval:
    case CommandName::kCompile:
    case CommandName::kExportVectors:
    case CommandName::kGoldenRun:
    case CommandName::kGoldenBench:
    case CommandName::kGoldenAbc:
      return options.seeds == 0 && options.weights.empty();
    default:
      return false;
  }
}

void add_configs(const Options& options, Files& files) {
  std::vector<std::string> names = {options.config};
  if (options.command == CommandName::kProfile) names = options.configs;
  if (options.all_configs) names = shipped_configs();
  for (const std::string& name : names) {
    if_possible([&] {
      const fs::path path = find_config(name);
      files.push_back({path, "the configuration"});
      if (reads_networks_of_config(options)) add_networks_of(path, options, files);
    });
  }
}

void add_networks(const Options& options, Files& files) {
  std::vector<std::string> names = options.models;
  for (const std::string& name :
       {options.model, options.eval.float_model, options.eval.against, options.weights}) {
    names.push_back(name);
  }
  for (const std::string& name : names) {
    if (name.empty()) continue;
    const std::string what = name == options.weights ? "the weights" : "the model";
    if_possible([&] { add_network(find_model(name), what, files); });
  }
  if (options.file.empty()) return;
  if_possible(
      [&] { add_network(find_config_or_model(options.file), "the inspected file", files); });
}

void add_all_pictures(const Options& options, Files& files) {
  std::vector<std::string> data = options.eval.data;
  data.insert(data.end(), options.schemes.data.begin(), options.schemes.data.end());
  for (const std::string& path : data) add_pictures(path, "the pictures", files);
  data = options.quantize.calibrate;
  data.push_back(options.schemes.calibrate);
  for (const std::string& path : data) {
    if (!path.empty()) add_pictures(path, "a picture", files);
  }
  if (options.input.empty()) return;
  if_possible([&] { add_pictures(find_input(options.input), "the input", files); });
}

struct PlainFile {
  std::string path;
  const char* what;
};

// Files that are what they are called, without companions.
void add_plain(const Options& options, Files& files) {
  const PlainFile rows[] = {
      {options.mapping, "the mapping file"},
      {options.quantize.layers, "the file of --layers"},
      {options.quantize.scales, "the file of --scales"},
      {options.linear.x, "x"},
      {options.linear.w, "the weights"},
      {options.linear.scales, "the scales"},
      {options.linear.b, "the bias"},
      {options.convert.input, "the input"},
      {options.convert.in_scales, "the scales"},
      {options.convert.in_zero_points, "the zero points"},
  };
  for (const PlainFile& row : rows) {
    if (!row.path.empty()) files.push_back({row.path, row.what});
  }
  for (const std::string& file : options.results) files.push_back({file, "the results"});
  for (const std::string& file : condition_files(options)) {
    files.push_back({file, "the results of --fail-if"});
  }
  if (!options.energy.empty()) {
    if_possible([&] { files.push_back({find_energy_table(options.energy), "the energy table"}); });
  }
  if (!options.report.empty()) files.push_back({chart_library_path(), "the chart library"});
}

}  // namespace

std::vector<ReadFile> files_read(const Options& options) {
  Files files;
  add_configs(options, files);
  add_networks(options, files);
  add_all_pictures(options, files);
  add_plain(options, files);
  return files;
}

}  // namespace qsim
