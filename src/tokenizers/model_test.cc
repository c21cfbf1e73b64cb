#include "tokenizers/model.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/utf8.h"
#include "tokenizers/word_cache.h"

namespace lattice::tokenizers {

void PrintTo(const Piece& piece, std::ostream* out) {
  *out << piece.id << "@" << piece.begin << "-" << piece.end;
}

namespace {

using Pieces = std::vector<Piece>;

Result<std::unique_ptr<TokenModel>> Make(std::string_view json,
                                         BpeInput input = BpeInput::kAsSpelled) {
  const auto document = ParseJson(json);
  EXPECT_TRUE(document) << document.error().message;
  return MakeTokenModel(JsonView(*document, "model"), input);
}

// The pieces of one word.
Pieces Cut(const TokenModel& model, std::string_view word) {
  const auto scratch = model.MakeScratch();
  Pieces pieces;
  const Span all{0, static_cast<std::uint32_t>(word.size())};
  const auto status = model.Tokenize(word, {&all, 1}, *scratch, pieces);
  EXPECT_TRUE(status) << status.error().message;
  return pieces;
}

TEST(WordPieceTest, TakesTheLongestTokenFromTheLeft) {
  const auto model =
      Make(R"({"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 8,
      "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "una": 4, "##ff": 5, "é": 6}})");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(Cut(**model, "unaffable").size(), 1u);  // nine characters
  EXPECT_EQ(Cut(**model, "unaff"), (Pieces{{4, 0, 3}, {5, 3, 5}}));
  EXPECT_EQ(Cut(**model, "unx"), (Pieces{{0, 0, 3}}));
  EXPECT_EQ(Cut(**model, "é"), (Pieces{{6, 0, 2}}));
  EXPECT_EQ(Cut(**model, "éé"), (Pieces{{0, 0, 4}}));
}

TEST(WordPieceTest, ReadsVocabularyLines) {
  const auto model = MakeWordPieceFromLines("[UNK]\r\nab\n\n##c", "[UNK]");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(Cut(**model, "abc"), (Pieces{{1, 0, 2}, {3, 2, 3}}));
  EXPECT_EQ((*model)->Text(2), std::nullopt);
  EXPECT_EQ((*model)->vocab_size(), 4u);
  EXPECT_FALSE(MakeWordPieceFromLines("\n\n", "[UNK]"));
}

TEST(WordLevelTest, UnknownWordsNeedAToken) {
  const auto with = Make(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 7, "a": 2}})");
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(Cut(**with, "a"), (Pieces{{2, 0, 1}}));
  EXPECT_EQ(Cut(**with, "b"), (Pieces{{7, 0, 1}}));
  const auto without = Make(R"({"type": "WordLevel", "unk_token": "?", "vocab": {"a": 2}})");
  ASSERT_TRUE(without);
  const Span word{0, 1};
  Pieces pieces;
  const auto scratch = (*without)->MakeScratch();
  const auto status = (*without)->Tokenize("b", {&word, 1}, *scratch, pieces);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
}

TEST(UnigramTest, TakesTheBestSumAndTheLongestLastPieceOfEquals) {
  const auto model = Make(R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1],
      ["b", -1], ["ab", -2], ["abc", -9], ["c", -3], ["bc", -4]]})");
  ASSERT_TRUE(model) << model.error().message;
  // a|b and ab are both -2: the earlier start of the last piece stays.
  EXPECT_EQ(Cut(**model, "ab"), (Pieces{{3, 0, 2}}));
  EXPECT_EQ(Cut(**model, "abc"), (Pieces{{1, 0, 1}, {6, 1, 3}}));
  EXPECT_EQ(Cut(**model, "axyb"), (Pieces{{1, 0, 1}, {0, 1, 3}, {2, 3, 4}}));
}

TEST(UnigramTest, UnknownTextBecomesBytesWhereAllOfThemExist) {
  const auto model = Make(R"({"type": "Unigram", "unk_id": 0, "byte_fallback": true,
      "vocab": [["<unk>", 0], ["<0xC3>", 0], ["<0xA9>", 0], ["e", -1]]})");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(Cut(**model, "eé"), (Pieces{{3, 0, 1}, {1, 1, 3}, {2, 1, 3}}));
  EXPECT_EQ(Cut(**model, "eö"), (Pieces{{3, 0, 1}, {0, 1, 3}}));
}

