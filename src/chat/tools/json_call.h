#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/call_reader.h"

namespace lattice::chat {

/// Calls written as JSON: an object with "name" and "arguments" (or "parameters"), perhaps inside
/// of "function", or an array of such objects. Arguments are given as they were written, numbers to
/// the letter; "{}" where there are none, and the inner object where they are JSON in a string.
/// Empty when anything in it is no call.
std::vector<WrittenCall> CallsFromJson(std::string_view json);

/// Whether a text is a JSON object.
bool IsJsonObject(std::string_view text);

/// The text as a JSON string, quoted.
std::string JsonQuoted(std::string_view text);

}  // namespace lattice::chat
