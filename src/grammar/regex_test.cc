#include "grammar/regex.h"

#include <gtest/gtest.h>

#include <string>

#include "base/utf8.h"
#include "grammar/matcher.h"

namespace lattice::grammar {
namespace {

bool Accepts(std::string_view pattern, std::string_view text, const RegexOptions& options = {}) {
  GrammarBuilder b;
  auto e = ParseRegex(pattern, b, options);
  if (!e) {
    ADD_FAILURE() << pattern << ": " << e.error().message;
    return false;
  }
  const bool direct = b.Matches(*e, text);
  auto grammar = std::move(b).Build(b.Terminal(*e));
  if (!grammar) return false;
  auto matched = Matches(*grammar, text);
  EXPECT_TRUE(matched.has_value());
  EXPECT_EQ(direct, *matched) << pattern << " on " << text;
  return direct;
}

std::string ErrorOf(std::string_view pattern) {
  GrammarBuilder b;
  auto e = ParseRegex(pattern, b);
  return e ? "" : e.error().message;
}

TEST(RegexTest, MatchesWholeTexts) {
  EXPECT_TRUE(Accepts("a|bc", "bc"));
  EXPECT_FALSE(Accepts("a|bc", "abc"));
  EXPECT_TRUE(Accepts("(ab)*c+d?", "ababccd"));
  EXPECT_FALSE(Accepts("(ab)*c+d?", "abad"));
  EXPECT_TRUE(Accepts("", ""));
  EXPECT_FALSE(Accepts("", "x"));
  EXPECT_TRUE(Accepts("a{2,3}", "aaa"));
  EXPECT_FALSE(Accepts("a{2,3}", "aaaa"));
  EXPECT_TRUE(Accepts("(a{2}){3}", "aaaaaa"));
  EXPECT_FALSE(Accepts("(a{2}){3}", "aaaaa"));
  EXPECT_TRUE(Accepts("(a|aa){0,5}", "aaaaaaa"));
  EXPECT_TRUE(Accepts("(?:x(?<n>y)|z)??", "xy"));
}

TEST(RegexTest, ClassesKnowUnicode) {
  EXPECT_TRUE(Accepts("[^a-c]", "\u00e9"));
  EXPECT_FALSE(Accepts("[^a-c]", "b"));
  EXPECT_TRUE(Accepts("\\p{Lu}\\p{L}+", "\u00c9tat"));
  EXPECT_FALSE(Accepts("\\p{Lu}", "\u00e9"));
  EXPECT_TRUE(Accepts("\\P{Lu}", "\u00e9"));
  EXPECT_TRUE(Accepts(".", "\U0001F600"));
  EXPECT_FALSE(Accepts(".", "\n"));
  EXPECT_FALSE(Accepts(".", "\xF0\x9F\x98"));
  EXPECT_FALSE(Accepts("\\d", "\u0663"));
  EXPECT_TRUE(Accepts("\\d", "\u0663", {.unicode_classes = true}));
  EXPECT_TRUE(Accepts("[\\d-x]+", "4-x"));
  EXPECT_TRUE(Accepts("\\u00e9\\x41\\u{1F600}\\uD83D\\uDE00", "\u00e9A\U0001F600\U0001F600"));
  EXPECT_TRUE(Accepts("(?i)stra\u00dfe[x-z]", "STRA\u00dfEY"));
}

TEST(RegexTest, EveryScalarValueIsInAClassOrItsComplement) {
  const CharSet set = *CharSet::Property("L");
  GrammarBuilder b;
  const Expr in = b.Chars(set);
  const Expr out = b.Chars(set.Complement());
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 37) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(c, text);
    ASSERT_EQ(b.Matches(in, text), set.Contains(c)) << std::hex << static_cast<unsigned>(c);
    ASSERT_NE(b.Matches(in, text), b.Matches(out, text)) << std::hex << static_cast<unsigned>(c);
  }
}

TEST(RegexTest, AnchorsMeanWhatTheyMeanInASearch) {
  const RegexOptions search{.search = true};
  EXPECT_TRUE(Accepts("b", "abc", search));
  EXPECT_FALSE(Accepts("^b", "abc", search));
  EXPECT_TRUE(Accepts("^b", "bc", search));
  EXPECT_TRUE(Accepts("c$", "abc", search));
  EXPECT_FALSE(Accepts("b$", "abc", search));
  EXPECT_TRUE(Accepts("^a|c$", "xxc", search));
  EXPECT_FALSE(Accepts("^a|c$", "xxcx", search));
  EXPECT_TRUE(Accepts("(^|,)a(,|$)", "b,a", search));
  EXPECT_FALSE(Accepts("(^|,)a(,|$)", "ba", search));
  EXPECT_TRUE(Accepts("^$", "", search));
  EXPECT_FALSE(Accepts("^$", "a", search));
  EXPECT_TRUE(Accepts("^(a|$)", "", search));
  EXPECT_TRUE(Accepts("(^a)?b", "xb", search));
  EXPECT_TRUE(Accepts("^^a$$", "a"));
  EXPECT_FALSE(Accepts("^[^\\n\\r]{1,129}$", std::string(130, 'x')));
  EXPECT_TRUE(Accepts("^[^\\n\\r]{1,129}$", std::string(129, 'x')));
}

TEST(RegexTest, CountersAreNotExpanded) {
  for (const std::size_t n : {1999, 2000, 2001, 5000}) {
    EXPECT_TRUE(Accepts("x{2,5000}", std::string(n, 'x')));
  }
  EXPECT_FALSE(Accepts("x{2,5000}", std::string(5001, 'x')));
  EXPECT_TRUE(Accepts("((a{30}){30}){30}", std::string(27'000, 'a')));
  EXPECT_TRUE(Accepts("(a+)+b", std::string(20'000, 'a') + "b"));
}

TEST(RegexTest, RefusalsNameThePlace) {
  EXPECT_EQ(ErrorOf("a(?=b)"), "pattern, character 3: lookahead cannot be part of a grammar");
  EXPECT_EQ(ErrorOf("(a)\\1"),
            "pattern, character 4: a back reference cannot be part of a grammar");
  EXPECT_EQ(ErrorOf("\u00e9{5,0}"), "pattern, character 2: {m,n} with m greater than n");
  EXPECT_NE(ErrorOf("[b-a]"), "");
  EXPECT_NE(ErrorOf("a)"), "");
  EXPECT_NE(ErrorOf("(a"), "");
  EXPECT_NE(ErrorOf("[a"), "");
  EXPECT_NE(ErrorOf("a**"), "");
  EXPECT_NE(ErrorOf("*a"), "");
  EXPECT_NE(ErrorOf("\\"), "");
  EXPECT_NE(ErrorOf("\\p{Nothing}"), "");
  EXPECT_NE(ErrorOf("a{99999999999}"), "");
  EXPECT_NE(ErrorOf(std::string(60'000, '(')), "");
  EXPECT_NE(ErrorOf(std::string(100'000, '(')), "");
}

}  // namespace
}  // namespace lattice::grammar
