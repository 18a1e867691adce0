#include "tests/report/perfetto/trace_reader.h"

#include <bit>
#include <optional>
#include <stdexcept>

namespace qsim {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("trace: " + what);
}

struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // of a varint or fixed64
  std::string_view bytes;   // of the others
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<Field> next() {
    if (bytes_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        for (int i = 0; i < 8; ++i) field.value |= std::uint64_t{byte()} << 8 * i;
        break;
      case 2: {
        const std::uint64_t length = varint();
        require(length <= bytes_.size(), "a field is longer than its message");
        field.bytes = bytes_.substr(0, length);
        bytes_.remove_prefix(length);
        break;
      }
      default:
        require(false, "wire type " + std::to_string(tag & 7));
    }
    return field;
  }

 private:
  unsigned char byte() {
    require(!bytes_.empty(), "ends within a field");
    const auto first = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const unsigned char next = byte();
      value |= std::uint64_t{next & 0x7FU} << shift;
      if (next < 0x80) return value;
    }
  }

  std::string_view bytes_;
};

template <typename Visit>
void for_each_field(std::string_view message, Visit visit) {
  Reader reader(message);
  while (const std::optional<Field> field = reader.next()) visit(*field);
}

struct Event {
  std::uint64_t type = 0;
  std::uint64_t track = 0;
  std::uint64_t name = 0;
  std::uint64_t category = 0;
  std::int64_t value = 0;
  std::map<std::string, std::string> args;
  std::vector<std::uint64_t> leave;
  std::vector<std::uint64_t> reach;
};

class TraceDecoder {
 public:
  ReadTrace decode(std::string_view bytes) {
    for_each_field(bytes, [&](const Field& field) {
      require(field.number == 1, "a field beside its packets");
      packet(field.bytes);
    });
    require(open_.empty(), "a slice has no end");
    return std::move(trace_);
  }

 private:
  void packet(std::string_view message) {
    std::uint64_t flags = 0;
    std::uint64_t sequence = 0;
    std::optional<std::uint64_t> time;
    std::string_view event;
    for_each_field(message, [&](const Field& field) {
      if (field.number == 12) texts(field.bytes);  // before what uses them
    });
    for_each_field(message, [&](const Field& field) {
      if (field.number == 8) return void(time = field.value);
      if (field.number == 10) return void(sequence = field.value);
      if (field.number == 13) return void(flags = field.value);
      if (field.number == 11) return void(event = field.bytes);
      if (field.number == 60) return descriptor(field.bytes);
      require(field.number == 12, "packet field " + std::to_string(field.number));
    });
    require(sequence == 1 && flags == (is_first_ ? 3U : 2U), "a packet without its sequence");
    is_first_ = false;
    if (event.empty()) return;
    require(time.has_value(), "an event without a time");
    add(*time, event_of(event));
  }

  void texts(std::string_view message) {
    for_each_field(message, [&](const Field& kind) {
      std::uint64_t number = 0;
      std::string text;
      for_each_field(kind.bytes, [&](const Field& field) {
        if (field.number == 1) number = field.value;
        if (field.number == 2) text = field.bytes;
      });
      require(texts_[kind.number].emplace(number, text).second, "a text number twice");
    });
  }

  std::string text(std::uint32_t kind, std::uint64_t number) {
    const auto found = texts_[kind].find(number);
    require(found != texts_[kind].end(), "a text is used before it is there");
    return found->second;
  }

  void descriptor(std::string_view message) {
    std::uint64_t uuid = 0;
    std::uint64_t parent = 0;
    std::uint64_t rank = 0;
    bool is_ordered = false;
    std::string name;
    std::string description;
    for_each_field(message, [&](const Field& field) {
      if (field.number == 1) uuid = field.value;
      if (field.number == 2) name = field.bytes;
      if (field.number == 11) is_ordered = field.value == 3;
      if (field.number == 12) rank = field.value;
      if (field.number == 14) description = field.bytes;
      if (field.number == 5) parent = field.value;
      if (field.number == 8) {
        for_each_field(field.bytes, [&](const Field& unit) {
          if (unit.number == 6) trace_.counter_units[name] = unit.bytes;
        });
      }
    });
    require(!names_.contains(uuid), "a track number twice");
    names_[uuid] = name;
    if (parent == 0) {
      require(is_ordered, "a group that does not order its tracks");
      trace_.group = name;
      trace_.description = description;
      return;
    }
    require(names_.contains(parent), "a track of no group");
    require(rank > last_rank_, "a track out of its order");
    last_rank_ = rank;
    trace_.tracks.push_back(name);
  }

  Event event_of(std::string_view message) {
    Event event;
    for_each_field(message, [&](const Field& field) {
      switch (field.number) {
        case 3:
          return void(event.category = field.value);
        case 4:
          return arg(field.bytes, event);
        case 9:
          return void(event.type = field.value);
        case 10:
          return void(event.name = field.value);
        case 11:
          return void(event.track = field.value);
        case 30:
          return void(event.value = static_cast<std::int64_t>(field.value));
        case 47:
          return event.leave.push_back(field.value);
        case 48:
          return event.reach.push_back(field.value);
        default:
          require(false, "event field " + std::to_string(field.number));
      }
    });
    return event;
  }

  void arg(std::string_view message, Event& event) {
    std::string name;
    std::string value;
    for_each_field(message, [&](const Field& field) {
      if (field.number == 1) name = text(3, field.value);
      if (field.number == 3) value = std::to_string(field.value);
      if (field.number == 4) value = std::to_string(static_cast<std::int64_t>(field.value));
      if (field.number == 5) value = std::to_string(std::bit_cast<double>(field.value));
      if (field.number == 6) value = field.bytes;
      if (field.number == 17) value = text(29, field.value);
    });
    require(event.args.emplace(name, value).second, "argument '" + name + "' twice");
  }

  void add(std::uint64_t time, const Event& event) {
    const auto track = names_.find(event.track);
    require(track != names_.end(), "an event on no track");
    if (event.type == 4) {
      trace_.counters[track->second].push_back({time, event.value});
      return;
    }
    if (event.type == 1) {
      require(!open_.contains(event.track), "a slice inside another");
      require(time >= last_end_[event.track], "a slice that begins before the end of the last");
      open_[event.track] = {
          track->second, text(2, event.name), text(1, event.category), time, 0, event.args,
          event.leave,   event.reach};
      return;
    }
    require(event.type == 2 && open_.contains(event.track), "an end without a begin");
    ReadSlice slice = std::move(open_[event.track]);
    open_.erase(event.track);
    slice.end = time;
    last_end_[event.track] = time;
    require(slice.end > slice.begin, "an empty slice");
    trace_.slices.push_back(std::move(slice));
  }

  ReadTrace trace_;
  bool is_first_ = true;
  std::uint64_t last_rank_ = 0;
  std::map<std::uint32_t, std::map<std::uint64_t, std::string>> texts_;
  std::map<std::uint64_t, std::string> names_;  // of tracks
  std::map<std::uint64_t, ReadSlice> open_;
  std::map<std::uint64_t, std::uint64_t> last_end_;
};

}  // namespace

std::uint64_t ReadTrace::cycles_on(std::string_view track, std::string_view name) const {
  std::uint64_t cycles = 0;
  for (const ReadSlice& slice : slices) {
    if (slice.track == track && (name.empty() || slice.name == name)) cycles += slice.cycles();
  }
  return cycles;
}

ReadTrace read_trace(std::string_view bytes) { return TraceDecoder().decode(bytes); }

}  // namespace qsim
