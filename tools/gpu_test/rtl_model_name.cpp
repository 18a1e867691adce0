// rtl_model_name CONFIG.yaml: the name under which the rtl engine looks for the Verilated model of
// a configuration on this machine, then the parameters that rtl/build_model.sh takes; one a line. A
// model built for another machine is found once its file bears the name.
#include <cstdio>
#include <exception>

#include "formats/settings/arch_config_file.h"
#include "rtl/engine/rtl_model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: rtl_model_name CONFIG.yaml\n");
    return 2;
  }
  try {
    const qsim::rtl::RtlParameters parameters =
        qsim::rtl::rtl_parameters(qsim::formats::load_arch_config(argv[1]));
    std::printf("%s\n", qsim::rtl::rtl_model_key(parameters, qsim::rtl::RtlModelOptions()).c_str());
    for (const std::string& text : qsim::rtl::rtl_parameter_texts(parameters)) {
      std::printf("%s\n", text.c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rtl_model_name: %s\n", error.what());
    return 1;
  }
  return 0;
}
