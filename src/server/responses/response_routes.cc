#include <boost/json/serialize.hpp>
#include <utility>

#include "server/openai/service.h"
#include "server/responses/response_request.h"
#include "server/responses/response_writer.h"

namespace lattice::server {
namespace {

/// The last part of "/responses/{id}".
std::string IdOf(const Exchange& exchange) {
  constexpr std::string_view kFolder = "/responses/";
  return std::string(ShortPath(exchange.request().path).substr(kFolder.size()));
}

ApiError Unknown() {
  return {.status = 404,
          .message = "this response is not known, or no longer",
          .param = "response_id",
          .code = "response_not_found"};
}

}  // namespace

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
        ResponseWriter::KeepAnswer keep;
        if (request.store) {
          keep = [store = responses_, id = start.head.id, conversation = request.conversation](
                     boost::json::object message, std::string json) mutable {
            conversation.push_back(std::move(message));
            store->Put(id, {.messages = std::move(conversation), .json = std::move(json)});
          };
        }
        return std::make_unique<ResponseWriter>(start.head, request.echo, std::move(keep));
      }};
  return StartChat(exchange, request.chat, route);
}

void Service::ShowResponse(const ExchangePtr& exchange) {
  const auto kept = responses_->Get(IdOf(*exchange));
  if (kept == nullptr) return exchange->Reply(ErrorResponse(Unknown()));
  exchange->Reply({.body = kept->json});
}

void Service::DeleteResponse(const ExchangePtr& exchange) {
  const std::string id = IdOf(*exchange);
  if (!responses_->Delete(id)) return exchange->Reply(ErrorResponse(Unknown()));
  exchange->Reply({.body = boost::json::serialize(boost::json::object{
                       {"id", id}, {"object", "response"}, {"deleted", true}})});
}

}  // namespace lattice::server
