// Random grammars and texts, judged by programs that share nothing with this room.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

#include <random>

#include "grammar/test_grammars.h"

namespace lattice::grammar {
namespace {

using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t n) { return random() % n; }

// ---- regular expressions, beside PCRE2 ----

std::string RandomPattern(Random& random, int depth) {
  static constexpr const char* kAtoms[] = {"a",      "b",      "c",   ".",      "[ab]",   "[^a]",
                                           "\\w",    "\\d",    "\\s", "[a-c1]", "\u00e9", "\\x62",
                                           "[^\\d]", "\u65e5", "^",   "$"};
  static constexpr const char* kQuantifiers[] = {"*",     "+",     "?",    "{2}",
                                                 "{1,3}", "{0,2}", "{2,}", "*?"};
  std::string made;
  const std::size_t n = 1 + Below(random, 3);
  for (std::size_t i = 0; i < n; ++i) {
    const bool nests = depth > 0 && Below(random, 3) == 0;
    const std::size_t atom = Below(random, std::size(kAtoms));
    made += nests ? "(" + RandomPattern(random, depth - 1) + ")" : kAtoms[atom];
    const bool is_anchor = !nests && atom >= std::size(kAtoms) - 2;
    if (!is_anchor && Below(random, 3) == 0) made += kQuantifiers[Below(random, 8)];
  }
  return Below(random, 3) == 0 ? made + "|" + RandomPattern(random, depth - 1) : made;
}

std::string RandomText(Random& random) {
  static constexpr const char* kPieces[] = {"a",      "b",      "c",  "1", " ",
                                            "\u00e9", "\u65e5", "\n", "\""};
  std::string text;
  for (std::size_t n = Below(random, 7); n > 0; --n) text += kPieces[Below(random, 9)];
  return text;
}

class Pcre {
 public:
  explicit Pcre(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE where = 0;
    // \Z-like ends at a last line end are PCRE's alone.
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                          PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &error, &where, nullptr);
    data_ = pcre2_match_data_create(4, nullptr);
  }
  Pcre(const Pcre&) = delete;
  Pcre& operator=(const Pcre&) = delete;
  ~Pcre() {
    pcre2_match_data_free(data_);
    pcre2_code_free(code_);
  }
  bool valid() const { return code_ != nullptr; }
  bool Finds(const std::string& text) const {
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data_,
                       nullptr) >= 0;
  }

 private:
  pcre2_code* code_ = nullptr;
  pcre2_match_data* data_ = nullptr;
};

TEST(PropertyTest, RegularExpressionsMatchWhatPcreMatches) {
  int n_judged = 0, n_matching = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    // '.' of ECMAScript leaves out \r and two more, which the texts do not have.
    const std::string pattern = RandomPattern(random, 2);
    const Pcre whole("\\A(?:" + pattern + ")\\z"), part(pattern);
    GrammarBuilder b;
    const auto ours = ParseRegex(pattern, b);
    const auto search = ParseRegex(pattern, b, {.search = true});
    // An anchor within a repetition is refused.
    if (!ours && ours.error().code == ErrorCode::kUnsupported) continue;
    ASSERT_TRUE(whole.valid() && part.valid()) << pattern;
    ASSERT_TRUE(ours && search) << pattern << ": " << ours.error().message;
    for (int i = 0; i < 20; ++i) {
      const std::string text = RandomText(random);
      ASSERT_EQ(b.Matches(*ours, text), whole.Finds(text)) << pattern << " on " << text;
      ASSERT_EQ(b.Matches(*search, text), part.Finds(text)) << pattern << " in " << text;
      ++n_judged;
      n_matching += whole.Finds(text) ? 1 : 0;
    }
  }
  EXPECT_GT(n_judged, 15'000);
  EXPECT_GT(n_matching, 300);
}

