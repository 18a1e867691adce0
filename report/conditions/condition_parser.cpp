#include "report/conditions/condition_parser.h"

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/nearest_name.h"
#include "core/base/printable.h"
#include "report/conditions/condition_scanner.h"
#include "report/conditions/condition_units.h"

namespace qsim::report {
namespace {

using Node = std::unique_ptr<ConditionNode>;

constexpr int kMostNested = 100;

class Parser {
 public:
  explicit Parser(const std::string& text) : scanner_(text) {}

  Node parse() {
    Node root = condition();
    scanner_.skip_blanks();
    if (!scanner_.at_end()) scanner_.fail("expected the end, or && or ||");
    return root;
  }

 private:
  Node node(ConditionKind kind, std::size_t begin) {
    auto made = std::make_unique<ConditionNode>();
    made->kind = kind;
    made->begin = begin;
    made->end = scanner_.at();
    return made;
  }
  Node join(ConditionKind kind, std::string op, Node left, Node right) {
    Node made = node(kind, left->begin);
    made->op = std::move(op);
    made->parts.push_back(std::move(left));
    made->parts.push_back(std::move(right));
    return made;
  }
  Node around(ConditionKind kind, std::size_t begin, Node inner) {
    Node made = node(kind, begin);
    made->parts.push_back(std::move(inner));
    return made;
  }

  void enter() {
    if (++nested_ > kMostNested) scanner_.fail("at most 100 parts in one another are allowed");
  }

  Node condition() {
    enter();
    Node left = both();
    while (scanner_.take("||")) left = join(ConditionKind::kOr, "||", std::move(left), both());
    --nested_;
    return left;
  }

  Node both() {
    Node left = one();
    while (scanner_.take("&&")) left = join(ConditionKind::kAnd, "&&", std::move(left), one());
    return left;
  }

  Node one() {
    scanner_.skip_blanks();
    const std::size_t begin = scanner_.at();
    if (scanner_.take("!")) {
      enter();
      Node made = around(ConditionKind::kNot, begin, one());
      --nested_;
      return made;
    }
    for (const auto& [word, kind] :
         {std::pair{"any", ConditionKind::kAny}, std::pair{"all", ConditionKind::kAll}}) {
      if (scanner_.take(word) && scanner_.take("(")) return over_layers(kind, begin);
      scanner_.back_to(begin);
    }
    if (!opens_condition()) return comparison();
    scanner_.take("(");
    Node inner = condition();
    close();
    return inner;
  }

  Node over_layers(ConditionKind kind, std::size_t begin) {
    if (in_layers_) scanner_.fail(begin, "any and all cannot be inside one another");
    in_layers_ = true;
    Node inner = condition();
    in_layers_ = false;
    close();
    return around(kind, begin, std::move(inner));
  }

  void close() {
    if (!scanner_.take(")")) scanner_.fail("expected )");
  }

  // Whether a bracket opens here that has a condition inside, and not a number.
  bool opens_condition() const {
    if (scanner_.next() != '(') return false;
    int depth = 0;
    bool is_quoted = false;
    for (const char c : scanner_.rest()) {
      if (c == '"') is_quoted = !is_quoted;
      if (is_quoted) continue;
      if (c == '(') ++depth;
      if (c == ')' && --depth == 0) return false;
      if (std::string_view("<>=!&|").find(c) != std::string_view::npos) return true;
    }
    return false;
  }

  Node comparison() {
    Node left = sum();
    const std::string op = scanner_.take_one_of({"<=", ">=", "==", "!=", "<", ">"});
    if (op.empty()) scanner_.fail("expected one of < <= > >= == != and another number");
    Node made = join(ConditionKind::kComparison, op, std::move(left), sum());
    give_fields(*made);
    check_units(*made, [&](std::size_t at, const std::string& why) { scanner_.fail(at, why); });
    return made;
  }

  // A file without a field takes that of its comparison.
  void give_fields(ConditionNode& comparison) {
    std::set<std::pair<std::string, std::string>> named;
    std::vector<ConditionNode*> bare;
    const std::function<void(ConditionNode&)> visit = [&](ConditionNode& part) {
      if (part.kind == ConditionKind::kValue && part.field.empty()) bare.push_back(&part);
      if (part.kind == ConditionKind::kValue && part.file.empty()) {
        named.emplace(part.layer, part.field);
      }
      for (Node& inner : part.parts) visit(*inner);
    };
    visit(comparison);
    for (ConditionNode* part : bare) {
      if (named.size() != 1) {
        scanner_.fail(part->begin, "the comparison names " + std::to_string(named.size()) +
                                       " fields, so say which one of the file: \"" +
                                       echoed(part->file) + "\":cycles");
      }
      part->layer = named.begin()->first;
      part->field = named.begin()->second;
    }
  }

  Node sum() {
    Node left = product();
    for (std::string op; !(op = scanner_.take_one_of({"+", "-"})).empty();) {
      left = join(ConditionKind::kSum, op, std::move(left), product());
    }
    return left;
  }

