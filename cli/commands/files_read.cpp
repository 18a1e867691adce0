#include "cli/commands/files_read.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/session/inputs/picture_set.h"
#include "cli/session/inputs/shipped_files.h"
#include "cli/session/results/condition_option.h"
#include "cli/session/results/report_page_option.h"
#include "cli/terminal/shared_options.h"
#include "core/base/error.h"
#include "formats/files/files.h"
#include "formats/onnx/importer/external_files.h"
#include "formats/pictures/picture_folder.h"
#include "formats/settings/arch_config_file.h"
#include "formats/settings/sidecar.h"
#include "formats/traces/layer_trace.h"

namespace qsim::cli {
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

void add_onnx(const fs::path& path, const std::string& what, Files& files) {
  files.push_back({path, what});
  files.push_back({formats::sidecar_path(path), "the model's sidecar"});
  if_possible([&] {
    for (const fs::path& data :
         formats::external_files(std::make_shared<const formats::HeldFile>(path))) {
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
    if (name == formats::kLayerTraceFile || name.extension() == ".npy") {
      files.push_back({entry->path(), what});
    }
  }
}

void add_network(const fs::path& path, const std::string& what, Files& files) {
  if (formats::is_folder(path)) return add_trace(path, files);
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
  if (!formats::is_folder(path)) return;
  if_possible([&] {
    const formats::PictureFolder found = formats::scan_picture_folder(path);
    for (const fs::path& file : found.batches) files.push_back({file, what});
    for (const fs::path& file : found.pictures) files.push_back({file, what});
  });
}

bool gives(const Declarations& declared, Reads how) {
  return std::ranges::any_of(
      declared.rows(), [&](const OptionRow& row) { return row.reads == how && row.count > 0; });
}

// What a configuration names where the options do not. Nothing of a pipe, whose bytes can be read
// once.
void add_networks_of(const fs::path& config_file, const Declarations& declared, Files& files) {
  std::error_code unknown;
  if (!fs::is_regular_file(config_file, unknown)) return;
  if_possible([&] {
    const ArchConfig config = formats::load_arch_config(config_file);
    if (!gives(declared, Reads::kNetworkOrConfig)) {
      if_possible([&] { add_network(find_model(config.model), "the model", files); });
    }
    if (!gives(declared, Reads::kInput)) {
      if_possible([&] { add_pictures(find_input(config.input), "the input", files); });
    }
  });
}

void add_configs(const OptionRow& row, const Declarations& declared, Files& files) {
  const bool runs_its_network =
      std::ranges::any_of(
          declared.rows(),
          [](const OptionRow& other) { return other.reads == Reads::kNetworkOrConfig; }) &&
      !gives(declared, Reads::kNoNetwork) && !gives(declared, Reads::kNetworkInstead);
  Words names = row.count > 0 ? row.values : Words{kDefaultConfig};
  if (gives(declared, Reads::kEveryConfig)) names = shipped_configs();
  for (const std::string& name : names) {
    if_possible([&] {
      const fs::path path = find_config(name);
      files.push_back({path, row.read_as});
      if (runs_its_network) add_networks_of(path, declared, files);
    });
  }
}

void add_value(const OptionRow& row, const std::string& value, Files& files) {
  switch (row.reads) {
    case Reads::kFile:
      files.push_back({value, row.read_as});
      break;
    case Reads::kNetwork:
    case Reads::kNetworkOrConfig:
    case Reads::kNetworkInstead:
      if_possible([&] { add_network(find_model(value), row.read_as, files); });
      break;
    case Reads::kInspected:
      if_possible([&] { add_network(find_config_or_model(value), row.read_as, files); });
      break;
    case Reads::kPictures:
      add_pictures(value, row.read_as, files);
      break;
    case Reads::kInput:
      if_possible([&] { add_pictures(find_input(value), row.read_as, files); });
      break;
    case Reads::kEnergyTable:
      if_possible([&] { files.push_back({find_energy_table(value), row.read_as}); });
      break;
    case Reads::kConditions:
      for (const std::string& file : condition_files({value})) files.push_back({file, row.read_as});
      break;
    case Reads::kChartLibrary:
      files.push_back({chart_library_path(), row.read_as});
      break;
    case Reads::kNothing:
    case Reads::kNoNetwork:
    case Reads::kConfig:
    case Reads::kEveryConfig:
      break;
  }
}

}  // namespace

std::vector<ReadFile> files_read(const Declarations& declared) {
  Files files;
  for (const OptionRow& row : declared.rows()) {
    if (row.reads == Reads::kConfig) add_configs(row, declared, files);
    for (const std::string& value : row.values) add_value(row, value, files);
  }
  return files;
}

}  // namespace qsim::cli
