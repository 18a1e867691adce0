// The command streams of a program: one a unit, in program order, each command as the 256 bits that
// the accelerator fetches, with its origin. Networks have up to half a million commands, so they
// are kept encoded (36 bytes with the number of their origin) and read one at a time, decoded; and
// an origin that many commands share is there once. A command without an encoding, or in the stream
// of another unit, cannot be said.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/machine/isa/command_codec.h"

namespace qsim {

// Which part of which ofmap a command works for: pictures [n0, n1), ofmap rows [y0, y1), columns
// [x0, x1), channels [c0, c1) of program layer `layer`; `tile` counts within the layer. For a LOAD
// or EXECUTE it is the part that its data ends up in, so a wrong byte leads to its commands.
struct Origin {
  std::int32_t layer = 0;
  std::int32_t tile = 0;
  std::int32_t n0 = 0, n1 = 0;
  std::int32_t y0 = 0, y1 = 0;
  std::int32_t x0 = 0, x1 = 0;
  std::int32_t c0 = 0, c1 = 0;
  bool operator==(const Origin&) const = default;
};

struct Instruction {
  Command command;
  Origin origin;
  bool operator==(const Instruction&) const = default;
};

class CommandStreams;

// A look at one unit's stream. Commands come by value: don't bind references into what [] gives.
// The references of encoded() and origin() hold until a command is appended.
class CommandStream {
 public:
  // Reads a stream from one command to the next.
  class Iterator {
   public:
    Iterator(const CommandStreams& streams, std::size_t unit, std::size_t index)
        : streams_(&streams), unit_(unit), index_(index) {}
    Instruction operator*() const;
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const CommandStreams* streams_;
    std::size_t unit_;
    std::size_t index_;
  };

  // `streams` must outlive the look and stay where it is.
  CommandStream(const CommandStreams& streams, Unit unit)
      : streams_(&streams), unit_(static_cast<std::size_t>(unit)) {}

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // Commands that there is memory for.
  std::size_t capacity() const;
  Instruction operator[](std::size_t index) const;
  Command command(std::size_t index) const;
  // The fields of a command, in a stream whose unit takes commands of type Fields.
  template <typename Fields>
  Fields fields(std::size_t index) const {
    return decode_as<Fields>(encoded(index));
  }
  const EncodedCommand& encoded(std::size_t index) const;
  const Origin& origin(std::size_t index) const;
  // The masks are read without decoding the rest.
  std::uint16_t wait_mask(std::size_t index) const { return wait_mask_of(encoded(index)); }
  std::uint16_t signal_mask(std::size_t index) const { return signal_mask_of(encoded(index)); }

  // The first command from `from` on that raises that semaphore; size() when there is none.
  std::size_t next_signal(std::size_t semaphore, std::size_t from) const;

  Iterator begin() const { return {*streams_, unit_, 0}; }
  Iterator end() const { return {*streams_, unit_, size()}; }
  // The same commands with the same origins.
  bool operator==(const CommandStream& other) const;

 private:
  const CommandStreams* streams_;
  std::size_t unit_;
};

class CommandStreams {
 public:
  CommandStream operator[](std::size_t unit) const& { return {*this, static_cast<Unit>(unit)}; }
  CommandStream operator[](std::size_t unit) const&& = delete;  // would look at what is gone
  std::array<CommandStream, kUnits> all() const&;

  // Appends to the stream of the command's unit. Throws Error naming the field when a value does
  // not fit its bits; nothing is appended then.
  void append(const Command& command, const Origin& origin);
  // Room for `commands` in all.
  void reserve(Unit unit, std::size_t commands);
  // Origins that are kept for all the commands.
  std::size_t origin_count() const { return origins_.size(); }

  bool operator==(const CommandStreams& other) const { return all() == other.all(); }

 private:
  friend class CommandStream;

  struct Stream {
    std::vector<EncodedCommand> commands;
    std::vector<std::uint32_t> origins;  // by command; indices of origins_
  };

  std::uint32_t number_of(const Origin& origin, const Stream& stream);

  std::array<Stream, kUnits> streams_;
  std::vector<Origin> origins_;  // nearly all of them once: see number_of
};

inline std::size_t CommandStream::size() const { return streams_->streams_[unit_].commands.size(); }

inline std::size_t CommandStream::capacity() const {
  return streams_->streams_[unit_].commands.capacity();
}

inline const EncodedCommand& CommandStream::encoded(std::size_t index) const {
  return streams_->streams_[unit_].commands[index];
}

inline const Origin& CommandStream::origin(std::size_t index) const {
  return streams_->origins_[streams_->streams_[unit_].origins[index]];
}

inline Command CommandStream::command(std::size_t index) const { return decode(encoded(index)); }

inline Instruction CommandStream::operator[](std::size_t index) const {
  return {command(index), origin(index)};
}

inline Instruction CommandStream::Iterator::operator*() const { return (*streams_)[unit_][index_]; }

}  // namespace qsim
