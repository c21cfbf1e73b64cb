#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/limits.h"
#include "chat/jinja/template.h"
#include "chat/jinja/text.h"
#include "chat/message.h"
#include "lattice/result.h"

namespace lattice::chat {

/// Names and texts of special tokens, as templates read them: {"bos_token", "<s>"}, ...
using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

/// A prompt, and which of its bytes come from messages, tools and kwargs. A control token must be
/// recognised only where it lies outside of all these ranges: what a user types stays text.
struct RenderedPrompt {
  std::string text;
  std::vector<ByteRange> user_ranges;  ///< Ascending, neither empty nor touching.
};

struct RenderOptions {
  /// Ends with the beginning of the model's answer.
  bool add_generation_prompt = true;
  /// The last message is the beginning of an answer that the model goes on with: the prompt ends
  /// with its text. Not together with add_generation_prompt.
  bool continue_final = false;
  /// Shows the template arguments of tool calls as objects where a message has them as JSON in a
  /// string: so OpenAI's clients send them, and hardly a template takes them.
  bool parse_arguments = false;
  /// Absent: as the template does by itself.
  std::optional<bool> enable_thinking{};
  /// Further variables (reasoning_effort, documents, date_string, ...). Names that the template's
  /// own environment defines are refused.
  boost::json::object kwargs{};
  /// What strftime_now sees; absent: this machine's clock and time zone.
  std::optional<jinja::CivilTime> now{};
};

/// A model's chat template. Immutable: threads may share it.
class ChatTemplate {
 public:
  /// kCorruptData, kUnsupported, kResourceExhausted: "chat template: line N: ...".
  static Result<ChatTemplate> Compile(std::string_view source, SpecialTokens special_tokens,
                                      const jinja::Limits& limits = {});

  /// For models that have none: ChatML. Each message is "<|im_start|>ROLE\nTEXT<|im_end|>\n"; texts
  /// of parts are joined, tools stand as JSON lines at the end of the system message, calls and
  /// their results as JSON in <tool_call> and <tool_response> tags.
  static ChatTemplate Fallback(SpecialTokens special_tokens);

  /// The prompt of a conversation. Variables: messages, tools, documents (none unless given),
  /// add_generation_prompt, enable_thinking if set, the special tokens, kwargs.
  ///
  /// Errors  kInvalidArgument: what the template itself says by raise_exception, word for word; or
  ///         "chat template: line N: ..." for data that it cannot handle; or a reserved name in
  ///         kwargs. kResourceExhausted: a limit.
  Result<RenderedPrompt> Render(const Conversation& conversation,
                                const RenderOptions& options) const;

  const std::string& source() const { return source_; }

 private:
  ChatTemplate(jinja::Template compiled, std::string source, SpecialTokens special_tokens)
      : template_(std::move(compiled)),
        source_(std::move(source)),
        special_tokens_(std::move(special_tokens)) {}

  Status AddKwargs(const boost::json::object& kwargs, jinja::Variables& variables) const;

  jinja::Template template_;
  std::string source_;
  SpecialTokens special_tokens_;
};

/// "2026-01-15T12:34:56" (a date and a time, no zone), or kInvalidArgument.
Result<jinja::CivilTime> ParseCivilTime(std::string_view text);

}  // namespace lattice::chat
