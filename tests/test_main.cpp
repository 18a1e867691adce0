// The tests' own main. libsystemc exports a `main` of its own that wants sc_main: linked before
// gtest_main it would run no test and exit 0.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
