// Where the engines of `qsim eval` run.
#include "tests/cli/eval_fixture.h"

namespace qsim {
namespace {

const std::string kEach = "eval --model vgg8-cifar10 --data b.bin --float " + kFloat + " ";
constexpr const char* kHidden = "CUDA_VISIBLE_DEVICES=";

TEST_F(Eval, RefusesAGpuThatIsNotThereForEachEngine) {
  for (const char* engines : {"golden,float", "fake,float", "float"}) {
    expect_error(folder_, kEach + "--backend cuda --engines " + engines, 3,
                 "--backend cuda: no GPU can be used: ", kHidden);
  }
}

TEST_F(Eval, SaysOnceThatTheCpuStandsInForTheGpuOfTheEnvironment) {
  const Outcome outcome = run_qsim(folder_, kEach + "--pictures 4 --engines golden,fake,float",
                                   std::string(kHidden) + " QSIM_GOLDEN=cuda");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string note = "no GPU can be used: ";
  const std::size_t first = outcome.err.find(note);
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find(note, first + 1), std::string::npos) << outcome.err;
  for (const char* name : {"golden cpu", "fake cpu", "float cpu"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << outcome.out;
  }
}

TEST_F(Eval, HasTheSameOutputsOnAGpu) {
  if (!json_of(folder_, "golden info")["cuda_usable"].get<bool>()) GTEST_SKIP() << "no GPU";
  for (const char* backend : {"cpu", "cuda"}) {
    const Json json = json_of(
        folder_, kEach + "--engines golden,fake,float --out " + backend + " --backend " + backend);
    for (const Json& engine : json["engines"]) {
      EXPECT_EQ(engine["backend"], backend);
      EXPECT_EQ(engine.contains("stages"), std::string(backend) == "cuda");
    }
  }
  for (const char* file : {"/outputs.npy", "/predictions.npy"}) {
    EXPECT_EQ(read_file(folder_ / (std::string("cpu") + file)),
              read_file(folder_ / (std::string("cuda") + file)));
  }
}

}  // namespace
}  // namespace qsim
