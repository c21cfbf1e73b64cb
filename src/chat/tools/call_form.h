#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lattice::chat {

/// How a model writes calls of tools.
enum class CallForm {
  kHermes,   ///< <tool_call>{"name": ..., "arguments": {...}}</tool_call>: Qwen 2.5 and 3, Hermes
  kXml,      ///< <tool_call><function=NAME><parameter=KEY>TEXT</parameter></function></tool_call>
  kLlama,    ///< {"name": ..., "parameters": {...}} as the whole answer: Llama 3
  kGemma,    ///< <|tool_call>call:NAME{key:<|"|>text<|"|>}<tool_call|>: Gemma 4
  kMistral,  ///< [TOOL_CALLS][{...}], or [TOOL_CALLS]NAME[ARGS]{...}
};

/// The form that a template's text speaks of. Absent: it shows no tools, or the model calls them in
/// a way that nobody here reads.
std::optional<CallForm> FindCallForm(std::string_view template_source);

/// Texts that may begin calls in an answer, with what else marks them: the tokens of this name are
/// to be shown although they may be control tokens.
std::vector<std::string> CallMarkers(CallForm form);

}  // namespace lattice::chat
