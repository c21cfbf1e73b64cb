#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/limits.h"
#include "lattice/result.h"

namespace lattice::chat::jinja {

enum class TokenKind {
  kData,  ///< Text outside of tags, whitespace control already applied.
  kOutputBegin,
  kOutputEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,  ///< `text` is the value, escapes resolved.
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::uint32_t line = 1;
  std::string text;
};

/// Cuts a template into tokens as Jinja2 does with trim_blocks and lstrip_blocks on: the newline
/// after a block tag goes, and so do spaces before one that stands first on its line; "-" and "+"
/// in a tag change that. Comments are dropped, {% raw %} becomes data, a last newline is dropped.
///
/// The last token is kEnd.
/// Errors  kCorruptData "line N: ...", kResourceExhausted for a source that is too long.
/// Source  Jinja2 3.1, "Template Designer Documentation": whitespace control.
Result<std::vector<Token>> Tokenize(std::string_view source, const Limits& limits);

/// The value of a string literal's inside: \n, \x41, \u00e9, \U0001F600, octal. An unknown escape
/// stays as it is. kCorruptData for half a surrogate pair or a malformed number.
Result<std::string> Unescape(std::string_view literal);

}  // namespace lattice::chat::jinja
