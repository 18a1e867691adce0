// What a machine says of its GPUs, with and without one, with and without nvcc.
#include <gtest/gtest.h>

#include "golden/device/devices.h"

namespace qsim::golden {
namespace {

TEST(CudaStatus, ADeviceCanBeUsedOrAReasonIsGiven) {
  const CudaStatus& status = cuda_status();
  std::size_t capable = 0;
  for (const CudaDevice& device : status.devices) {
    EXPECT_FALSE(device.name.empty());
    if (device.major < 8) continue;
    ++capable;
    EXPECT_GT(device.multiprocessors, 0);
    EXPECT_GT(device.memory_bytes, 0);
    EXPECT_GT(device.l2_bytes, 0);
  }
  EXPECT_EQ(status.usable(), capable > 0) << status.reason;
  EXPECT_NE(status.usable(), !status.reason.empty());
}

TEST(CudaStatus, NamesTheVersionsOfWhatThereIs) {
  const CudaStatus& status = cuda_status();
  EXPECT_EQ(status.runtime_version.empty(), !status.built);
  if (!status.built) {
    EXPECT_EQ(status.reason, "built without nvcc");
    EXPECT_EQ(status.driver_version, "");
  } else {
    EXPECT_NE(status.runtime_version.find('.'), std::string::npos) << status.runtime_version;
    EXPECT_EQ(status.driver_version.empty(), status.reason == "no driver");
  }
}

TEST(CudaStatus, IsAskedOnce) { EXPECT_EQ(&cuda_status(), &cuda_status()); }

}  // namespace
}  // namespace qsim::golden
