#include "chat/chat_prompt.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lattice::chat {
namespace {

Result<std::vector<TokenId>> Encode(const RenderedPrompt& prompt,
                                    const tokenizers::Tokenizer& tokenizer) {
  std::vector<tokenizers::ByteRange> plain;
  for (const auto& range : prompt.user_ranges) plain.push_back({range.begin, range.end});
  tokenizers::EncodeOptions options;
  options.add_special_tokens = false;  // the template says them
  options.plain_ranges = plain;
  LATTICE_TRY(tokenizers::Encoding encoding, tokenizer.Encode(prompt.text, options));
  return std::move(encoding.ids);
}

}  // namespace

ChatFormat MakeChatFormat(ChatTemplate chat_template, const tokenizers::Tokenizer& tokenizer) {
  ChatFormat format{std::move(chat_template)};
  const std::string& source = format.chat_template.source();
  format.markers = FindReasoningMarkers(source);
  format.knows_developer = source.find("developer") != source.npos;
  format.calls = FindCallForm(source);
  format.short_call_ids = source.find("|length != 9") != source.npos;
  const auto add = [&](const std::vector<std::string>& tokens, std::vector<TokenId>& ids) {
    for (const std::string& token : tokens) {
      if (const auto id = tokenizer.Find(token)) ids.push_back(*id);
    }
  };
  if (format.markers) add(format.markers->tokens, format.marker_tokens);
  if (format.calls) add(CallMarkers(*format.calls), format.call_tokens);
  return format;
}

Result<ThinkingTokens> FindThinkingTokens(const ChatFormat& format,
                                          const tokenizers::Tokenizer& tokenizer) {
  if (!format.markers) return Error{ErrorCode::kUnsupported, "this model does not think"};
  const auto close = tokenizer.Find(format.markers->close);
  if (!close) {
    return Error{ErrorCode::kUnsupported, "this model cannot be given a thinking budget: '" +
                                              format.markers->close + "' is not one of its tokens"};
  }
  tokenizers::EncodeOptions options;
  options.add_special_tokens = false;
  LATTICE_TRY(auto open, tokenizer.Encode(format.markers->open, options));
  LATTICE_TRY(auto closing, tokenizer.Encode(format.markers->closing, options));
  return ThinkingTokens{std::move(open.ids), std::move(closing.ids), *close};
}

Result<ChatPrompt> MakeChatPrompt(const ChatFormat& format, const tokenizers::Tokenizer& tokenizer,
                                  const Conversation& conversation, const RenderOptions& options,
                                  bool with_boundaries) {
  LATTICE_TRY(const RenderedPrompt rendered, format.chat_template.Render(conversation, options));
  ChatPrompt prompt;
  LATTICE_TRY(prompt.ids, Encode(rendered, tokenizer));
  prompt.opens_reasoning = format.markers && OpensReasoning(rendered, *format.markers);
  if (!with_boundaries || !options.add_generation_prompt) return prompt;
  // A next turn has the same messages, but something else where this answer begins.
  RenderOptions messages_only = options;
  messages_only.add_generation_prompt = false;
  const auto shorter = format.chat_template.Render(conversation, messages_only);
  if (!shorter) return prompt;  // Some templates want the beginning of an answer.
  LATTICE_TRY(const std::vector<TokenId> ids, Encode(*shorter, tokenizer));
  const auto differs = std::ranges::mismatch(ids, prompt.ids);
  const auto n_common = static_cast<std::size_t>(differs.in1 - ids.begin());
  if (n_common > 0) prompt.boundaries.push_back(n_common);
  return prompt;
}

}  // namespace lattice::chat
