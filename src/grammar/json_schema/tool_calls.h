#pragma once

#include <memory>
#include <string_view>

#include "grammar/grammar.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// Stands in a grammar before the name of a control token, which is one of its tokens only so: no
/// text of characters has this byte.
inline constexpr const char* kControlByte = "\xFF";

/// Texts that call tools, or may. What is offered is a JSON document:
///
///     {"form": FORM, "parallel": BOOL, "control_marks": [TEXT, ...],
///      "tools": [{"name": TEXT, "parameters": SCHEMA, "strict": BOOL, "types": {...}}, ...]}
///
/// FORM  "call": one call and nothing else, {"name": NAME, "arguments": {...}};
///       "hermes": any text, and behind it calls between <tool_call> and </tool_call>;
///       "llama": {"name": NAME, "parameters": {...}}, or any text that does not begin as one;
///       "mistral": any text, [TOOL_CALLS] and a list of calls, or if [ARGS] is a control mark each
///       call as [TOOL_CALLS]NAME[ARGS]{...};
///       "xml": any text, and calls as <tool_call> <function=NAME> with their arguments one by one
///       (json_schema/marked_arguments.h, which says what "types" is: this form alone has them);
///       "gemma": any text, and calls as <|tool_call>call:NAME{KEY:VALUE,...}<tool_call|>, strings
///       bare between <|"|> and <|"|>.
/// Unless it is parallel, there is at most one call. Arguments are a JSON object that `parameters`
/// admits. Where that cannot be enforced, it is any JSON object, or an error if the tool is strict.
/// Space stands where templates write it, behind commas and colons. Of the marks of the form,
/// "control_marks" are those that are control tokens.
///
/// Names are written as they are: no quotes, backslashes or control characters.
/// Errors as CompileJsonSchema's, with the tool's name before them.
Result<std::shared_ptr<const Grammar>> CompileToolCalls(std::string_view offered,
                                                        const GrammarLimits& limits = {});

}  // namespace lattice::grammar
