#include "apps/chat_session.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "apps/structure_flags.h"
#include "base/files.h"
#include "base/json.h"
#include "decoding/grammar_mask.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

std::filesystem::path StateFile(const std::filesystem::path& file) {
  return std::filesystem::path(file) += ".state";
}

Result<std::vector<TokenId>> ReadIds(const JsonView& json) {
  LATTICE_TRY(const std::vector<JsonView> items, json.Array());
  std::vector<TokenId> ids;
  for (const JsonView& item : items) {
    LATTICE_TRY(const std::int64_t id, item.Int(0, std::numeric_limits<TokenId>::max()));
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

}  // namespace

ChatSession::ChatSession(TextEngine& engine, chat::ChatTemplate chat_template)
    : engine_(engine),
      format_(chat::MakeChatFormat(std::move(chat_template), *engine.model->tokenizer)) {}

std::optional<std::string> ChatSession::system() const {
  const auto& messages = conversation_.messages;
  if (messages.empty() || messages[0].role() != "system") return std::nullopt;
  return messages[0].text();
}

void ChatSession::SetSystem(std::string_view text) {
  auto& messages = conversation_.messages;
  if (system()) messages.erase(messages.begin());
  if (!text.empty()) messages.insert(messages.begin(), chat::Message::System(text));
}

chat::RenderOptions ChatSession::Rendering() const {
  chat::RenderOptions options;
  options.enable_thinking = thinking_.enabled;
  return options;
}

Result<std::optional<engine::ThinkingLimit>> ChatSession::Limit(bool begins_inside) const {
  if (!thinking_.budget || !format_.markers) return std::optional<engine::ThinkingLimit>();
  LATTICE_TRY(chat::ThinkingTokens tokens,
              chat::FindThinkingTokens(format_, *engine_.model->tokenizer));
  engine::ThinkingLimit limit;
  limit.max_tokens = *thinking_.budget;
  limit.open = std::move(tokens.open);
  limit.close = tokens.close;
  limit.begins_inside = begins_inside;
  limit.closing = std::move(tokens.closing);
  return std::optional(std::move(limit));
}

Result<std::shared_ptr<decoding::LogitMask>> ChatSession::Mask(bool begins_inside) const {
  if (structure_ == nullptr) return std::shared_ptr<decoding::LogitMask>();
  std::optional<decoding::ThinkingMarks> marks;
  if (format_.markers) {
    if (format_.markers->channels) {
      return Error{ErrorCode::kUnsupported,
                   "the answers of a model that speaks in channels cannot be held to a grammar"};
    }
    LATTICE_TRY(marks, decoding::FindThinkingMarks(*engine_.model->tokenizer, format_.markers->open,
                                                   format_.markers->close, begins_inside,
                                                   thinking_.enabled.value_or(true)));
  }
  return std::shared_ptr<decoding::LogitMask>(std::make_shared<decoding::GrammarMask>(
      structure_, engine_.model->tokenizer, EndTokens(generation_, *engine_.model), marks));
}

Result<ChatTurn> ChatSession::Answer(const std::stop_token& stop, ChatSink sink) {
  LATTICE_TRY(const chat::ChatPrompt prompt,
              chat::MakeChatPrompt(format_, *engine_.model->tokenizer, conversation_, Rendering(),
                                   /*with_boundaries=*/false));
  engine::GenerationOptions options = generation_;
  options.stop = stop;
  options.shown_special = format_.marker_tokens;  // to be split off here
  LATTICE_TRY(options.thinking, Limit(prompt.opens_reasoning));
  LATTICE_TRY(options.mask, Mask(prompt.opens_reasoning));
  ChatTurn turn;
  chat::ReasoningSplitter splitter(format_.markers, prompt.opens_reasoning);
  const auto take = [&](const chat::SplitText& split) {
    turn.text += split.answer;
    turn.reasoning += split.reasoning;
    return split.answer.empty() && split.reasoning.empty() ? Ok()
                                                           : sink({split.answer, split.reasoning});
  };
  const auto show = [&](const engine::GeneratedToken& token) {
    return take(splitter.Push(token.text));
  };
  LATTICE_TRY(const engine::Generation generation,
              engine_.generator->Run(prompt.ids, options, *engine_.context, show));
  LATTICE_TRY_VOID(take(splitter.Finish()));
  turn.finish = generation.finish;
  turn.usage = generation.usage;
  conversation_.messages.push_back(chat::Message::Assistant(turn.text, turn.reasoning));
  return turn;
}

Result<ChatTurn> ChatSession::Ask(std::string_view message, const std::stop_token& stop,
                                  ChatSink sink) {
  conversation_.messages.push_back(chat::Message::User(message));
  auto turn = Answer(stop, sink);
  if (!turn) conversation_.messages.pop_back();
  return turn;
}

Result<ChatTurn> ChatSession::Retry(const std::stop_token& stop, ChatSink sink) {
  auto& messages = conversation_.messages;
  if (messages.empty() || messages.back().role() != "assistant") {
    return Error{ErrorCode::kInvalidArgument, "there is no answer to retry"};
  }
  const chat::Message last = messages.back();
  messages.pop_back();
  ++generation_.sampling.seed;
  auto turn = Answer(stop, sink);
  if (!turn) messages.push_back(last);
  return turn;
}

bool ChatSession::Undo() {
  auto& messages = conversation_.messages;
  const auto last_user =
      std::ranges::find_if(messages.rbegin(), messages.rend(),
                           [](const chat::Message& message) { return message.role() == "user"; });
  if (last_user == messages.rend()) return false;
  messages.erase(std::prev(last_user.base()), messages.end());
  return true;
}

Status ChatSession::Continue(const chat::Conversation& conversation) {
  chat::Conversation asked = conversation;
  asked.messages.push_back(chat::Message::User("And then?"));
  LATTICE_TRY_VOID(format_.chat_template.Render(asked, Rendering()));
  conversation_ = conversation;
  return Ok();
}

void ChatSession::Reset() {
  const auto kept = system();
  conversation_.messages.clear();
  if (kept) SetSystem(*kept);
  engine_.context->Reset();
}

Status ChatSession::Save(const std::filesystem::path& file) const {
  boost::json::array messages;
  for (const chat::Message& message : conversation_.messages) messages.push_back(message.json());
  const std::span<const TokenId> ids = engine_.context->ids();
  const boost::json::object json = {{"model", engine_.model->name},
                                    {"messages", std::move(messages)},
                                    {"read", boost::json::array(ids.begin(), ids.end())}};
  LATTICE_TRY_VOID(WriteFileAtomically(file, boost::json::serialize(json) + "\n"));
  return engine_.context->Save(StateFile(file));
}

Status ChatSession::Load(const std::filesystem::path& file, std::string& remark) {
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxFileBytes));
  auto parsed = ParseJson(text);
  if (!parsed) return std::move(parsed).error().Within(file.string());
  const JsonView json(*parsed, file.string() + ": ");
  LATTICE_TRY(chat::Conversation loaded, chat::ConversationFromJson(json));
  std::vector<TokenId> ids;
  if (const auto read = json.Find("read")) {
    LATTICE_TRY(ids, ReadIds(*read));
  }
  conversation_ = std::move(loaded);
  engine_.context->Reset();
  if (ids.empty()) return Ok();
  const Status state = engine_.context->Load(StateFile(file), std::move(ids));
  if (!state) remark = "the conversation will be read anew: " + state.error().message;
  return Ok();
}

std::size_t ChatSession::n_read() const { return engine_.context->ids().size(); }
std::size_t ChatSession::n_context() const { return engine_.context->max_tokens(); }

}  // namespace lattice::apps
