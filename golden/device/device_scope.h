// A device that is current for this thread while a scope lasts; then the one before is again.
#pragma once

namespace qsim::golden {

// Making a device current gives it a context, which takes half a gigabyte of its memory. So where
// nothing has used the device before, the scope's stays current.
class DeviceScope {
 public:
  // Throws Error as use_device() does.
  explicit DeviceScope(int index);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int restored_ = -1;  // none: -1
};

}  // namespace qsim::golden
