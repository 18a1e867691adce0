#include "core/machine/command_streams.h"

#include <algorithm>

namespace qsim {

std::size_t CommandStream::next_signal(std::size_t semaphore, std::size_t from) const {
  std::size_t index = from;
  while (index < size() && ((signal_mask(index) >> semaphore) & 1) == 0) ++index;
  return index;
}

bool CommandStream::operator==(const CommandStream& other) const {
  if (streams_->streams_[unit_].commands != other.streams_->streams_[other.unit_].commands) {
    return false;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (origin(i) != other.origin(i)) return false;
  }
  return true;
}

std::array<CommandStream, kUnits> CommandStreams::all() const& {
  return {(*this)[0], (*this)[1], (*this)[2], (*this)[3]};
}

void CommandStreams::append(const Command& command, const Origin& origin) {
  Stream& stream = streams_[static_cast<std::size_t>(command.unit())];
  const EncodedCommand encoded = encode(command);
  stream.origins.push_back(number_of(origin, stream));
  stream.commands.push_back(encoded);
}

void CommandStreams::reserve(Unit unit, std::size_t commands) {
  Stream& stream = streams_[static_cast<std::size_t>(unit)];
  stream.commands.reserve(commands);
  stream.origins.reserve(commands);
}

// Units go through the same origins in the same order, LOAD first, with small steps back: a group's
// parameters are loaded after the weights of the next, and a layer's first weights before its first
// activations. So an origin that is there already is near that of the unit's last command. One that
// is not found there is taken as a new one, which costs memory and nothing else.
std::uint32_t CommandStreams::number_of(const Origin& origin, const Stream& stream) {
  constexpr std::size_t kReach = 16;
  const std::size_t last = stream.origins.empty() ? 0 : stream.origins.back();
  const std::size_t end = std::min(last + kReach, origins_.size());
  for (std::size_t i = last; i < end; ++i) {
    if (origins_[i] == origin) return static_cast<std::uint32_t>(i);
  }
  for (std::size_t i = last; i > 0 && i + kReach > last; --i) {
    if (origins_[i - 1] == origin) return static_cast<std::uint32_t>(i - 1);
  }
  origins_.push_back(origin);
  return static_cast<std::uint32_t>(origins_.size() - 1);
}

}  // namespace qsim
