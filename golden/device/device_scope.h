// A device that is current for this thread while a scope lasts; then the one before is again.
#pragma once

namespace qsim::golden {

class DeviceScope {
 public:
  // Throws Error as use_device() does.
  explicit DeviceScope(int index);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
};

}  // namespace qsim::golden
