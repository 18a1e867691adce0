// The rest of what objective_test.cpp begins with: the full search against timing every mapping.
#include "tests/compiler/brute_force.h"

namespace qsim {
namespace {

TEST(ObjectiveLong, TheFullSearchFindsTheLeastOfEveryObjectiveForMoreLayers) {
  testing::expect_best_of_all(121, 520);
}

}  // namespace
}  // namespace qsim
