#include "formats/text/shallow_json.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace qsim {

using namespace formats;
namespace {

using Json = nlohmann::json;

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

TEST(ShallowJson, IsReadUpToItsDepth) {
  EXPECT_FALSE(parse_shallow<Json>(nested(kMaxJsonDepth)).is_discarded());
  EXPECT_TRUE(parse_shallow<Json>(nested(kMaxJsonDepth + 1)).is_discarded());
  EXPECT_TRUE(parse_shallow<Json>("{").is_discarded());
  std::string many = "[";
  for (int i = 0; i < 1000; ++i) many += "[{\"a\": [1]}],";
  EXPECT_EQ(parse_shallow<Json>(many + "2]").size(), 1001U);
}

TEST(ShallowJson, BracketsInTextsAreNoLevels) {
  const std::string text = "\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"";
  EXPECT_EQ(parse_shallow<Json>("[" + text + "]")[0].get<std::string>().size(), 2001U);
}

}  // namespace
}  // namespace qsim
