#include <boost/json/serialize.hpp>
#include <utility>

#include "server/anthropic/messages_request.h"
#include "server/anthropic/messages_writer.h"
#include "server/openai/service.h"

namespace lattice::server {

void Service::Messages(const ExchangePtr& exchange) {
  if (const auto error = StartMessages(exchange)) {
    exchange->Reply(MessagesFailure(*error, exchange->id()));
  }
}

std::optional<ApiError> Service::StartMessages(const ExchangePtr& exchange) {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange->request().body));
  LATTICE_TRY(const boost::json::object chat, ChatBodyOfMessages(body, /*counts_only=*/false));
  const ChatRoute route{
      .id_prefix = "msg_",
      .call_prefix = "toolu_",
      .make_writer = [id = exchange->id()](const ChatStart& start) -> std::unique_ptr<ChatWriter> {
        return std::make_unique<MessagesWriter>(start.head, id, start.n_prompt);
      }};
  return StartChat(exchange, chat, route);
}

void Service::CountTokens(const ExchangePtr& exchange) {
  const auto count = CountOfTokens(*exchange);
  if (!count) return exchange->Reply(MessagesFailure(count.error(), exchange->id()));
  exchange->Reply({.headers = {{"request-id", exchange->id()}},
                   .body = boost::json::serialize(boost::json::object{{"input_tokens", *count}})});
}

ApiResult<std::size_t> Service::CountOfTokens(const Exchange& exchange) const {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange.request().body));
  LATTICE_TRY(const boost::json::object chat, ChatBodyOfMessages(body, /*counts_only=*/true));
  LATTICE_TRY(const PreparedChat prepared, PrepareChat(chat));
  return prepared.prompt.ids.size();
}

}  // namespace lattice::server
