#include <utility>

#include "server/openai/service.h"
#include "server/responses/response_request.h"
#include "server/responses/response_writer.h"

namespace lattice::server {

void Service::Respond(const ExchangePtr& exchange) {
  if (const auto error = StartResponse(exchange)) exchange->Reply(ErrorResponse(*error));
}

std::optional<ApiError> Service::StartResponse(const ExchangePtr& exchange) {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange->request().body));
  LATTICE_TRY(ResponseRequest request, ReadResponseRequest(body, *responses_));
  const ChatRoute route{
      .id_prefix = "resp_",
      .call_prefix = "call_",
      .make_writer = [this, &request](const ChatStart& start) -> std::unique_ptr<ChatWriter> {
        std::function<void(boost::json::object)> keep;
        if (request.store) {
          keep = [store = responses_, id = start.head.id,
                  conversation = request.conversation](boost::json::object message) mutable {
            conversation.push_back(std::move(message));
            store->Put(id, std::move(conversation));
          };
        }
        return std::make_unique<ResponseWriter>(start.head, request.echo, std::move(keep));
      }};
  return StartChat(exchange, request.chat, route);
}

}  // namespace lattice::server
