#include "decoding/grammar_cache.h"

#include <algorithm>

#include "grammar/gbnf.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/json_schema/tool_calls.h"
#include "grammar/regex.h"

namespace lattice::decoding {
namespace {

// An automaton that has grown past this is left to its texts, and the next one begins anew.
constexpr std::size_t kMaxAutomatonBytes = std::size_t{64} << 20;

Result<std::shared_ptr<const grammar::Grammar>> CompileRegex(std::string_view pattern) {
  grammar::GrammarBuilder builder;
  LATTICE_TRY(const grammar::Expr e, grammar::ParseRegex(pattern, builder));
  const auto start = builder.Terminal(e);
  return std::move(builder).Build(start);
}

}  // namespace

GrammarText ChoiceGrammar(const std::vector<std::string>& choices) {
  GrammarText grammar;
  for (const std::string& choice : choices) {
    if (!grammar.text.empty() || &choice != choices.data()) grammar.text += '|';
    for (const char c : choice) {
      const bool is_special = std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos;
      if (is_special) grammar.text += '\\';
      grammar.text += c;
    }
  }
  return grammar;
}

Result<std::shared_ptr<const grammar::Grammar>> CompileGrammar(const GrammarText& text) {
  switch (text.kind) {
    case GrammarKind::kRegex:
      return CompileRegex(text.text);
    case GrammarKind::kGbnf:
      return grammar::ParseGbnf(text.text);
    case GrammarKind::kToolCalls:
      return grammar::CompileToolCalls(text.text);
    case GrammarKind::kJsonSchema:
      return grammar::CompileJsonSchemaText(text.text, {.max_whitespace = text.max_whitespace});
  }
  return Error{ErrorCode::kInternal, "no such kind of grammar"};
}

std::shared_ptr<const grammar::Vocabulary> MakeVocabulary(const tokenizers::Tokenizer& tokenizer,
                                                          std::size_t n_tokens,
                                                          std::span<const TokenId> marks) {
  std::vector<std::string> tokens(n_tokens);
  const std::size_t n = std::min(n_tokens, tokenizer.vocab_size());
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.IsSpecial(id)) continue;
    auto bytes = tokenizer.TokenBytes(id);
    // The byte of control tokens comes in no text.
    if (bytes && bytes->find(grammar::kControlByte) == bytes->npos) tokens[i] = *std::move(bytes);
  }
  for (const TokenId id : marks) {
    const auto name = tokenizer.TokenText(id);
    if (static_cast<std::size_t>(id) >= n || !name || !tokenizer.IsSpecial(id)) continue;
    tokens[static_cast<std::size_t>(id)] = grammar::kControlByte + std::string(*name);
  }
  return std::make_shared<const grammar::Vocabulary>(std::move(tokens));
}

GrammarCache::GrammarCache(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                           std::size_t n_tokens, std::vector<TokenId> marks, std::size_t max_bytes)
    : tokenizer_(std::move(tokenizer)),
      n_tokens_(n_tokens),
      marks_(std::move(marks)),
      max_bytes_(max_bytes) {}

std::shared_ptr<const grammar::Vocabulary> GrammarCache::vocabulary() {
  std::call_once(vocabulary_made_,
                 [this] { vocabulary_ = MakeVocabulary(*tokenizer_, n_tokens_, marks_); });
  return vocabulary_;
}

Result<std::shared_ptr<grammar::Automaton>> GrammarCache::Get(const GrammarText& text) {
  std::shared_ptr<const grammar::Grammar> compiled;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = entries_.find(text); at != entries_.end()) {
      Entry& entry = at->second;
      entry.last_use = ++n_uses_;
      const bool is_spent =
          entry.automaton->has_failed() || entry.automaton->n_bytes() > kMaxAutomatonBytes;
      if (!is_spent) return entry.automaton;
      compiled = entry.grammar;
    }
  }
  if (compiled == nullptr) {
    LATTICE_TRY(compiled, CompileGrammar(text));
  }
  auto automaton = std::make_shared<grammar::Automaton>(compiled, vocabulary());
  const std::lock_guard lock(mutex_);
  entries_[text] = {std::move(compiled), automaton, ++n_uses_};
  DropOldest();
  return automaton;
}

void GrammarCache::DropOldest() {
  std::size_t n_bytes = 0;
  for (const auto& [text, entry] : entries_) {
    n_bytes += text.text.size() + entry.grammar->n_bytes() + entry.automaton->n_bytes();
  }
  while (n_bytes > max_bytes_ && entries_.size() > 1) {
    const auto oldest = std::ranges::min_element(
        entries_, {}, [](const auto& entry) { return entry.second.last_use; });
    const Entry& entry = oldest->second;
    n_bytes -= oldest->first.text.size() + entry.grammar->n_bytes() + entry.automaton->n_bytes();
    entries_.erase(oldest);
  }
}

}  // namespace lattice::decoding
