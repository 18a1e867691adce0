// configs/*.yaml: a configuration that is read can be built, and is read again from what is
// printed of it.
#include "formats/settings/arch_config_file.h"
#include "tests/fuzz/fuzz_support.h"

namespace qsim::fuzz {

using namespace formats;

bool fuzz_one(Bytes input) {
  static Folder folder;
  const auto path = folder.file("config.yaml", text_of(input));
  ArchConfig config;
  if (!accepted([&] { config = load_arch_config(path); })) return false;
  validate(config);
  const std::string printed = arch_config_yaml(config);
  require(load_arch_config(folder.file("printed.yaml", printed)) == config,
          "the printed configuration is another one:\n" + printed);
  return true;
}

}  // namespace qsim::fuzz
