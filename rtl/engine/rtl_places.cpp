#include "rtl/engine/rtl_places.h"

#include <cstdlib>
#include <sstream>

#include <unistd.h>

namespace qsim::rtl {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path cache_folder() {
  if (const std::string own = variable("QSIM_CACHE"); !own.empty()) return fs::path(own) / "rtl";
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) {
    return fs::path(xdg) / "qsim" / "rtl";
  }
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "qsim" / "rtl";
}

}  // namespace

RtlPlaces standard_rtl_places() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path prefix = folder.parent_path();
  RtlPlaces places;
  for (const fs::path& rtl :
       {prefix / "share" / "qsim" / "rtl", fs::path(QSIM_SOURCE_DIR) / "rtl"}) {
    if (places.sources.empty() && fs::exists(rtl / "build_model.sh", error)) places.sources = rtl;
  }
  places.model_folders = {folder / "rtl", prefix / "rtl", prefix / "lib" / "qsim" / "rtl"};
  places.cache = cache_folder();
  return places;
}

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return ::access(name.c_str(), X_OK) == 0 ? fs::path(name) : fs::path();
  }
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path path = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code error;
    if (fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace qsim::rtl
