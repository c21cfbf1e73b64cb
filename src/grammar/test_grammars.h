#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/matcher.h"
#include "grammar/regex.h"
#include "grammar/vocabulary.h"

namespace lattice::grammar {

inline std::shared_ptr<const Grammar> MustBuild(GrammarBuilder&& b, Symbol root) {
  auto grammar = std::move(b).Build(root);
  if (!grammar) {
    ADD_FAILURE() << grammar.error().message;
    return nullptr;
  }
  return *grammar;
}

inline Expr MustParse(GrammarBuilder& b, std::string_view pattern) {
  auto e = ParseRegex(pattern, b);
  if (!e) ADD_FAILURE() << e.error().message;
  return e ? *e : b.Nothing();
}

/// All single bytes, and pieces as vocabularies have them.
inline std::shared_ptr<const Vocabulary> SmallVocabulary() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* piece : {"",
                            "a",
                            "ab",
                            "aba",
                            "abc",
                            "b",
                            "ba",
                            "bb",
                            "aa",
                            "aaaa",
                            "\"",
                            "\"a",
                            "\",",
                            "\",\"",
                            "\"}",
                            "\"]",
                            "{\"",
                            "{\"a\":",
                            "\": ",
                            "\":\"",
                            " \"",
                            "  ",
                            "   ",
                            "\n",
                            "\n  ",
                            "},",
                            "}}",
                            "]]",
                            "[[",
                            "[\"",
                            "[1",
                            "12",
                            "123",
                            ",1",
                            ", ",
                            "true",
                            "tr",
                            "null",
                            "\\n",
                            "\\\"",
                            "a\\",
                            "\\u00",
                            "\u00e9",
                            "\u00e9t\u00e9",
                            "\u65e5\u672c",
                            "x\"",
                            "b\"",
                            "hello",
                            " world",
                            "()",
                            "((",
                            "))",
                            "+a",
                            "a+a",
                            "+",
                            "]",
                            "a,a",
                            "aab",
                            "bbb"}) {
    tokens.emplace_back(piece);
  }
  tokens.emplace_back("\xE6\x97");
  tokens.emplace_back("\x97\xA5\"");
  return std::make_shared<const Vocabulary>(std::move(tokens), 1 << 20);
}

/// The expression of a JSON string, as front ends write it.
inline Expr JsonString(GrammarBuilder& b, std::uint32_t min, std::uint32_t max) {
  return b.Concat(
      {b.Literal("\""),
       b.Repeat(b.Or({b.Chars(CharSet::OfRange(0x20, 0x10FFFF).Minus(CharSet::OfText("\"\\"))),
                      MustParse(b, "\\\\([\"\\\\/bfnrt]|u[0-9a-fA-F]{4})")}),
                min, max),
       b.Literal("\"")});
}

}  // namespace lattice::grammar
