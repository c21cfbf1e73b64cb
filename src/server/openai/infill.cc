#include "server/openai/infill.h"

#include <utility>

namespace lattice::server {
namespace {

constexpr const char* kTriples[][3] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
};
/// What models say when the middle is complete and another file would begin.
constexpr const char* kEnds[] = {
    "<|endoftext|>",      "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
    "<|file_separator|>", "<fim_pad>",   "<file_sep>",    "▁<EOT>"};

}  // namespace

std::optional<InfillTokens> FindInfillTokens(const tokenizers::Tokenizer& tokenizer) {
  for (const auto& [prefix, suffix, middle] : kTriples) {
    const auto a = tokenizer.Find(prefix), b = tokenizer.Find(suffix), c = tokenizer.Find(middle);
    if (!a || !b || !c) continue;
    InfillTokens tokens{.prefix = *a, .suffix = *b, .middle = *c, .ends = {*a, *b, *c}};
    for (const char* end : kEnds) {
      if (const auto id = tokenizer.Find(end)) tokens.ends.push_back(*id);
    }
    return tokens;
  }
  return std::nullopt;
}

Result<std::vector<TokenId>> InfillPrompt(const InfillTokens& tokens,
                                          std::span<const TokenId> before,
                                          std::span<const TokenId> after,
                                          const tokenizers::Tokenizer& tokenizer) {
  LATTICE_TRY(auto begin, tokenizer.Encode("", {}));
  std::vector<TokenId> ids = std::move(begin.ids);
  ids.push_back(tokens.prefix);
  ids.insert(ids.end(), before.begin(), before.end());
  ids.push_back(tokens.suffix);
  ids.insert(ids.end(), after.begin(), after.end());
  ids.push_back(tokens.middle);
  return ids;
}

}  // namespace lattice::server
