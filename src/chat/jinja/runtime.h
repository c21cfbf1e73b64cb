#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/limits.h"
#include "chat/jinja/value.h"
#include "lattice/result.h"

namespace lattice::chat::jinja {

/// Wall-clock time as strftime_now sees it.
struct CivilTime {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;  ///< month and day from 1
};

/// What a call passes.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// What filters, tests, methods and operators may ask of the run they are part of.
class Runtime {
 public:
  explicit Runtime(const Limits& limits, std::size_t data_bytes = 0);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime() = default;

  const Limits& limits() const { return limits_; }

  /// Calls a macro, a function, a method or a recursive loop.
  virtual Result<Value> Call(const Value& callee, const Arguments& arguments) = 0;
  /// kInvalidArgument with the template's own words: they are shown as they are.
  virtual Error Raise(std::string message) = 0;
  virtual CivilTime Now() = 0;
  virtual Result<Namespace*> NewNamespace() = 0;

  /// One evaluated node or visited item, `n` of them.
  Status Step(std::size_t n = 1);
  /// What looking for `key` costs: the hash of a string, a walk over all entries for what is none.
  Status StepForKey(const Dict& dict, const Value& key);
  /// Enters one level of evaluation; Leave() must follow when it succeeded.
  Status Enter();
  void Leave() { --depth_; }

  /// Builders of strings, and what becomes of them: an error when a limit was passed.
  TextBuilder NewText() const { return TextBuilder(limits_.max_string_bytes); }
  Result<Text> Finish(TextBuilder&& builder);
  Result<Value> Str(std::string_view literal);

  Result<Value> MakeList(std::vector<Value> items, List::Kind kind = List::Kind::kList);
  Result<Value> MakeDict(Dict dict);
  Result<Value> MakeMethod(const Value& self, std::string_view name);
  /// Undefined for that reason, which may hold a name of any length.
  Result<Value> MakeUndefined(std::string reason);
  /// An error when lists of `n` items are not allowed: to ask before building one.
  Status CheckItems(std::size_t n) const;
  /// Counts memory that is not a string, list or dict.
  Status Keep(std::size_t bytes);

 private:
  Limits limits_;
  std::size_t max_built_bytes_;
  std::size_t n_steps_ = 0;
  std::size_t built_bytes_ = 0;
  std::size_t depth_ = 0;
};

/// Errors that a template or its data cause; the message gets its line later.
Error Fault(std::string message);

/// The arguments of one call in the order of `names`; null where none was given.
class Bound {
 public:
  const Value* operator[](std::size_t i) const { return values_[i]; }
  /// Typed reads. A given value of another type is an error that names the parameter.
  Result<Int> IntOr(std::size_t i, Int fallback) const;
  Result<bool> BoolOr(std::size_t i, bool fallback) const;  ///< Truthiness.
  Result<Text> TextOr(std::size_t i, std::string_view fallback) const;

 private:
  friend Result<Bound> Bind(std::string_view, const Arguments&, std::initializer_list<const char*>,
                            std::size_t);
  std::string what_;
  std::vector<const char*> names_;
  std::vector<const Value*> values_;
};

/// Python's rules: positional first, then by name; too many, unknown, repeated or missing (of the
/// first `n_required`) are errors that begin with `what`. `arguments` must outlive the result.
Result<Bound> Bind(std::string_view what, const Arguments& arguments,
                   std::initializer_list<const char*> names, std::size_t n_required = 0);

}  // namespace lattice::chat::jinja
