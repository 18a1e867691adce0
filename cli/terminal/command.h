// A command: what it is called, what it takes, what it does. cli/commands/commands.cpp has the
// table of all.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "cli/terminal/context.h"
#include "cli/terminal/declarations.h"
#include "core/base/error.h"

namespace qsim::cli {

// The steps of a command, with the options that its declarations have filled.
using Steps = std::function<ExitCode(Context&)>;

struct CommandRow {
  const char* name;         // "run", "golden info"
  const char* description;  // a line of `qsim --help`
  Steps (*declare)(Declarations& declared);
  const char* text;  // what the page docs/reference/cli.md says after the table of its options
};

// A command's `declare`: makes its options, declares them by `kDeclare`, and binds them to `kRun`.
template <typename Options, void (*kDeclare)(Declarations&, Options&),
          ExitCode (*kRun)(Context&, const Options&)>
Steps command_of(Declarations& declared) {
  const auto options = std::make_shared<Options>();
  declared.keep(options);
  kDeclare(declared, *options);
  return [options](Context& context) { return kRun(context, *options); };
}

using CommandTable = std::span<const CommandRow* const>;

}  // namespace qsim::cli
