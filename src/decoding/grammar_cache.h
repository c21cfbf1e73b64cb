#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "grammar/automaton.h"
#include "grammar/grammar.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::decoding {

enum class GrammarKind {
  kRegex,       ///< grammar/regex.h; the whole text must match.
  kGbnf,        ///< grammar/gbnf.h
  kJsonSchema,  ///< grammar/json_schema
  kToolCalls,   ///< grammar/json_schema/tool_calls.h
};

/// What a text is to be held to, as its user wrote it.
struct GrammarText {
  GrammarKind kind = GrammarKind::kRegex;
  std::string text;
  std::uint32_t max_whitespace = 0;  ///< Of JSON: characters at each place where some may stand.
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees one in a defaulted comparison.
  friend auto operator<=>(const GrammarText&, const GrammarText&) = default;
};

/// The schema of any JSON object.
inline constexpr std::string_view kAnyObjectSchema = R"({"type":"object"})";

/// One of a few texts.
GrammarText ChoiceGrammar(const std::vector<std::string>& choices);

/// The grammar alone, without a vocabulary. Errors as those of its parser.
Result<std::shared_ptr<const grammar::Grammar>> CompileGrammar(const GrammarText& text);

/// The text that each token of a model adds, as masks need it: special tokens, and ids that are
/// unused or above the tokenizer's, have none. But special ones of `marks` have their name behind
/// grammar::kControlByte, so only grammars that ask for them by it let them come.
std::shared_ptr<const grammar::Vocabulary> MakeVocabulary(const tokenizers::Tokenizer& tokenizer,
                                                          std::size_t n_tokens,
                                                          std::span<const TokenId> marks = {});

/// Compiled grammars of one model by their text. Used by any number of threads; compiling is done
/// in the one that asks, and must not be the one that decodes.
class GrammarCache {
 public:
  /// n_tokens   ids below it can be drawn.
  /// marks      tokens that may mark calls of tools.
  /// max_bytes  of grammars that are kept; those in use live on without it.
  GrammarCache(std::shared_ptr<const tokenizers::Tokenizer> tokenizer, std::size_t n_tokens,
               std::vector<TokenId> marks = {}, std::size_t max_bytes = std::size_t{256} << 20);

  /// Errors as CompileGrammar's.
  Result<std::shared_ptr<grammar::Automaton>> Get(const GrammarText& text);

 private:
  struct Entry {
    std::shared_ptr<const grammar::Grammar> grammar;
    std::shared_ptr<grammar::Automaton> automaton;
    std::uint64_t last_use = 0;
  };
  std::shared_ptr<const grammar::Vocabulary> vocabulary();
  void DropOldest();

  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::size_t n_tokens_;
  std::vector<TokenId> marks_;
  std::size_t max_bytes_;
  std::once_flag vocabulary_made_;
  std::shared_ptr<const grammar::Vocabulary> vocabulary_;
  std::mutex mutex_;
  std::map<GrammarText, Entry> entries_;
  std::uint64_t n_uses_ = 0;
};

}  // namespace lattice::decoding
