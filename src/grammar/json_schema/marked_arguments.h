#pragma once

#include <boost/json/object.hpp>

#include "grammar/json_schema/json_schema.h"

namespace lattice::grammar {

/// Arguments of a call that are written one by one between marks:
///
///     <parameter=KEY>
///     VALUE
///     </parameter>
///
/// A VALUE is bare text where it is a string, else JSON. Its reader knows the types that the schema
/// gives to a key, and takes what reads as JSON of one of these for that.
///
/// schema  of the object of all arguments. Only declared and required members are written.
/// types   {KEY: [TYPE, ...], ...}: what the reader believes; of keys without types anything.
/// Errors  as CompileJsonSchema's; kUnsupported for conditions on how many members there are, or on
///         one of them that is not named.
Result<Symbol> AddMarkedArguments(GrammarBuilder& builder, const boost::json::value& schema,
                                  const boost::json::object& types,
                                  const JsonSchemaOptions& options);

/// Of any keys and texts.
Symbol AddAnyMarkedArguments(GrammarBuilder& builder);

}  // namespace lattice::grammar
