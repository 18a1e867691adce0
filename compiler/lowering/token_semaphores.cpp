// Which semaphore has which token, by name.
#include "compiler/lowering/schedule.h"

namespace qsim::compiler {

std::array<Semaphore, kSemaphores> token_semaphores() {
  std::array<Semaphore, kSemaphores> semaphores;
  const auto set = [&](Token token, const char* name) {
    semaphores[static_cast<std::size_t>(token)].name = name;
  };
  set(Token::kActReady, "act_ready");
  set(Token::kActFree, "act_free");
  set(Token::kWeightReady, "weight_ready");
  set(Token::kWeightFree, "weight_free");
  set(Token::kParamReady, "param_ready");
  set(Token::kParamFree, "param_free");
  set(Token::kAccReady, "acc_ready");
  set(Token::kAccFree, "acc_free");
  set(Token::kOutReady, "out_ready");
  set(Token::kOutFree, "out_free");
  set(Token::kOfmapDone, "ofmap_done");
  return semaphores;
}

}  // namespace qsim::compiler
