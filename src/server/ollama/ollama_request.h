#pragma once

#include <boost/json/object.hpp>

#include "server/http/api_error.h"

namespace lattice::server {

/// Bodies of Ollama's /api/chat and /api/generate as bodies of chat/completions. Ollama's messages
/// have no ids of calls: a result is that of the first call before it that has none, or of the
/// first of its name. Both stream unless they say otherwise.
ApiResult<boost::json::object> ChatBodyOfOllamaChat(const boost::json::object& body);
ApiResult<boost::json::object> ChatBodyOfOllamaGenerate(const boost::json::object& body);

/// The model's name without the tag ":latest".
std::string OllamaModelName(std::string_view name);

/// Whether such a request only wants its model loaded: no messages, or no prompt.
bool OnlyLoads(const boost::json::object& body);

}  // namespace lattice::server
