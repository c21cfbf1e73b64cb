#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lattice/result.h"

namespace lattice::weights {

/// Reads JSON whose shape the caller knows, left to right, in one pass and without recursion:
/// headers of untrusted files, where a general parser would hide repeated keys and number forms.
/// The text must be valid UTF-8 (not checked here). Errors are kCorruptData with the byte offset.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  std::size_t offset() const { return at_; }

  /// Skips white space and `wanted`.
  Status Expect(char wanted);
  /// Skips white space; if `wanted` is next, skips it too and says true.
  bool Accept(char wanted);
  /// A string with its escapes resolved. A lone surrogate or U+0000 is refused.
  Result<std::string> String();
  /// Digits only: no sign, fraction, exponent or leading zero; below 2^64.
  Result<std::uint64_t> Unsigned();
  /// Any value, checked in outline (balanced brackets, whole strings), at most `max_depth` deep.
  Status Skip(std::size_t max_depth);
  /// Nothing but white space may be left.
  Status End();

  /// An error at the current place.
  Error Complain(std::string_view what) const;

 private:
  void SkipSpace();
  Status Escape(std::string& out);
  Result<std::uint32_t> HexUnit();
  Status SkipScalar();

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Calls member(key) for each member of the object that starts here; `member` must read the value.
template <typename Member>
Status ScanObject(JsonScanner& json, Member member) {
  LATTICE_TRY_VOID(json.Expect('{'));
  if (json.Accept('}')) return Ok();
  do {
    LATTICE_TRY(std::string key, json.String());
    LATTICE_TRY_VOID(json.Expect(':'));
    LATTICE_TRY_VOID(member(std::move(key)));
  } while (json.Accept(','));
  return json.Expect('}');
}

/// Calls item() for each item of the array that starts here; `item` must read it.
template <typename Item>
Status ScanArray(JsonScanner& json, Item item) {
  LATTICE_TRY_VOID(json.Expect('['));
  if (json.Accept(']')) return Ok();
  do {
    LATTICE_TRY_VOID(item());
  } while (json.Accept(','));
  return json.Expect(']');
}

/// A name from a file, for messages: in quotes, control characters as \xNN, long ones cut.
std::string Quoted(std::string_view name);

}  // namespace lattice::weights
