// SystemC switches stacks, which AddressSanitizer's fake stacks do not follow.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): AddressSanitizer's
extern "C" const char* __asan_default_options();
const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
