// The files that the options name for output: they are all different, and none is a file that the
// command reads.
#pragma once

#include <filesystem>
#include <string>

#include "cli/terminal/options.h"

namespace qsim {

// Files are the same by device and inode where they exist, and by folder and name where they do
// not. A folder of output counts with every file that the command can write into it. Devices and
// pipes replace nothing, and count nowhere. All three throw an Error of exit code 2.

// Two outputs must not be one file. Of two folders, one may be inside the other, but not in the
// place of a file.
void require_outputs_apart(const Options& options);

// No output may replace `file`, which is read; `what` says what it is: "the model".
void require_not_written(const Options& options, const std::filesystem::path& file,
                         const std::string& what);

// None may be, or replace a file of, the layer trace `folder`, which is read.
void require_trace_not_written(const Options& options, const std::filesystem::path& folder);

}  // namespace qsim
