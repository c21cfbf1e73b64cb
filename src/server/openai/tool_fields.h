#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>

#include "server/openai/field_reader.h"

namespace lattice::server {

/// What a request says about tools.
struct ToolFields {
  std::optional<boost::json::array> tools;  ///< Checked; absent: none may be called.
  bool parallel = true;                     ///< More than one call in an answer.
  /// "required", or a tool's name: the answer is one call in JSON, as this grammar in GBNF says.
  std::optional<std::string> call_grammar;
};

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`; complaints are in the reader. With
/// "tool_choice": "none" tools are left out. A tool without parameters gets an empty schema.
///
/// can_call  whether the model's calls can be read.
ToolFields ReadToolFields(FieldReader& reader, bool can_call);

}  // namespace lattice::server
