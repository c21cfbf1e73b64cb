#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <string_view>

#include "grammar/grammar.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/string_expr.h"
#include "lattice/result.h"

namespace lattice::grammar {

struct JsonSchemaOptions {
  /// White space between the parts of a text: at most so many characters of space, tab, LF and CR
  /// at each place. 0: compact.
  std::uint32_t max_whitespace = 0;
  /// One space behind each comma and colon, when max_whitespace is 0.
  bool spaced = false;
  /// Numbers of type "integer" may be written 1.0 (but in draft 4), as the specification has it.
  /// Else as 1: many programs read 1.0 as what is no integer.
  bool integers_with_point = false;
  /// `format` restricts strings; else it says nothing.
  bool check_formats = true;
  /// How strings are written.
  StringStyle strings = {};
  /// Of schemas without "$schema".
  Dialect dialect = Dialect::k2020;
  GrammarLimits limits = {};
};

/// The texts of the JSON values that are valid under a schema.
///
/// Members of objects stand in the order of `properties`, those that `required` alone names behind
/// them, all others at the end: of a value with its keys in another order no text is made. What the
/// schema says is kept to the letter otherwise: no text is of an invalid value.
///
/// Errors  name the keyword's place, "#/properties/a/oneOf: ...". kUnsupported: what cannot be
///         enforced, other documents; kInvalidArgument: a broken schema, one that no value
///         satisfies; kResourceExhausted: too large or too deep.
Result<std::shared_ptr<const Grammar>> CompileJsonSchema(const boost::json::value& schema,
                                                         const JsonSchemaOptions& options = {});
/// Of a JSON document, at most 200 levels deep.
Result<std::shared_ptr<const Grammar>> CompileJsonSchemaText(std::string_view schema,
                                                             const JsonSchemaOptions& options = {});
/// As a part of a larger grammar.
Result<Symbol> AddJsonSchema(GrammarBuilder& builder, const boost::json::value& schema,
                             const JsonSchemaOptions& options = {});

}  // namespace lattice::grammar
