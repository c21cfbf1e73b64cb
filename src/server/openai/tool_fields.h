#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>

#include "server/openai/chat_messages.h"
#include "server/openai/field_reader.h"

namespace lattice::server {

/// What a request says about tools.
struct ToolFields {
  std::optional<boost::json::array> tools;  ///< Checked; absent: none may be called.
  bool parallel = true;                     ///< More than one call in an answer.
  bool must_call = false;  ///< "required", or a tool's name: the answer is one call in JSON.
  /// What calls are held to (grammar/json_schema/tool_calls.h); absent: nothing.
  std::optional<std::string> calls;
};

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`; complaints are in the reader. With
/// "tool_choice": "none" tools are left out. A tool without parameters gets an empty schema. Calls
/// are held to the tools where one is required, and where a strict tool is offered.
ToolFields ReadToolFields(FieldReader& reader, const ChatAbilities& abilities);

}  // namespace lattice::server
