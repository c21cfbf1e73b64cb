#pragma once

#include <string_view>

#include "grammar/grammar.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/string_expr.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// The strings of a `format`; all of them for a name that the specification does not know.
/// kUnsupported for one that cannot be enforced.
/// Source  JSON Schema 2020-12, validation, section 7.3, and the RFCs named there.
Result<Expr> FormatStrings(std::string_view format, Dialect dialect, StringExprs& strings,
                           GrammarBuilder& builder);

/// The strings of a `contentEncoding` (RFC 4648): all of them for a name that is not known.
Result<Expr> EncodedStrings(std::string_view encoding, StringExprs& strings);

}  // namespace lattice::grammar
