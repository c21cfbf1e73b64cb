#pragma once

#include <boost/json/object.hpp>

#include "server/http/api_error.h"

namespace lattice::server {

/// The code of the error by which clients know to send whole conversations again.
inline constexpr const char* kNoThreads = "thread_unsupported_request";

/// The body of Anthropic's /v1/messages as a body of chat/completions. What is wrong with a value
/// that both have (temperature, top_p, ...) is left for the reader of that body to say.
///
/// counts_only  of count_tokens: max_tokens may be missing.
ApiResult<boost::json::object> ChatBodyOfMessages(const boost::json::object& body,
                                                  bool counts_only);

}  // namespace lattice::server