  Node product() {
    Node left = factor();
    for (std::string op; !(op = scanner_.take_one_of({"*", "/"})).empty();) {
      left = join(ConditionKind::kProduct, op, std::move(left), factor());
    }
    return left;
  }

  Node factor() {
    scanner_.skip_blanks();
    enter();
    const std::size_t begin = scanner_.at();
    Node made;
    if (scanner_.take("-")) {
      made = around(ConditionKind::kNegate, begin, factor());
    } else if (scanner_.take("(")) {
      made = sum();
      close();
    } else {
      made = leaf();
    }
    --nested_;
    return made;
  }

  Node leaf() {
    const std::size_t begin = scanner_.at();
    if (const std::string file = scanner_.file(); !file.empty()) return of_file(begin, file);
    const char c = scanner_.next();
    if ((c >= '0' && c <= '9') || c == '.') {
      const double number = scanner_.number();
      Node made = node(ConditionKind::kNumber, begin);
      made->number = number;
      take_unit(*made);
      made->end = scanner_.at();
      return made;
    }
    if (c != '"') return value(begin, layer_before_point());
    const std::string name = scanner_.quoted();
    scanner_.skip_blanks();
    if (scanner_.next() == '.') return value(begin, name);
    if (!std::string_view(name).ends_with(".json")) {
      scanner_.fail("expected .FIELD after the name of a layer; a file's name ends in .json");
    }
    return of_file(begin, name);
  }

  // The unit after a number, if there is one. A word that touches the number must be one.
  void take_unit(ConditionNode& number) {
    const std::size_t at = scanner_.at();
    if (scanner_.next() == ',') scanner_.fail(number.begin, "a number has no commas");
    scanner_.skip_blanks();
    const bool touches = scanner_.at() == at;
    const std::size_t begin = scanner_.at();
    const std::string name = scanner_.take("%") ? "%" : scanner_.word();
    const ConditionUnit* unit = condition_unit(name);
    if (unit == nullptr) {
      if (touches && !name.empty()) {
        scanner_.fail(begin, "expected a unit after the number: %, pJ, nJ, uJ, mJ, J or million");
      }
      return scanner_.back_to(at);
    }
    number.number *= unit->factor;
    number.dimension = unit->dimension;
    number.is_of_joules = unit->is_of_joules;
    if (number.dimension.energy == 0) return;
    const std::size_t after = scanner_.at();
    scanner_.skip_blanks();
    if (scanner_.word() != "x") return scanner_.back_to(after);
    scanner_.skip_blanks();
    const std::size_t of_cycles = scanner_.at();
    const double cycles = cycles_of_unit(scanner_.word());
    if (cycles == 0) scanner_.fail(of_cycles, "expected cycle or Mcycle");
    number.number *= cycles;
    number.dimension.delay = 1;
  }

  // The name of a layer, if there is one before a field, with or without quotes.
  std::string layer_before_point() {
    scanner_.skip_blanks();
    const std::size_t begin = scanner_.at();
    if (scanner_.next() == '"') return scanner_.quoted();
    const std::string word = scanner_.word();
    if (!word.empty() && scanner_.next() == '.') return word;
    scanner_.back_to(begin);
    return "";
  }

  Node of_file(std::size_t begin, const std::string& file) {
    if (scanner_.next() == '.') scanner_.fail("a field of a file comes after a colon: FILE:cycles");
    Node made = scanner_.take(":") ? value(begin, layer_before_point())
                                   : node(ConditionKind::kValue, begin);
    made->file = file;
    return made;
  }

  // Reads a field; a point comes before it where the name of a layer has been read.
  Node value(std::size_t begin, const std::string& layer) {
    if (!layer.empty()) {
      if (!scanner_.take(".")) scanner_.fail("expected .FIELD after the name of a layer");
      if (in_layers_) scanner_.fail(begin, "inside any and all, fields are those of each layer");
    }
    scanner_.skip_blanks();
    const std::size_t at = scanner_.at();
    const std::string field = scanner_.word();
    const std::vector<std::string> fields = condition_fields();
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) unknown(at, field, fields);
    if (is_network_field(field) && (in_layers_ || !layer.empty())) {
      scanner_.fail(at, "this is of the whole network; a layer, any and all have no such field");
    }
    Node made = node(ConditionKind::kValue, begin);
    made->field = field;
    made->layer = layer;
    return made;
  }

  [[noreturn]] void unknown(std::size_t at, const std::string& word,
                            const std::vector<std::string>& fields) const {
    std::string list;
    for (const std::string& name : fields) list += (list.empty() ? "" : ", ") + name;
    const std::vector<std::string_view> names(fields.begin(), fields.end());
    const std::string near(nearest_name(word, names));
    if (!near.empty()) scanner_.fail(at, "did you mean '" + near + "'? Fields: " + list);
    scanner_.fail(
        at, "expected a number, a field, LAYER.FIELD, \"ODD NAME\".FIELD or FILE.json; fields: " +
                list);
  }

  ConditionScanner scanner_;
  int nested_ = 0;
  bool in_layers_ = false;
};

}  // namespace

std::unique_ptr<ConditionNode> parse_condition(const std::string& text) {
  return Parser(text).parse();
}

}  // namespace qsim::report
