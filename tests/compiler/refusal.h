// What an action refuses, as tests look at it.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace qsim::testing {

// The message of the Error that `action` throws, which must have `code`. "" where nothing is
// thrown, which fails the test.
inline std::string refusal(const std::function<void()>& action, ExitCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

}  // namespace qsim::testing
