// Reading and writing whole files, with errors that name the path and the reason. All files that
// qsim reads or writes are read and written by these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"

namespace qsim::formats {

// What a reader says of a file by its first kStartBytes and its length, before the rest is read: it
// throws Error where the start promises another length, or is of another kind of file.
using StartJudge = std::function<void(std::span<const std::byte> start, std::int64_t bytes)>;
inline constexpr std::int64_t kStartBytes = std::int64_t{1} << 17;

// The bytes of a file. Throws Error when it is missing, a directory, a device, unreadable, longer
// than max_bytes, or a git-LFS pointer in place of the file. A regular file that is too long is
// refused before anything of it is read; `judge` is asked of one that is longer than kStartBytes.
std::string read_text_file(const std::filesystem::path& path,
                           std::int64_t max_bytes = kMaxFileBytes);
std::vector<std::byte> read_binary_file(const std::filesystem::path& path,
                                        std::int64_t max_bytes = kMaxFileBytes,
                                        const StartJudge& judge = {});

// Throws the Error of the two above when `start` begins like a git-LFS pointer.
void refuse_lfs_pointer(const std::filesystem::path& path, std::string_view start);

// Length of a regular file; the same errors as reading it.
std::int64_t file_bytes(const std::filesystem::path& path);
// Bytes [offset, offset + count), which must lie in the file.
std::vector<std::byte> read_file_range(const std::filesystem::path& path, std::int64_t offset,
                                       std::int64_t count);
// The same into `to`.
void read_file_range(const std::filesystem::path& path, std::int64_t offset,
                     std::span<std::byte> to);

// Replaces the file by `content`, or leaves it as it was: the bytes go to a temporary file in the
// same folder, which is renamed once they are on the disk (formats/files/file_replacement.h). A
// path that names a device or a pipe is written in place. Throws Error naming the path and the
// reason (no permission, disk full, ...); the temporary file is then gone.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Has on the disk, with its name, a file that a program of its own has made and renamed.
void sync_file(const std::filesystem::path& path);

// Removes the file, if there is one, so that it is gone from the disk before what follows. The file
// that says that a set of files is whole is removed before its members change. Throws Error.
void remove_file(const std::filesystem::path& path);

// Removes from a folder the files whose name `is_member` takes, but those of `names`: what an older
// set of files had and the new one has not. Leaves folders, and a folder that cannot be listed.
void remove_other_files(const std::filesystem::path& folder,
                        bool (*is_member)(const std::string& name),
                        const std::set<std::string>& names);

// Whether the path leads to anything, or to a folder; false where that cannot be found out.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

// Makes the folder and its parents, and makes sure that files can be made in it. Throws Error
// naming the path and the reason.
void make_folder(const std::filesystem::path& path);

}  // namespace qsim::formats
