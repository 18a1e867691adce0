// What the fuzz targets share: how a finding is told from an ordinary refusal, numbers out of
// bytes, and a folder for the readers that want files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace qsim::fuzz {

using Bytes = std::span<const std::uint8_t>;

std::string_view text_of(Bytes bytes);
std::span<const std::byte> bytes_of(Bytes bytes);

// Says what is wrong and aborts, which libFuzzer and the replay program both take for a finding.
[[noreturn]] void finding(const std::string& what);
void require(bool holds, const std::string& what);

// Runs `action`: kOk, or the code of the Error that it threw, which must be kBadInput or
// kUnsupportedModel. Any other exception escapes and ends the process.
template <typename Action>
ExitCode outcome(Action action) {
  try {
    action();
  } catch (const Error& error) {
    require(error.code() == ExitCode::kBadInput || error.code() == ExitCode::kUnsupportedModel,
            "an Error of exit code " + std::to_string(static_cast<int>(error.code())) +
                " for bad input: " + error.what());
    require(error.what()[0] != '\0', "an Error without a message");
    return error.code();
  }
  return ExitCode::kOk;
}

template <typename Action>
bool accepted(Action action) {
  return outcome(action) == ExitCode::kOk;
}

// Numbers read from the bytes of an input, one after the other: what the input does not say is the
// lowest number allowed. So every input means something, and a shorter one something simpler.
class ByteSource {
 public:
  explicit ByteSource(Bytes bytes) : bytes_(bytes) {}

  // A number in [low, high], from one byte where the range allows it.
  std::int64_t pick(std::int64_t low, std::int64_t high);
  bool flag() { return pick(0, 1) != 0; }
  // True for one byte in `count`.
  bool rarely(std::int64_t count) { return pick(0, count - 1) == count - 1; }

 private:
  Bytes bytes_;
};

// A folder of this process, beneath TMPDIR; gone with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes the file and returns its path. `name` has no '/'.
  std::filesystem::path file(const std::string& name, std::string_view content) const;
  // Removes every file.
  void clear() const;

 private:
  std::filesystem::path path_;
};

// What every target defines: reads one input; a finding ends the process. Whether the reader took
// it, so that a corpus of nothing but refusals is noticed.
bool fuzz_one(Bytes input);

}  // namespace qsim::fuzz
