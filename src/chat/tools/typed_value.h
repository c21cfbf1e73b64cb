#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lattice::chat {

/// The value of an argument that was written as bare text, as JSON of the type that a tool's schema
/// gives to it: "5" is a number for {"type": "integer"} and a string for {"type": "string"}. Text
/// that fits none of the types is a string. Where the schema gives no type, what reads as JSON is
/// JSON.
///
/// parameters  the schema of all arguments; null when there is none. References into it
///             ("#/$defs/...") are followed.
std::string TypedValue(std::string_view text, std::string_view key,
                       const boost::json::object* parameters);

/// The types (of JSON Schema) that TypedValue lets a value have; none: any.
std::vector<std::string_view> ArgumentTypes(std::string_view key,
                                            const boost::json::object* parameters);

}  // namespace lattice::chat