TEST(PropertyTest, IntersectionsAndComplementsAreThoseOfTheSets) {
  int n_matching = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed);
    GrammarBuilder b;
    const auto x = ParseRegex(RandomPattern(random, 1), b);
    const auto y = ParseRegex(RandomPattern(random, 1), b);
    if (!x || !y) continue;
    // Counted characters before the same end, too.
    const auto counted = [&] {
      const auto min = static_cast<std::uint32_t>(Below(random, 3));
      const char* const kSets[] = {"[ab]", "[^\"]", "[a-c1\u00e9]|\\\\[nt]", "[^\"]|\\\\[n]"};
      const Expr one = MustParse(b, kSets[Below(random, 4)]);
      return b.Concat({b.Repeat(one, min, min + static_cast<std::uint32_t>(Below(random, 5))),
                       b.Literal("\"")});
    };
    const Expr p = counted(), q = counted();
    const Expr both = b.And({*x, *y}), neither = b.Not(b.Or({*x, *y})), counts = b.And({p, q});
    for (int i = 0; i < 20; ++i) {
      const std::string text = RandomText(random), quoted = text + "\"";
      const bool in_x = b.Matches(*x, text), in_y = b.Matches(*y, text);
      ASSERT_EQ(b.Matches(both, text), in_x && in_y) << "seed " << seed << ", " << text;
      ASSERT_EQ(b.Matches(neither, text), !in_x && !in_y) << "seed " << seed << ", " << text;
      ASSERT_TRUE(!in_x || !in_y || *b.MatchesSomething(both)) << "seed " << seed;
      ASSERT_TRUE(in_x || in_y || *b.MatchesSomething(neither)) << "seed " << seed;
      ASSERT_FALSE(*b.MatchesSomething(b.And({both, neither}))) << "seed " << seed;
      const bool in_counts = b.Matches(p, quoted) && b.Matches(q, quoted);
      ASSERT_EQ(b.Matches(counts, quoted), in_counts) << "seed " << seed << ", " << quoted;
      n_matching += in_counts ? 1 : 0;
    }
  }
  EXPECT_GT(n_matching, 100);
}

// ---- rules, beside a table of all spans ----

struct Piece {
  enum class Kind { kText, kSequence, kChoice, kRepeat, kRule } kind;
  std::string text = {};
  std::vector<std::size_t> children = {};
  std::uint32_t min = 0, max = 0;
};

// Which pieces match which spans of a text: the least set that the definitions allow.
class SpanTable {
 public:
  SpanTable(const std::vector<Piece>& pieces, std::string_view text)
      : pieces_(pieces), text_(text), n_(text.size() + 1), spans_(pieces.size() * n_ * n_) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t p = 0; p < pieces_.size(); ++p) {
        for (std::size_t from = 0; from < n_; ++from) {
          const std::vector<bool> ends = Ends(pieces_[p], from);
          for (std::size_t to = from; to < n_; ++to) {
            if (!ends[to] || At(p, from, to)) continue;
            spans_[(p * n_ + from) * n_ + to] = true;
            changed = true;
          }
        }
      }
    }
  }
  bool At(std::size_t piece, std::size_t from, std::size_t to) const {
    return spans_[(piece * n_ + from) * n_ + to];
  }
  bool Whole(std::size_t piece) const { return At(piece, 0, n_ - 1); }

 private:
  std::vector<bool> After(std::size_t piece, const std::vector<bool>& starts) const {
    std::vector<bool> ends(n_);
    for (std::size_t from = 0; from < n_; ++from) {
      for (std::size_t to = from; starts[from] && to < n_; ++to) {
        if (At(piece, from, to)) ends[to] = true;
      }
    }
    return ends;
  }
  std::vector<bool> Ends(const Piece& piece, std::size_t from) const {
    std::vector<bool> at(n_), ends(n_);
    at[from] = true;
    switch (piece.kind) {
      case Piece::Kind::kText:
        if (text_.substr(from).starts_with(piece.text)) ends[from + piece.text.size()] = true;
        return ends;
      case Piece::Kind::kSequence:
        for (const std::size_t child : piece.children) at = After(child, at);
        return at;
      case Piece::Kind::kRule:
      case Piece::Kind::kChoice:
        for (const std::size_t child : piece.children) {
          const std::vector<bool> more = After(child, at);
          for (std::size_t i = 0; i < n_; ++i) ends[i] = ends[i] || more[i];
        }
        return ends;
      case Piece::Kind::kRepeat: {
        const std::uint32_t most =
            std::min<std::uint32_t>(piece.max, piece.min + static_cast<std::uint32_t>(n_));
        for (std::uint32_t turn = 0; turn <= most; ++turn) {
          for (std::size_t i = 0; turn >= piece.min && i < n_; ++i) ends[i] = ends[i] || at[i];
          at = After(piece.children[0], at);
        }
        return ends;
      }
    }
    return ends;
  }

  const std::vector<Piece>& pieces_;
  std::string_view text_;
  std::size_t n_;
  std::vector<bool> spans_;
};