TEST(BpeTest, UnknownCharactersVanishFuseOrBecomeBytes) {
  const std::string vocab = R"("vocab": {"a": 0, "?": 1, "<0xC3>": 2, "<0xA9>": 3}, "merges": [])";
  const auto vanish = Make("{\"type\": \"BPE\", " + vocab + "}");
  const auto single = Make("{\"type\": \"BPE\", \"unk_token\": \"?\", " + vocab + "}");
  const auto fused =
      Make("{\"type\": \"BPE\", \"unk_token\": \"?\", \"fuse_unk\": true, " + vocab + "}");
  const auto bytes = Make("{\"type\": \"BPE\", \"byte_fallback\": true, " + vocab + "}");
  ASSERT_TRUE(vanish && single && fused && bytes);
  EXPECT_EQ(Cut(**vanish, "axya"), (Pieces{{0, 0, 1}, {0, 3, 4}}));
  EXPECT_EQ(Cut(**single, "axya"), (Pieces{{0, 0, 1}, {1, 1, 2}, {1, 2, 3}, {0, 3, 4}}));
  EXPECT_EQ(Cut(**fused, "axya"), (Pieces{{0, 0, 1}, {1, 1, 3}, {0, 3, 4}}));
  EXPECT_EQ(Cut(**bytes, "aéa"), (Pieces{{0, 0, 1}, {2, 1, 2}, {3, 2, 3}, {0, 3, 4}}));
}

TEST(BpeTest, PrefixAndSuffixAreSpelledAroundCharacters) {
  const auto model = Make(R"({"type": "BPE", "continuing_subword_prefix": "##",
      "end_of_word_suffix": "</w>", "vocab": {"a": 0, "##b": 1, "##c</w>": 2, "ab": 3, "abc</w>": 4,
      "a</w>": 5}, "merges": ["a ##b", ["ab", "##c</w>"]]})");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(Cut(**model, "abc"), (Pieces{{4, 0, 3}}));
  EXPECT_EQ(Cut(**model, "a"), (Pieces{{5, 0, 1}}));
}

TEST(BpeTest, IgnoreMergesKeepsWholeWordsThatAreTokens) {
  const std::string rest = R"("vocab": {"a": 0, "b": 1, "aba": 2, "ab": 3}, "merges": ["a b"]})";
  const auto plain = Make("{\"type\": \"BPE\", " + rest);
  const auto ignoring = Make("{\"type\": \"BPE\", \"ignore_merges\": true, " + rest);
  ASSERT_TRUE(plain && ignoring);
  EXPECT_EQ(Cut(**plain, "aba"), (Pieces{{3, 0, 2}, {0, 2, 3}}));
  EXPECT_EQ(Cut(**ignoring, "aba"), (Pieces{{2, 0, 3}}));
  for (int i = 0; i < 2; ++i) {  // Inside a longer word it is no whole word, remembered or not.
    EXPECT_EQ(Cut(**ignoring, "aaba"), (Pieces{{0, 0, 1}, {3, 1, 3}, {0, 3, 4}}));
  }
}

TEST(BpeTest, RawBytesAreReadInTheByteAlphabet) {
  const auto model = Make(R"({"type": "BPE", "ignore_merges": true,
      "vocab": {"Ġ": 0, "a": 1, "Ġa": 2, "Ã": 3, "©": 4, "Ã©": 5, "Ġé": 6}, "merges": ["Ã ©", "Ġ a"]})",
                          BpeInput::kRawBytes);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(Cut(**model, " a"), (Pieces{{2, 0, 2}}));
  EXPECT_EQ(Cut(**model, "aé"), (Pieces{{1, 0, 1}, {5, 1, 3}}));
}

/// Merges by the definition: look at every pair, take the lowest rank, leftmost first, start over.
class PlainBpe {
 public:
  std::map<std::string, TokenId> vocab;
  std::vector<std::pair<std::string, std::string>> merges;

  // A random vocabulary over a few letters, some of which no merge joins.
  explicit PlainBpe(std::mt19937& rng) {
    for (const char* letter : {"a", "b", "c", "é", "▁", "?"}) Add(letter);
    for (int i = 0; i < 40; ++i) {
      auto left = std::next(vocab.begin(), static_cast<long>(rng() % vocab.size()))->first;
      auto right = std::next(vocab.begin(), static_cast<long>(rng() % vocab.size()))->first;
      if (left == "?" || right == "?" || right == "▁" || left.size() + right.size() > 12) continue;
      Add(left + right);
      merges.emplace_back(left, right);
    }
  }

  std::string Json() const {
    boost::json::object tokens;
    boost::json::array pairs;
    for (const auto& [text, id] : vocab) tokens[text] = id;
    for (const auto& [left, right] : merges) pairs.push_back({left, right});
    return boost::json::serialize(boost::json::object{
        {"type", "BPE"}, {"unk_token", "?"}, {"vocab", tokens}, {"merges", pairs}});
  }

  Pieces Cut(std::string_view word) const {
    Pieces pieces;
    std::vector<std::string> texts;
    for (std::uint32_t at = 0; at < word.size();) {
      const auto n = DecodeUtf8(word.substr(at)).n_bytes;
      const std::string text(word.substr(at, n));
      const auto found = vocab.find(text);
      texts.push_back(found == vocab.end() ? "?" : text);
      pieces.push_back({vocab.at(texts.back()), at, at + n});
      at += n;
    }
    while (true) {
      std::size_t best_rank = merges.size(), best = 0;
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        // Of a pair that is listed twice the later rank counts.
        for (std::size_t rank = merges.size(); rank-- > 0;) {
          if (merges[rank] != std::pair(texts[i], texts[i + 1])) continue;
          if (rank < best_rank) best_rank = rank, best = i;
          break;
        }
      }
      if (best_rank == merges.size()) return pieces;
      texts[best] += texts[best + 1];
      pieces[best].id = vocab.at(texts[best]);
      pieces[best].end = pieces[best + 1].end;
      texts.erase(texts.begin() + static_cast<long>(best) + 1);
      pieces.erase(pieces.begin() + static_cast<long>(best) + 1);
    }
  }

 private:
  void Add(const std::string& text) { vocab.emplace(text, static_cast<TokenId>(vocab.size())); }
};

