#pragma once

#include "base/function_ref.h"
#include "grammar/char_set.h"
#include "grammar/expr_pool.h"

namespace lattice::grammar {

/// The UTF-8 forms of a set's characters as a graph of byte ranges. `make` makes a node of its
/// edges and returns it; the last byte of a character leads to kEmptyText.
ExprId BytesOfChars(const CharSet& set, FunctionRef<ExprId(std::vector<ExprPool::Edge>)> make);

}  // namespace lattice::grammar
