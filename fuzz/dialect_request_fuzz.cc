#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lattice/check.h"
#include "server/anthropic/messages_request.h"
#include "server/ollama/ollama_request.h"
#include "server/openai/chat_request.h"
#include "server/openai/field_reader.h"
#include "server/responses/response_request.h"

namespace {

namespace server = lattice::server;

/// What a dialect's reader lets through is for the reader of chat/completions to judge.
void Check(const server::ApiResult<boost::json::object>& chat) {
  if (!chat) {
    LATTICE_CHECK(chat.error().status == 400 && !chat.error().message.empty());
    return;
  }
  const auto request = server::ReadChatRequest(
      *chat, 1000, {.calls = lattice::chat::CallForm::kHermes, .short_call_ids = true});
  LATTICE_CHECK(request || (request.error().status == 400 && !request.error().message.empty()));
}

}  // namespace

/// Any body of any dialect is a request or the client's error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto body = server::ParseBody({reinterpret_cast<const char*>(data), size});
  if (!body) return 0;
  Check(server::ChatBodyOfMessages(*body, /*counts_only=*/false));
  Check(server::ChatBodyOfMessages(*body, /*counts_only=*/true));
  Check(server::ChatBodyOfOllamaChat(*body));
  Check(server::ChatBodyOfOllamaGenerate(*body));
  (void)server::OnlyLoads(*body);
  server::ResponseStore store(4, 1000);
  const boost::json::object said{{"role", "user"}, {"content", "b"}};
  store.Put("a", {.messages = {said}, .json = {}});
  auto response = server::ReadResponseRequest(*body, store);
  if (!response) {
    LATTICE_CHECK(response.error().status == 400 && !response.error().message.empty());
  } else {
    LATTICE_CHECK(!response->conversation.empty() || response->chat.contains("messages"));
    Check(response->chat);
  }
  return 0;
}