TEST(BpeTest, EqualsTheDefinitionOnRandomWords) {
  const std::vector<std::string> letters = {"a", "b", "c", "é", "▁", "a", "b", "x"};
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 rng(seed);
    const PlainBpe plain(rng);
    const auto model = Make(plain.Json());
    ASSERT_TRUE(model) << model.error().message;
    for (int i = 0; i < 60; ++i) {
      std::string word;
      const auto n_letters = 1 + rng() % (i % 6 == 0 ? 150 : 12);
      for (std::size_t k = 0; k < n_letters; ++k) word += letters[rng() % letters.size()];
      SCOPED_TRACE(word);
      ASSERT_EQ(Cut(**model, word), plain.Cut(word));
      ASSERT_EQ(Cut(**model, word), plain.Cut(word));  // Once more, from the cache.
    }
  }
}

TEST(ModelTest, ALongWordTakesNearLinearTime) {
  std::string vocab = R"("a": 0, "##a": 1, "[UNK]": 2)", merges,
              pieces = R"(["<unk>", 0], ["a", -2])";
  std::string run = "a";
  for (int id = 3; id < 9; ++id, run += run) {
    vocab += ", \"" + run + run + "\": " + std::to_string(id);
    merges += (merges.empty() ? "\"" : ", \"") + run + " " + run + "\"";
    pieces += ", [\"" + run + run + "\", -3]";
  }
  const std::string word(std::size_t{1} << 20, 'a');
  for (const std::string& json :
       {R"({"type": "BPE", "vocab": {)" + vocab + "}, \"merges\": [" + merges + "]}",
        R"({"type": "WordPiece", "max_input_chars_per_word": 100000000, "vocab": {)" + vocab + "}}",
        R"({"type": "Unigram", "unk_id": 0, "vocab": [)" + pieces + "]}"}) {
    const auto model = Make(json);
    ASSERT_TRUE(model) << model.error().message;
    const auto begin = std::chrono::steady_clock::now();
    const Pieces cut = Cut(**model, word);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 20.0) << json.substr(0, 30);  // Under sanitizers; squared: hours.
    ASSERT_FALSE(cut.empty());
    EXPECT_EQ(cut.back().end, word.size());
  }
}

TEST(WordCacheTest, GivesBackWhatWasPutIn) {
  WordCache cache(16);
  Pieces pieces;
  EXPECT_FALSE(cache.Find("word", 0, 0, pieces));
  cache.Insert("word", 0, 5, Pieces{{70000, 5, 7}, {3, 7, 9}});
  ASSERT_TRUE(cache.Find("word", 0, 11, pieces));
  EXPECT_EQ(pieces, (Pieces{{70000, 11, 13}, {3, 13, 15}}));
  EXPECT_FALSE(cache.Find("word", 1, 0, pieces));
  EXPECT_FALSE(cache.Find("wore", 0, 0, pieces));
  cache.Insert("gap", 0, 0, Pieces{{1, 0, 1}, {2, 2, 3}});
  EXPECT_FALSE(cache.Find("gap", 0, 0, pieces));
  const std::string longest(WordCache::kMaxWordBytes, 'x');
  cache.Insert(longest, 0, 0, Pieces{{1, 0, 32}});
  EXPECT_TRUE(cache.Find(longest, 0, 0, pieces));
  EXPECT_FALSE(cache.Find(longest + "x", 0, 0, pieces));
}

TEST(WordCacheTest, ThreadsNeverSeeHalfAnEntry) {
  WordCache cache(2);
  std::vector<std::thread> threads;
  std::atomic<int> n_wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &n_wrong, t] {
      std::mt19937 rng(static_cast<unsigned>(t));
      Pieces found;
      for (int i = 0; i < 20000; ++i) {
        // The tokens of a word follow from its letters, so that a mixture shows.
        const auto n = static_cast<std::uint32_t>(1 + rng() % 6);
        const std::string word(n, static_cast<char>('a' + rng() % 20));
        Pieces pieces;
        for (std::uint32_t k = 0; k < n; ++k)
          pieces.push_back({word[k] * 100 + static_cast<int>(n), k, k + 1});
        found.clear();
        if (cache.Find(word, 0, 0, found) && found != pieces) ++n_wrong;
        cache.Insert(word, 0, 0, pieces);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_wrong, 0);
}

}  // namespace
}  // namespace lattice::tokenizers
