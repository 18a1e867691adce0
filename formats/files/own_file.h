// Files that hold code to run: nobody but the caller and root may have written them, as ssh asks of
// its keys. Who may write into a folder may put another file there.
#pragma once

#include <filesystem>
#include <string>

namespace qsim::formats {

// Why the file or folder is not the caller's alone; "" where it is. It and every folder above it
// must belong to the caller or to root, and others must not write into it. Links are followed. A
// folder further up may be sticky, as /tmp is: there nobody takes what is another's. A folder that
// also holds the running executable is not judged, nor what is above it: whoever writes there can
// exchange qsim itself. A group that is the caller's own, without other members, is the caller.
std::string why_not_own(const std::filesystem::path& path);

// The path without links, so that what was judged is what is opened. Throws Error where the file is
// not the caller's alone.
std::filesystem::path require_own(const std::filesystem::path& path);

// Does what make_folder (formats/files/files.h) does; what it makes is the caller's alone, whatever
// the umask. Throws Error also for an existing folder that is not the caller's alone.
void make_own_folder(const std::filesystem::path& path);

}  // namespace qsim::formats
