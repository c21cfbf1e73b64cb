#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/api_error.h"

namespace lattice::server {

/// A request body as JSON: an object, at most 64 levels deep, UTF-8; a surrogate without its
/// partner stands for U+FFFD. Of a repeated key the last value counts.
ApiResult<boost::json::object> ParseBody(std::string_view body);

/// Reads the fields of an object with their ranges. null is as good as absent. The first complaint
/// is kept and names its field; what is read after it does not count.
class FieldReader {
 public:
  explicit FieldReader(const boost::json::object& object) : object_(object) {}

  /// Null when it is absent.
  const boost::json::value* Find(std::string_view key) const;

  std::optional<std::int64_t> Int(std::string_view key, std::int64_t min, std::int64_t max);
  std::optional<float> Number(std::string_view key, double min, double max);
  std::optional<bool> Bool(std::string_view key);
  std::optional<std::string> String(std::string_view key);
  /// A string, or an array of 1 to max_strings of them; absent: empty.
  std::vector<std::string> Strings(std::string_view key, std::size_t max_strings);
  /// An object, or null.
  const boost::json::object* Object(std::string_view key);

  /// The first key that is none of these is refused.
  void RefuseOthers(std::initializer_list<std::span<const std::string_view>> known);

  void Complain(std::string_view param, std::string message, std::string code = "invalid_value");
  bool ok() const { return !error_.has_value(); }
  /// There is one.
  ApiError error() const { return *error_; }

 private:
  const boost::json::object& object_;
  std::optional<ApiError> error_;
};

/// A number of JSON without a fraction, if it is one that fits.
std::optional<std::int64_t> ExactInt(const boost::json::value& value);

}  // namespace lattice::server
