#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "chat/jinja/text.h"

namespace lattice::chat::jinja {

/// Python's integers are unbounded; these are wide enough for every JSON number and refuse to
/// overflow.
__extension__ using Int = __int128;

class Value;
struct List;
struct Dict;
struct Method;
struct Namespace;  // namespace(...): the only value that changes
struct Macro;      // {% macro %} or the body of {% call %}
struct LoopState;  // the variable `loop`
struct Function;   // range, raise_exception, ...

/// Reading what does not exist is no error until it is used: the reason is kept until then.
struct Undefined {
  std::shared_ptr<const std::string> reason;
};
struct None {};

using ListRef = std::shared_ptr<const List>;
using DictRef = std::shared_ptr<const Dict>;
using MethodRef = std::shared_ptr<const Method>;

template <typename T, typename Variant>
inline constexpr bool kIsAlternative = false;
template <typename T, typename... Ts>
inline constexpr bool kIsAlternative<T, std::variant<Ts...>> = (std::is_same_v<T, Ts> || ...);

/// Any value of a template, with the meaning that Python gives it. Cheap to copy. Pointers belong
/// to the run (Runtime keeps them alive), so values do not outlive it.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, Int, double, Text, ListRef, DictRef, MethodRef,
                            Namespace*, const Macro*, LoopState*, const Function*>;

  Value() = default;  ///< Undefined.
  template <typename T>
  requires kIsAlternative<T, Data> Value(T value)  // NOLINT: implicit
      : data_(std::in_place_type<T>, std::move(value)) {}
  static Value Str(std::string_view literal) { return Text(literal); }
  static Value MakeUndefined(std::string reason);

  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(data_);
  }
  template <typename T>
  const T* If() const {
    return std::get_if<T>(&data_);
  }
  bool IsUndefined() const { return Is<Undefined>(); }
  bool IsNone() const { return Is<None>(); }
  bool IsString() const { return Is<Text>(); }
  bool IsNumber() const { return Is<bool>() || Is<Int>() || Is<double>(); }

  const Text* text() const { return If<Text>(); }
  const List* list() const { return Is<ListRef>() ? std::get<ListRef>(data_).get() : nullptr; }
  const Dict* dict() const { return Is<DictRef>() ? std::get<DictRef>(data_).get() : nullptr; }

  /// Levels of containers: 0 for a scalar.
  std::size_t depth() const;

 private:
  Data data_;
};

/// Every ordered collection.
struct List {
  enum class Kind { kList, kTuple, kGenerator, kKeys, kValues, kItems, kRange };
  std::vector<Value> items;
  Kind kind = Kind::kList;
  std::size_t depth = 1;
  /// A generator gives each item once.
  mutable std::size_t n_consumed = 0;
};

/// Keeps the order in which keys came, as Python does.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::size_t depth = 1;

  /// Null when there is no such key.
  const Value* Find(const Value& key) const { return At(IndexOf(key)); }
  const Value* Find(std::string_view key) const { return At(IndexOf(key)); }
  /// Replaces the value of a key that is there already.
  void Set(Value key, Value value);

 private:
  const Value* At(std::size_t index) const {
    return index < entries.size() ? &entries[index].second : nullptr;
  }
  std::size_t IndexOf(const Value& key) const;  // entries.size() when there is none
  std::size_t IndexOf(std::string_view key) const;

  // Of string keys. Borrows their bytes, which copies of the entries share.
  std::unordered_map<std::string_view, std::size_t> index_;
};

struct Method {
  Value self;
  std::string name;
};

struct Namespace {
  Dict attributes;
};

/// "str", "int", "NoneType", ...
std::string_view TypeName(const Value& value);

/// Whether two hashable keys are the same: 1, 1.0 and true are, as in Python.
bool SameKey(const Value& a, const Value& b);

}  // namespace lattice::chat::jinja
