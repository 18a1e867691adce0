// What the C interface says of itself: version, status, this thread's message, threads.
#include <cstdio>
#include <new>

#include "golden/c_interface/device_call.h"
#include "golden/c_interface/threads.h"
#include "golden/device/devices.h"

namespace qsim::golden::c_interface {
namespace {

// The message stays with its thread, and needs no memory of the heap, which may be used up.
constexpr std::size_t kMostMessageBytes = 4097;
thread_local char last_message[kMostMessageBytes] = "";

}  // namespace

void set_message(const char* message) noexcept {
  std::snprintf(last_message, sizeof last_message, "%s", message);
}

qsim_status status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const DeviceError& error) {
    set_message(error.what());
    return QSIM_DEVICE_ERROR;
  } catch (const Error& error) {
    set_message(error.what());
    return error.code() == ExitCode::kUnsupportedModel ? QSIM_UNSUPPORTED : QSIM_BAD_INPUT;
  } catch (const std::bad_alloc&) {
    set_message("host memory is used up");
    return QSIM_NO_MEMORY;
  } catch (const std::exception& error) {
    set_message(error.what());
    return QSIM_INTERNAL;
  } catch (...) {
    set_message("an unknown exception");
    return QSIM_INTERNAL;
  }
}

}  // namespace qsim::golden::c_interface

namespace ci = qsim::golden::c_interface;

int32_t qsim_abi_version(void) { return QSIM_GOLDEN_ABI_VERSION; }

const char* qsim_version(void) { return QSIM_VERSION; }

const char* qsim_last_error(void) { return ci::last_message; }

const char* qsim_status_name(qsim_status status) {
  switch (status) {
    case QSIM_OK:
      return "ok";
    case QSIM_BAD_INPUT:
      return "bad_input";
    case QSIM_UNSUPPORTED:
      return "unsupported";
    case QSIM_NO_MEMORY:
      return "no_memory";
    case QSIM_DEVICE_ERROR:
      return "device_error";
    case QSIM_INTERNAL:
      return "internal";
  }
  return "unknown";
}

int32_t qsim_has_cuda(void) { return qsim::golden::cuda_is_built() ? 1 : 0; }

qsim_status qsim_threads_create(int32_t count, qsim_threads** threads) {
  return ci::guarded([&] {
    const ci::Call call("threads_create", nullptr);
    call.require("threads", threads);
    if (count < 0 || count > 1024) call.refuse_value("count", count, "0 to 1024");
    *threads = new qsim_threads(count);
  });
}

void qsim_threads_destroy(qsim_threads* threads) { delete threads; }
