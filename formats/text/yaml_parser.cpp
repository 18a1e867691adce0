// Builds YamlNode trees from yaml-cpp's events: the one place that sees yaml-cpp. Its node API is
// not used, since it takes the first of duplicate keys silently and expands aliases without bound.

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "core/base/error.h"
#include "core/base/limits.h"
#include "core/base/printable.h"
#include "formats/files/files.h"
#include "formats/text/yaml.h"

namespace qsim::formats {
namespace {

// What the strict YAML reader checks on the bytes of a file, without yaml-cpp. `from` is the text
// from some place on, to the end of the file.
[[noreturn]] void refuse_byte(std::string_view text, std::size_t at, const std::string& source) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  const auto byte = static_cast<unsigned char>(text[at]);
  throw_bad_input(source + ":" + std::to_string(line) + ":" + std::to_string(column) +
                  ": found the byte 0x" + kHexDigits[byte / 16] + kHexDigits[byte % 16] +
                  "; a YAML file is UTF-8 text without control characters");
}

// yaml-cpp ends a line at a carriage return alone, and replaces what is not UTF-8.
void require_text(std::string_view text, const std::string& source) {
  std::size_t at = 0;
  while (true) {
    const std::size_t found = unprintable_at(text.substr(at), "\t\n");
    if (found == std::string_view::npos) return;
    at += found;
    if (!text.substr(at).starts_with("\r\n")) refuse_byte(text, at, source);
    ++at;
  }
}

// yaml-cpp passes over a line that begins with '%', wherever it is in the file.
void refuse_directives(std::string_view text, const std::string& source) {
  std::int64_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    if (text[at] == '%') {
      throw_bad_input(source + ":" + std::to_string(line) +
                      ":1: found a directive (a line that begins with '%'); directives are not "
                      "allowed");
    }
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
}

// The length, with both quotes, of the quoted value that `from` begins with; npos where its line
// ends first.
std::size_t quoted_length(std::string_view from) {
  const char quote = from[0];
  const std::string_view line = from.substr(0, from.find('\n'));
  for (std::size_t at = 1; at < line.size(); ++at) {
    if (line[at] == '\\' && quote == '"') {
      ++at;
    } else if (line[at] == quote) {
      if (quote == '"' || !line.substr(at + 1).starts_with(quote)) return at + 1;
      ++at;  // '' within single quotes is one of them
    }
  }
  return std::string_view::npos;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Walks over the text within brackets, quotes and comments in one step each.
class FlowText {
 public:
  explicit FlowText(std::string_view text) : text_(text) {}

  // The next character that is not blank, quoted or in a comment; 0 at the end.
  char next() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (is_blank(c)) {
        after_blank_ = true;
      } else if (c == '#' && after_blank_) {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if ((c == '"' || c == '\'') && begins_value()) {
        const std::size_t length = quoted_length(text_.substr(at_));
        has_open_quote_ = length == std::string_view::npos;
        if (has_open_quote_) return 0;
        at_ += length - 1;
        pass(c);
      } else {
        ++at_;
        pass(c);
        return c;
      }
    }
    return 0;
  }
  bool has_open_quote() const { return has_open_quote_; }

 private:
  // A quote in the middle of a value (it's) is an ordinary character.
  bool begins_value() const {
    if (last_ == ':') return after_blank_ || before_last_ == '"' || before_last_ == '\'';
    return last_ == '[' || last_ == '{' || last_ == ',';
  }
  void pass(char c) {
    before_last_ = last_;
    last_ = c;
    after_blank_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool after_blank_ = false;
  char last_ = 0;  // that was passed, blanks left out
  char before_last_ = 0;
  bool has_open_quote_ = false;
};

// Throws Error(kBadInput) with source:line:column for a byte that is not UTF-8, a control character
// other than a tab and a line's end, and a line that begins with '%'.
void require_yaml_text(std::string_view text, const std::string& source) {
  require_text(text, source);
  refuse_directives(text, source);
}

// Whether the '[' or '{' that `from` begins with has no partner. Brackets in quotes and comments do
// not count, and yaml-cpp checks the kinds. False where a quote is left open, which is an error of
// its own. Reads up to the partner, so a reader that limits the depth reads each byte a limited
// number of times.
bool leaves_bracket_open(std::string_view from) {
  FlowText text(from);
  for (std::int64_t depth = 0; const char c = text.next();) {
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return false;
  }
  return !text.has_open_quote();
}

}  // namespace

class YamlBuilder : public YAML::EventHandler {
 public:
  YamlBuilder(std::string_view text, const std::string& source)
      : text_(text), source_(std::make_shared<const std::string>(source)) {}

