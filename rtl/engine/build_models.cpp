// qsim_rtl_build FOLDER [--variant V] [--cxx COMPILER] CONFIG.yaml...: builds the models of
// configurations into a folder, as far as they are not there, and removes the models that it built
// for them when the sources were others. CMake runs it; the key and the build are those of
// rtl_model.h.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "core/base/error.h"
#include "formats/files/files.h"
#include "formats/settings/arch_config_file.h"
#include "rtl/engine/rtl_model.h"

namespace qsim::rtl {
namespace {

namespace fs = std::filesystem;

struct Request {
  fs::path folder;
  RtlModelOptions options;
  std::vector<ArchConfig> configs;
};

Request request_of(const std::vector<std::string>& words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--variant" && has_value) {
      request.options.variant = words[++i];
    } else if (words[i] == "--cxx" && has_value) {
      request.options.compiler = words[++i];
    } else if (request.folder.empty()) {
      request.folder = words[i];
    } else {
      request.configs.push_back(formats::load_arch_config(words[i]));
    }
  }
  if (request.configs.empty()) {
    throw Error(ExitCode::kUsage,
                "usage: qsim_rtl_build FOLDER [--variant V] [--cxx COMPILER] CONFIG.yaml...");
  }
  return request;
}

// FOLDER/NAME-VARIANT-COMPILER.key notes the key of the last build, so that its model is removed
// when the key becomes another.
void replace_key(const Request& request, const ArchConfig& config, const std::string& key) {
  std::string compiler = rtl_compiler(rtl_parameters(config), request.options);
  std::replace(compiler.begin(), compiler.end(), '/', '_');
  const fs::path note =
      request.folder / (config.name + "-" + request.options.variant + "-" + compiler + ".key");
  if (fs::exists(note)) {
    const std::string old = formats::read_text_file(note);
    if (old == key) return;
    fs::remove(request.folder / (old + ".so"));
    fs::remove(request.folder / (old + ".log"));
  }
  formats::write_file_atomically(note, key);
}

// Whatever the umask is: nobody else's code is loaded (formats/files/own_file.h).
void take_from_others(const fs::path& folder) {
  formats::make_folder(folder);
  fs::permissions(folder, fs::perms::group_write | fs::perms::others_write,
                  fs::perm_options::remove);
}

int build(const Request& request) {
  take_from_others(request.folder);
  for (const ArchConfig& config : request.configs) {
    const std::string key = rtl_model_key(rtl_parameters(config), request.options);
    if (!fs::exists(request.folder / (key + ".so"))) {
      build_rtl_model(config, request.options, request.folder);
    }
    replace_key(request, config, key);
  }
  return 0;
}

}  // namespace
}  // namespace qsim::rtl

int main(int argc, char** argv) {
  try {
    return qsim::rtl::build(qsim::rtl::request_of(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const qsim::Error& error) {
    std::fprintf(stderr, "qsim_rtl_build: %s\n%s", error.what(), error.details().c_str());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "qsim_rtl_build: %s\n", error.what());
    return 1;
  }
}
