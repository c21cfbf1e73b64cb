#pragma once

#include <memory>
#include <string_view>

#include "grammar/grammar.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// Texts that call tools, or may. What is offered is a JSON document:
///
///     {"form": FORM, "parallel": BOOL,
///      "tools": [{"name": TEXT, "parameters": SCHEMA, "strict": BOOL}, ...]}
///
/// FORM  "call": one call and nothing else, {"name": NAME, "arguments": {...}};
///       "hermes": any text, and behind it calls between <tool_call> and </tool_call>;
///       "llama": {"name": NAME, "parameters": {...}}, or any text that does not begin as one.
/// Unless it is parallel, there is at most one call. Arguments are a JSON object that `parameters`
/// admits. Where that cannot be enforced, it is any JSON object, or an error if the tool is strict.
/// Space stands where templates write it, behind commas and colons.
///
/// Names are written as they are: no quotes, backslashes or control characters.
/// Errors as CompileJsonSchema's, with the tool's name before them.
Result<std::shared_ptr<const Grammar>> CompileToolCalls(std::string_view offered,
                                                        const GrammarLimits& limits = {});

}  // namespace lattice::grammar
