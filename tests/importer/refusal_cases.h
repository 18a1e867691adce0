// Models that are refused: TestModel with one change each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/importer/model_builder.h"

namespace qsim {

inline constexpr ExitCode kUnsupported = ExitCode::kUnsupportedModel;

struct RefusalCase {
  std::string expected;
  std::function<void(TestModel&)> apply;
};

inline void expect_refusals(ExitCode code, const std::vector<RefusalCase>& cases) {
  for (const RefusalCase& each : cases) {
    TestModel model;
    each.apply(model);
    EXPECT_EQ(import_error(model), (ImportError{code, each.expected}));
  }
}

}  // namespace qsim
