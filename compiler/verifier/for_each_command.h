// Visits the commands of a program unit by unit, each as its unit's type.
#pragma once

#include "core/machine/program.h"

namespace qsim::compiler::verifier {

template <typename Fields, typename Visit>
void for_each_command_of(const Program& program, Unit unit, Visit& visit) {
  const CommandStream stream = program.stream(unit);
  for (std::size_t i = 0; i < stream.size(); ++i) visit(unit, i, stream.fields<Fields>(i));
}

// Calls visit(unit, index, fields) for every command; `fields` is a Load, Execute, Post or Store.
template <typename Visit>
void for_each_command(const Program& program, Visit visit) {
  for_each_command_of<Load>(program, Unit::kLoad, visit);
  for_each_command_of<Execute>(program, Unit::kExecute, visit);
  for_each_command_of<Post>(program, Unit::kPost, visit);
  for_each_command_of<Store>(program, Unit::kStore, visit);
}

}  // namespace qsim::compiler::verifier
