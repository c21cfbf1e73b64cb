#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/token_id.h"
#include "chat/chat_template.h"
#include "chat/message.h"
#include "chat/reasoning.h"
#include "chat/tools/call_form.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::chat {

/// How a model's conversations look.
struct ChatFormat {
  ChatTemplate chat_template;
  std::optional<ReasoningMarkers> markers = {};
  std::vector<TokenId> marker_tokens = {};  ///< That the markers are made of.
  bool knows_developer = false;             ///< The template handles the role "developer" itself.
  std::optional<CallForm> calls = {};       ///< How tools are called, if they can be.
  std::vector<TokenId> call_tokens = {};    ///< That mark calls.
  bool short_call_ids = false;              ///< Ids of calls must be 9 letters or digits.
};
ChatFormat MakeChatFormat(ChatTemplate chat_template, const tokenizers::Tokenizer& tokenizer);

/// The tokens around a model's thinking. kUnsupported unless what ends it is a single token, or
/// when the model does not think.
struct ThinkingTokens {
  std::vector<TokenId> open, closing;
  TokenId close = -1;
};
Result<ThinkingTokens> FindThinkingTokens(const ChatFormat& format,
                                          const tokenizers::Tokenizer& tokenizer);

/// A conversation as a model reads it.
struct ChatPrompt {
  std::vector<TokenId> ids;
  bool opens_reasoning = false;  ///< It ends inside of thinking: see OpensReasoning.
  /// Where a later prompt of the same conversation may part from this one.
  std::vector<std::size_t> boundaries;
};

/// Renders and tokenises. Control tokens in what users typed stay text. Errors as
/// ChatTemplate::Render.
///
/// with_boundaries  asks for them; it takes a second rendering.
Result<ChatPrompt> MakeChatPrompt(const ChatFormat& format, const tokenizers::Tokenizer& tokenizer,
                                  const Conversation& conversation, const RenderOptions& options,
                                  bool with_boundaries);

}  // namespace lattice::chat
