// The files that a command's options name for output: they are all different, and none is a file
// that the command reads.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal/declarations.h"

namespace qsim::cli {

// Files are the same by device and inode where they exist, and by folder and name where they do
// not. A folder of output counts with every file that the command can write into it. Standard
// output counts as what it leads to. Of devices and pipes only an open end is somebody's: two
// outputs must not be mixed in one pipe, but /dev/null takes any number of them. All of these throw
// an Error of exit code 2.

// An option of output that was given.
struct NamedOutput {
  std::string option;
  std::string path;                                  // "-" is stdout, but for a folder
  bool (*holds)(const std::string& name) = nullptr;  // of a folder: whether it gets such a file

  bool is_stdout() const { return path == "-" && holds == nullptr; }
};

// --json, then --out, then the others as they are declared.
std::vector<NamedOutput> named_outputs(const Declarations& declared);

using NamedOutputs = std::span<const NamedOutput>;

// Throws unless at most one of them is "-".
void require_stdout_once(NamedOutputs named);

// Two outputs must not be one file. A folder may be inside another, but not in the place of a file.
void require_outputs_apart(NamedOutputs named);

struct ReadFile {
  std::filesystem::path path;  // may be a folder, or absent
  std::string what;            // as a message says it: "the model"
};

// No output may replace one of `files`, which the command reads (cli/commands/files_read.h).
void require_kept(NamedOutputs named, std::span<const ReadFile> files);

}  // namespace qsim::cli
