#include <cstddef>
#include <cstdint>
#include <string_view>

#include "decoding/sampling_options.h"
#include "lattice/check.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_request.h"
#include "server/openai/field_reader.h"

/// What is accepted is in the ranges that the engine asks for; what is not is an error of the
/// client's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kVocab = 1000;
  namespace server = lattice::server;
  const auto body = server::ParseBody({reinterpret_cast<const char*>(data), size});
  if (!body) {
    LATTICE_CHECK(body.error().status == 400);
    return 0;
  }
  const auto check = [&](const server::GenerationFields& fields) {
    const auto options = server::OptionsFor(fields, {}, 1, 0);
    LATTICE_CHECK(lattice::decoding::CheckSamplingOptions(options.sampling, kVocab));
    LATTICE_CHECK(fields.n >= 1 && fields.n <= 128);
  };
  if (const auto chat = server::ReadChatRequest(
          *body, kVocab, {.calls = lattice::chat::CallForm::kHermes, .short_call_ids = true})) {
    LATTICE_CHECK(!chat->conversation.messages.empty());
    check(chat->generation);
  } else {
    LATTICE_CHECK(chat.error().status == 400 && !server::ErrorBody(chat.error()).empty());
  }
  if (const auto completion = server::ReadCompletionRequest(*body, kVocab, kVocab)) {
    LATTICE_CHECK(!completion->prompts.empty());
    check(completion->generation);
  }
  return 0;
}