  bool has_root() const { return has_root_; }
  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!has_root_) return;
    // yaml-cpp begins a document also at a line that does not continue the first one.
    if (text_.substr(static_cast<std::size_t>(mark.pos)).starts_with("---")) {
      node_at(mark).fail("found a second document; allowed: one document in a file");
    }
    node_at(mark).fail(
        "found a line that does not continue the first document; check the indentation");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    node_at(mark, anchor).fail("the value is empty; give one after a colon, or leave the key out");
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    node_at(mark).fail("found an alias ('*name'); aliases and anchors are not allowed");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = node_at(mark, anchor);
    // yaml-cpp's tags of untagged scalars: "?" plain, "!" quoted.
    const std::string_view from = text_.substr(static_cast<std::size_t>(mark.pos));
    if ((tag != "?" && tag != "!" && !tag.empty()) || from.starts_with('!')) {
      node.fail("found a tag ('" + echoed(tag) + "'); tags are not allowed");
    }
    require_one_line(node, from, value);
    if (awaits_key()) return take_key(node, value);
    node.quoted_ = tag == "!";
    node.scalar_ = value;
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    const YamlNode node = untagged_node_at(mark, tag, anchor);
    const std::string_view from = text_.substr(static_cast<std::size_t>(mark.pos));
    if (from.starts_with('[') && leaves_bracket_open(from)) {
      node.fail("the '[' is not closed; expected ']' at the end of the list");
    }
    open(node, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    const YamlNode node = untagged_node_at(mark, tag, anchor);
    const std::string_view from = text_.substr(static_cast<std::size_t>(mark.pos));
    if (from.starts_with('{') && leaves_bracket_open(from)) {
      node.fail("the '{' is not closed; expected '}' at the end of the map");
    }
    open(node, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    bool has_key = false;
    std::string key;
    int key_line = 1;
    int key_column = 1;
  };

  // The node of a list or map, whose tag is "?" where the file has none.
  YamlNode untagged_node_at(const YAML::Mark& mark, const std::string& tag,
                            YAML::anchor_t anchor) const {
    const YamlNode node = node_at(mark, anchor);
    if (tag != "?" && !tag.empty()) {
      node.fail("found a tag ('" + echoed(tag) + "'); tags are not allowed");
    }
    return node;
  }

  YamlNode node_at(const YAML::Mark& mark, YAML::anchor_t anchor = 0) const {
    YamlNode node;
    node.source_ = source_;
    node.line_ = mark.line + 1;
    node.column_ = mark.column + 1;
    if (!open_.empty() && open_.back().has_key) node.path_ = open_.back().key;
    if (anchor != 0) node.fail("found an anchor ('&name'); aliases and anchors are not allowed");
    return node;
  }

  // yaml-cpp joins the lines of a scalar that goes on, so that a quote that is left open takes in
  // the keys below it. `from` is the file's text where the scalar begins.
  static void require_one_line(const YamlNode& node, std::string_view from,
                               const std::string& value) {
    if (from.starts_with('|') || from.starts_with('>')) {
      node.fail("found a block of lines ('|' or '>'); a value is on one line");
    }
    if (from.starts_with('"') || from.starts_with('\'')) {
      if (quoted_length(from) == std::string_view::npos) {
        node.fail("the quote is not closed on its line; a value is on one line");
      }
    } else if (!from.starts_with(value)) {
      node.fail("the value goes on in the next line; a value is on one line");
    }
  }

  bool awaits_key() const {
    return !open_.empty() && open_.back().node.kind_ == YamlNode::Kind::kMap &&
           !open_.back().has_key;
  }

  void take_key(const YamlNode& node, const std::string& key) {
    if (std::ssize(open_.back().node.entries_) >= kMaxYamlKeys) {
      node.fail("found more than " + std::to_string(kMaxYamlKeys) + " keys in one map");
    }
    const YamlNode* first = open_.back().node.find(key);
    if (first != nullptr) {
      node.fail("duplicate key '" + echoed(key) + "'; the first is in line " +
                std::to_string(first->key_line_));
    }
    open_.back().has_key = true;
    open_.back().key = key;
    open_.back().key_line = node.line_;
    open_.back().key_column = node.column_;
  }

  void open(YamlNode node, YamlNode::Kind kind) {
    if (awaits_key()) node.fail("found a list or map as a key; expected a plain word");
    if (static_cast<std::int64_t>(open_.size()) >= kMaxYamlDepth) {
      node.fail("nested too deep; allowed: " + std::to_string(kMaxYamlDepth) + " levels");
    }
    node.kind_ = kind;
    open_.emplace_back();
    open_.back().node = std::move(node);
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind_ == YamlNode::Kind::kList) {
      parent.node.items_.push_back(std::move(node));
    } else {
      node.key_line_ = parent.key_line;
      node.key_column_ = parent.key_column;
      parent.node.entries_.emplace_back(std::move(parent.key), std::move(node));
      parent.has_key = false;
    }
  }

  std::string_view text_;
  std::shared_ptr<const std::string> source_;
  std::vector<Open> open_;
  YamlNode root_;
  bool has_root_ = false;
};

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What yaml-cpp calls an illegal token, in words that say what to do.
std::string words_of(const std::string& message) {
  namespace found = YAML::ErrorMsg;
  if (message == found::FLOW_END) {
    return "found a bracket that closes none; expected each of [ { with its ] }";
  }
  if (message == found::MAP_VALUE) return "found a colon within a value; put the value in quotes";
  if (message == found::END_OF_MAP) {
    return "found text that continues no map; check the indentation, and the text after a quote";
  }
  if (message == found::UNKNOWN_TOKEN) {
    return "found a character that begins no value; put the value in quotes";
  }
  if (message == found::TAB_IN_INDENTATION) return "found a tab; indent with blanks";
  return message;
}

}  // namespace

YamlNode parse_yaml(const std::string& text, const std::string& source, std::int64_t max_bytes) {
  if (static_cast<std::int64_t>(text.size()) > max_bytes) {
    throw_bad_input(source + ": is longer than the " + std::to_string(max_bytes) +
                    " bytes that are allowed");
  }
  const std::string body =
      text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  require_yaml_text(body, source);
  YamlBuilder builder(body, source);
  try {
    std::istringstream stream(body);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    throw_bad_input(source + ":" + std::to_string(exception.mark.line + 1) + ":" +
                    std::to_string(exception.mark.column + 1) + ": " + words_of(exception.msg));
  }
  if (!builder.has_root()) throw_bad_input(source + ":1:1: the file is empty");
  return builder.take_root();
}

}  // namespace qsim::formats
