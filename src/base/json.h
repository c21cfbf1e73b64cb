#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice {

/// Parses one JSON document: UTF-8, at most `max_depth` levels, nothing after it. Of a repeated key
/// the last value counts. An escaped half of a surrogate pair by itself, as programs write that cut
/// texts anywhere, is U+FFFD. kCorruptData with the byte offset otherwise. Never throws.
Result<boost::json::value> ParseJson(std::string_view text, std::size_t max_depth = 64);

/// A JSON value and where it stands, so that every complaint names the key: "config.json:
/// text_config.hidden_size: expected an integer, found a string". Borrows the value and `where`.
class JsonView {
 public:
  JsonView(const boost::json::value& value, std::string where)
      : value_(&value), where_(std::move(where)) {}

  const boost::json::value& value() const { return *value_; }
  const std::string& where() const { return where_; }

  /// The member called `key`; absent when there is none, when it is null, or when this is no
  /// object.
  std::optional<JsonView> Find(std::string_view key) const;
  /// The same, or kCorruptData that names the key.
  Result<JsonView> Get(std::string_view key) const;
  bool IsObject() const { return value_->is_object(); }
  bool IsArray() const { return value_->is_array(); }
  bool IsString() const { return value_->is_string(); }
  bool IsBool() const { return value_->is_bool(); }
  bool IsNumber() const { return value_->is_number(); }

  /// Typed reads: kCorruptData that names place and found type.
  Result<std::int64_t> Int(std::int64_t min, std::int64_t max) const;
  Result<double> Number() const;  ///< Finite, or kCorruptData.
  Result<bool> Bool() const;
  Result<std::string_view> String() const;
  Result<std::vector<JsonView>> Array() const;

  /// `Find(key)` read as the type, or `fallback` when absent.
  Result<std::int64_t> IntOr(std::string_view key, std::int64_t fallback, std::int64_t min,
                             std::int64_t max) const;
  Result<double> NumberOr(std::string_view key, double fallback) const;
  Result<bool> BoolOr(std::string_view key, bool fallback) const;
  Result<std::string> StringOr(std::string_view key, std::string_view fallback) const;

  /// An error about this place.
  Error Complain(std::string_view what) const;

 private:
  const boost::json::value* value_;
  std::string where_;
};

}  // namespace lattice
