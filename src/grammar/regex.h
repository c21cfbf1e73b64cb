#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "grammar/grammar.h"
#include "lattice/result.h"

namespace lattice::grammar {

struct RegexOptions {
  /// Anchored nowhere: the pattern matches if any part of the text does (JSON Schema). Otherwise
  /// the whole text must match.
  bool search = false;
  bool unicode_classes = false;      ///< \d \w \s as CharSet's functions say.
  bool unicode_spaces = false;       ///< \s alone, as ECMAScript has it.
  bool case_insensitive = false;     ///< ASCII letters. Also by "(?i)" at the beginning.
  bool dot_matches_newline = false;  ///< Else . is all but \n, \r, U+2028, U+2029. Also "(?s)".
  /// The expression of one character out of a set: that of a JSON string with its escapes, for
  /// example. GrammarBuilder::Chars when empty.
  std::function<Expr(const CharSet&)> chars = {};
  /// What may stand before and after what was searched for. GrammarBuilder::AnyText when absent.
  std::optional<Expr> filler = {};
  std::size_t max_depth = 200;     ///< Of groups.
  std::size_t max_size = 1 << 16;  ///< Bytes of the pattern.
};

/// The expression of a regular expression.
///
/// Syntax  that of ECMAScript's and Python's which is regular: literals, . [...] [^...] ranges,
///         \d \D \w \W \s \S \p{..} \P{..} \t \n \r \v \f \0 \xHH \uHHHH \u{H..} \cX, escaped
///         punctuation, groups (..) (?:..) (?<name>..) (?P<name>..), |, * + ? {m} {m,} {m,n} (a ?
///         behind them changes nothing), ^ $ \A \z \Z anywhere but inside repetitions.
/// Errors  kUnsupported (lookaround, back references, \b, ...) and kInvalidArgument (bad syntax,
///         {5,2}, too deep, too long) name the character's place, from 1. Not kept by the builder.
Result<Expr> ParseRegex(std::string_view pattern, GrammarBuilder& builder,
                        const RegexOptions& options = {});

}  // namespace lattice::grammar
