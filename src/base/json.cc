#include "base/json.h"

#include <boost/json/parse.hpp>
#include <boost/json/stream_parser.hpp>
#include <charconv>
#include <cmath>
#include <exception>
#include <utility>

namespace lattice {
namespace {

std::string_view KindName(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      return "a number";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
  }
  return "an unknown value";
}

/// The UTF-16 unit that an escape at `at` spells; absent for anything else.
std::optional<unsigned> EscapedUnit(std::string_view text, std::size_t at) {
  constexpr std::size_t kLength = 6;  // of "\\uXXXX"
  if (at + kLength > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned unit = 0;
  const char* const end = text.data() + at + kLength;
  const auto [stop, code] = std::from_chars(text.data() + at + 2, end, unit, 16);
  if (code != std::errc() || stop != end) return std::nullopt;
  return unit;
}

bool IsHighHalf(unsigned unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLowHalf(unsigned unit) { return unit >= 0xDC00 && unit < 0xE000; }

/// Puts U+FFFD where half a pair stands alone: the same length, so that offsets stay. Absent when
/// there is none.
std::optional<std::string> MendHalves(std::string_view text) {
  std::optional<std::string> mended;
  std::size_t at = text.find('\\');
  while (at < text.size()) {
    std::size_t length = 2;
    if (const auto unit = EscapedUnit(text, at)) {
      const auto next = EscapedUnit(text, at + 6);
      const bool pair = IsHighHalf(*unit) && next && IsLowHalf(*next);
      if (!pair && (IsHighHalf(*unit) || IsLowHalf(*unit))) {
        if (!mended) mended.emplace(text);
        mended->replace(at, 6, "\\ufffd");
      }
      length = pair ? 12 : 6;
    }
    at = text.find('\\', at + length);
  }
  return mended;
}

}  // namespace

Result<boost::json::value> ParseJson(std::string_view text, std::size_t max_depth) {
  try {
    const std::optional<std::string> mended = MendHalves(text);
    if (mended) text = *mended;
    boost::json::parse_options options;
    options.max_depth = max_depth;
    boost::json::stream_parser parser({}, options);
    boost::system::error_code code;
    std::size_t consumed = 0;
    if (!text.empty()) consumed = parser.write_some(text.data(), text.size(), code);
    if (!code && consumed < text.size()) {
      return Error{ErrorCode::kCorruptData,
                   "JSON at byte " + std::to_string(consumed) + ": text after the document"};
    }
    if (!code) parser.finish(code);
    if (code) {
      return Error{ErrorCode::kCorruptData,
                   "JSON at byte " + std::to_string(consumed) + ": " + code.message()};
    }
    return parser.release();
  } catch (const std::exception& e) {  // Boost.JSON reports its own size limits by throwing.
    return Error{ErrorCode::kCorruptData, std::string("JSON: ") + e.what()};
  }
}

std::optional<JsonView> JsonView::Find(std::string_view key) const {
  if (!value_->is_object()) return std::nullopt;
  const boost::json::value* member = value_->get_object().if_contains(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  std::string place = where_;
  place += where_.ends_with(": ") || where_.empty() ? "" : ".";
  place += key;
  return JsonView(*member, std::move(place));
}

Result<JsonView> JsonView::Get(std::string_view key) const {
  if (!IsObject()) return Complain("expected an object");
  if (auto found = Find(key)) return *std::move(found);
  return Complain("missing '" + std::string(key) + "'");
}

Result<std::int64_t> JsonView::Int(std::int64_t min, std::int64_t max) const {
  std::int64_t number = 0;
  if (const auto* i = value_->if_int64()) {
    number = *i;
  } else if (const auto* u = value_->if_uint64()) {
    number = *u > static_cast<std::uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(*u);
  } else if (const auto* d = value_->if_double()) {
    // Writers of other languages print large integers as 1e30; clamp those, refuse fractions.
    if (!std::isfinite(*d) || std::trunc(*d) != *d) return Complain("expected an integer");
    number = *d >= 9.2e18 ? INT64_MAX : *d <= -9.2e18 ? INT64_MIN : static_cast<std::int64_t>(*d);
  } else {
    return Complain("expected an integer");
  }
  if (number < min || number > max) {
    return Error{ErrorCode::kCorruptData, where_ + ": " + std::to_string(number) + " is outside " +
                                              std::to_string(min) + " to " + std::to_string(max)};
  }
  return number;
}

Result<double> JsonView::Number() const {
  if (!value_->is_number()) return Complain("expected a number");
  const auto number = value_->to_number<double>();
  if (!std::isfinite(number)) return Complain("expected a finite number");
  return number;
}

Result<bool> JsonView::Bool() const {
  if (!value_->is_bool()) return Complain("expected a boolean");
  return value_->get_bool();
}

Result<std::string_view> JsonView::String() const {
  if (!value_->is_string()) return Complain("expected a string");
  const auto& text = value_->get_string();
  return std::string_view(text.data(), text.size());
}

Result<std::vector<JsonView>> JsonView::Array() const {
  if (!value_->is_array()) return Complain("expected an array");
  std::vector<JsonView> items;
  const auto& array = value_->get_array();
  items.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    items.emplace_back(array[i], where_ + "[" + std::to_string(i) + "]");
  }
  return items;
}

Result<std::int64_t> JsonView::IntOr(std::string_view key, std::int64_t fallback, std::int64_t min,
                                     std::int64_t max) const {
  const auto found = Find(key);
  return found ? found->Int(min, max) : Result<std::int64_t>(fallback);
}

Result<double> JsonView::NumberOr(std::string_view key, double fallback) const {
  const auto found = Find(key);
  return found ? found->Number() : Result<double>(fallback);
}

Result<bool> JsonView::BoolOr(std::string_view key, bool fallback) const {
  const auto found = Find(key);
  return found ? found->Bool() : Result<bool>(fallback);
}

Result<std::string> JsonView::StringOr(std::string_view key, std::string_view fallback) const {
  const auto found = Find(key);
  if (!found) return std::string(fallback);
  LATTICE_TRY(const std::string_view text, found->String());
  return std::string(text);
}

Error JsonView::Complain(std::string_view what) const {
  return Error{ErrorCode::kCorruptData, where_ + (where_.ends_with(": ") ? "" : ": ") +
                                            std::string(what) + ", found " +
                                            std::string(KindName(*value_))};
}

}  // namespace lattice
