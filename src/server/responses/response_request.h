#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/http/api_error.h"
#include "server/responses/response_store.h"

namespace lattice::server {

/// The body of /v1/responses.
struct ResponseRequest {
  boost::json::object chat;         ///< As a body of chat/completions.
  boost::json::array conversation;  ///< Its messages without the instructions: what is stored.
  boost::json::object echo;         ///< Members that the response repeats.
  bool store = true;
};

/// 400 names the field; an id that `store` does not know is one.
ApiResult<ResponseRequest> ReadResponseRequest(const boost::json::object& body,
                                               ResponseStore& store);

}  // namespace lattice::server