std::vector<Piece> RandomPieces(Random& random) {
  using Kind = Piece::Kind;
  std::vector<Piece> pieces{{Kind::kText, "a"},  {Kind::kText, "b"}, {Kind::kText, ""},
                            {Kind::kText, "ab"}, {Kind::kRule},      {Kind::kRule},
                            {Kind::kRule}};
  for (int i = 0; i < 12; ++i) {
    Piece piece{static_cast<Kind>(1 + Below(random, 3))};
    const std::size_t n = piece.kind == Kind::kRepeat ? 1 : Below(random, 4);
    for (std::size_t c = 0; c < n; ++c) piece.children.push_back(Below(random, pieces.size()));
    piece.min = static_cast<std::uint32_t>(Below(random, 3));
    piece.max =
        Below(random, 3) == 0 ? kNoLimit : piece.min + static_cast<std::uint32_t>(Below(random, 3));
    pieces.push_back(std::move(piece));
  }
  for (std::size_t rule = 4; rule < 7; ++rule) {
    pieces[rule].children = {7 + Below(random, pieces.size() - 7), Below(random, 4)};
    if (Below(random, 2) == 0) pieces[rule].children.pop_back();
  }
  return pieces;
}

// The last piece as a grammar.
Result<std::shared_ptr<const Grammar>> GrammarOf(const std::vector<Piece>& pieces) {
  GrammarBuilder b;
  std::vector<Symbol> symbols;
  for (const Piece& piece : pieces) {
    std::vector<Symbol> children;
    if (piece.kind != Piece::Kind::kRule) {
      for (const std::size_t child : piece.children) children.push_back(symbols[child]);
    }
    switch (piece.kind) {
      case Piece::Kind::kText:
        symbols.push_back(b.Text(piece.text));
        break;
      case Piece::Kind::kSequence:
        symbols.push_back(b.Sequence(children));
        break;
      case Piece::Kind::kChoice:
        symbols.push_back(b.Choice(children));
        break;
      case Piece::Kind::kRepeat:
        symbols.push_back(b.Repeat(children[0], piece.min, piece.max));
        break;
      case Piece::Kind::kRule:
        symbols.push_back(b.Rule("rule"));
        break;
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].kind != Piece::Kind::kRule) continue;
    std::vector<Symbol> choices;
    for (const std::size_t child : pieces[i].children) choices.push_back(symbols[child]);
    b.Define(symbols[i], b.Choice(choices));
  }
  return std::move(b).Build(symbols.back());
}

std::vector<std::string> AllTexts(std::size_t longest) {
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; texts[i].size() < longest; ++i) {
    for (const char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  }
  return texts;
}

TEST(PropertyTest, RulesMatchWhatTheirDefinitionSays) {
  const std::vector<std::string> texts = AllTexts(4);
  int n_matching = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const std::vector<Piece> pieces = RandomPieces(random);
    const auto grammar = GrammarOf(pieces);
    std::vector<bool> expected;
    for (const std::string& text : texts) {
      expected.push_back(SpanTable(pieces, text).Whole(pieces.size() - 1));
    }
    if (!grammar) {
      EXPECT_EQ(std::ranges::count(expected, true), 0) << "seed " << seed;
      continue;
    }
    const auto automaton = std::make_shared<Automaton>(*grammar, nullptr);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto state = automaton->Next(automaton->start(), texts[i]);
      ASSERT_TRUE(state) << state.error().message;
      ASSERT_EQ(automaton->is_complete(*state), expected[i])
          << "seed " << seed << ", text '" << texts[i] << "'";
      n_matching += expected[i] ? 1 : 0;
    }
  }
  EXPECT_GT(n_matching, 200);
}

// Every text of a grammar can be said in any tokens that spell it, each allowed by its mask.
TEST(PropertyTest, EveryTextIsReachedInAnyTokens) {
  const auto vocabulary = SmallVocabulary();
  const std::vector<std::string> texts = AllTexts(4);
  int n_said = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::vector<Piece> pieces = RandomPieces(random);
    const auto grammar = GrammarOf(pieces);
    if (!grammar) continue;
    const auto automaton = std::make_shared<Automaton>(*grammar, vocabulary);
    for (const std::string& text : texts) {
      if (!SpanTable(pieces, text).Whole(pieces.size() - 1)) continue;
      Matcher matcher(automaton);
      for (std::string_view rest = text; !rest.empty();) {
        std::vector<TokenId> fitting;
        for (std::size_t n = 1; n <= rest.size(); ++n) {
          const auto tokens = vocabulary->tokens_of(rest.substr(0, n));
          fitting.insert(fitting.end(), tokens.begin(), tokens.end());
        }
        const TokenId id = fitting[Below(random, fitting.size())];
        TokenBits bits(vocabulary->n_words(), UINT64_MAX);
        ASSERT_TRUE(matcher.Fill(bits));
        ASSERT_TRUE(bits[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1)
            << "seed " << seed << ", '" << text << "'";
        ASSERT_TRUE(matcher.AcceptToken(id));
        rest.remove_prefix(vocabulary->token(id).size());
      }
      ASSERT_TRUE(matcher.is_complete());
      ++n_said;
    }
  }
  EXPECT_GT(n_said, 200);
}

}  // namespace
}  // namespace lattice::grammar
