// core/base/nearest_name.h: which name a word may have meant, and lists of names for messages.
#include "core/base/nearest_name.h"

#include <vector>

#include <gtest/gtest.h>

namespace qsim {
namespace {

using Names = std::vector<std::string_view>;

TEST(NearestName, IsTheOneOfTheFewestEditsOrNone) {
  const Names names = {"cycles", "macs", "utilization"};
  EXPECT_EQ(nearest_name("cycels", names), "cycles");
  EXPECT_EQ(nearest_name("mac", names), "macs");
  EXPECT_EQ(nearest_name("banana", names), "");
  EXPECT_EQ(nearest_name("x", names), "");
}

TEST(NearestNames, AreSortedByEditsAndThenAsTheyCome) {
  EXPECT_EQ(nearest_names("conv9", Names{"fc", "conv1", "conv2"}), "'conv1', 'conv2' and 'fc'");
  EXPECT_EQ(nearest_names("fcc", Names{"conv1", "fc"}), "'fc' and 'conv1'");
  EXPECT_EQ(nearest_names("x", Names{"conv1"}), "'conv1'");
  EXPECT_EQ(nearest_names("x", Names{}), "nothing");
  EXPECT_EQ(nearest_names("x", Names{"a\nb"}), "'a\\x0ab'");
}

TEST(NearestNames, OfManyOnlyEightAreNamedAndTheRestIsCounted) {
  EXPECT_EQ(nearest_names("i", Names{"a", "b", "c", "d", "e", "f", "g", "h"}),
            "'a', 'b', 'c', 'd', 'e', 'f', 'g' and 'h'");
  EXPECT_EQ(nearest_names("i", Names{"a", "b", "c", "d", "e", "f", "g", "h", "i"}),
            "'i', 'a', 'b', 'c', 'd', 'e', 'f', 'g' and 1 more");
  const Names many(5000, "a");
  EXPECT_TRUE(nearest_names("a", many).ends_with(" and 4992 more"));
}

}  // namespace
}  // namespace qsim
