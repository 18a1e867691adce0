// An object of JSON as it is read: members in their order, as nlohmann::ordered_map has them, but
// found without a look at all the others, so that an object with very many members is read in a
// time that grows with their number and not with its square.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

namespace qsim::report {

template <typename Key, typename T, typename IgnoredLess = std::less<Key>,
          typename Allocator = std::allocator<std::pair<const Key, T>>>
class IndexedMap : public nlohmann::ordered_map<Key, T, IgnoredLess, Allocator> {
  using Base = nlohmann::ordered_map<Key, T, IgnoredLess, Allocator>;
  using Members = typename Base::Container;

 public:
  using Base::Base;
  using typename Base::const_iterator;
  using typename Base::iterator;

  T& operator[](const Key& key) { return emplace(key, T{}).first->second; }
  T& operator[](Key&& key) { return emplace(std::move(key), T{}).first->second; }

  template <typename Name, typename Value>
  std::pair<iterator, bool> emplace(Name&& name, Value&& value) {
    const iterator found = find(name);
    if (found != this->end()) return {found, false};
    Members::emplace_back(std::forward<Name>(name), std::forward<Value>(value));
    return {std::prev(this->end()), true};
  }

  template <typename Name>
  iterator find(const Name& name) {
    return this->begin() + (std::as_const(*this).find(name) - this->cbegin());
  }
  template <typename Name>
  const_iterator find(const Name& name) const {
    const Key& key = name;
    if (this->size() <= kFew) {
      return std::find_if(this->begin(), this->end(),
                          [&](const auto& member) { return member.first == key; });
    }
    add_new();
    const auto found = places_.find(key);
    if (found == places_.end()) return this->end();
    return this->begin() + static_cast<std::ptrdiff_t>(found->second);
  }
  template <typename Name>
  std::size_t count(const Name& name) const {
    return find(name) == this->end() ? 0 : 1;
  }

  template <typename... Where>
  auto erase(Where&&... where) {
    places_.clear();
    return Base::erase(std::forward<Where>(where)...);
  }

 private:
  static constexpr std::size_t kFew = 16;

  // The members since the last look.
  void add_new() const {
    for (std::size_t i = places_.size(); i < this->size(); ++i) {
      places_.emplace(this->begin()[static_cast<std::ptrdiff_t>(i)].first, i);
    }
  }

  mutable std::unordered_map<Key, std::size_t> places_;
};

using ReadJson = nlohmann::basic_json<IndexedMap>;

}  // namespace qsim::report
