#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "grammar/grammar.h"
#include "lattice/result.h"

namespace lattice::grammar {

struct GbnfLimits {
  std::size_t max_size = 1 << 20;  ///< Bytes of the text.
  std::size_t max_rules = 50'000;
  std::size_t max_depth = 200;  ///< Of parentheses.
  GrammarLimits grammar = {};
};

/// The grammar of a text in GBNF, as llama.cpp reads it:
///
///     # a comment
///     root ::= "yes" | "no" (", " reason)?
///     reason ::= [a-z ]{1,40} "."
///
/// Rules `name ::= ...` (letters, digits, - and _) up to the end of a line, which continues within
/// parentheses, after ::= and around |. "literals" and [classes] with \n \r \t \\ \" \[ \] \- \^
/// \xHH \uHHHH \UHHHHHHHH; [^...]; . for any character; * + ? {m} {m,} {m,n} {,n}. The text is one
/// of the rule `root`. Left recursion and empty repetitions are fine; counts are not expanded.
///
/// Errors  kInvalidArgument and kUnsupported (<token> references) name line and column;
///         kResourceExhausted a limit.
Result<std::shared_ptr<const Grammar>> ParseGbnf(std::string_view text,
                                                 const GbnfLimits& limits = {});

}  // namespace lattice::grammar
