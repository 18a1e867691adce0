// The temporary files that qsim writes: their names, their owners, and the removal of those that a
// killed process left. For files, and for code that must remove one at once.
#pragma once

#include <filesystem>
#include <string_view>

namespace qsim::formats {

// What a temporary's name holds, between the file's own name and numbers that make it unique:
// ".run.json.tmp-4711-0". Nothing that qsim reads is ever called so.
inline constexpr std::string_view kTemporaryMark = ".tmp-";
// Beside a temporary that another writer makes: what the FST writer makes for itself, and the file
// whose lock says that someone is at work. The temporary's own lock would go with the inode, which
// the FST writer exchanges.
inline constexpr std::string_view kHierarchySuffix = ".hier";
inline constexpr std::string_view kLockSuffix = ".lock";

std::filesystem::path with_suffix(const std::filesystem::path& temporary, std::string_view suffix);

// The folder that a file is in; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& file);

// A name for a temporary of `target` that this process has not used.
std::filesystem::path next_temporary_name(const std::filesystem::path& target);

// Makes the file `name`, which must not exist, and locks it; negative with errno, which is EEXIST
// also where someone who removes leftovers came in between.
int create_locked(const std::filesystem::path& name, unsigned mode);

// Removes a temporary and what is beside it, the lock last.
void remove_temporary(const std::filesystem::path& temporary);

// Removes the temporaries of `target` that killed processes left: those that nobody has locked. A
// folder is listed once per process, so that a thousand files in it cost one look. A file system
// without locks gives ENOLCK or the like, and then nothing is removed.
void remove_leftovers(const std::filesystem::path& target);

// Has the next remove_leftovers(target) look at a temporary that could not be removed.
void remember_leftover(const std::filesystem::path& temporary);

}  // namespace qsim::formats
