// The files that a command's options name for output: they are all different, and none is a file
// that the command reads.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal/options.h"

namespace qsim {

// Files are the same by device and inode where they exist, and by folder and name where they do
// not. A folder of output counts with every file that the command can write into it. Standard
// output counts as what it leads to. Of devices and pipes only an open end is somebody's: two
// outputs must not be mixed in one pipe, but /dev/null takes any number of them. All of these throw
// an Error of exit code 2.

// At most one of --json, --out, --write-mapping and --csv is "-".
void require_stdout_once(const Options& options);

// Two outputs must not be one file. Of two folders, one may be inside the other, but not in the
// place of a file.
void require_outputs_apart(const Options& options);

struct ReadFile {
  std::filesystem::path path;  // may be a folder, or absent
  std::string what;            // as a message says it: "the model"
};

// No output may replace one of `files`, which the command reads (cli/session/inputs/files_read.h).
void require_kept(const Options& options, std::span<const ReadFile> files);

// Whether the options name anything for output besides standard output.
bool has_outputs(const Options& options);

// The files that the options name for output; no folders and no "-".
std::vector<std::string> output_files(const Options& options);

}  // namespace qsim
