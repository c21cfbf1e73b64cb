#pragma once

#include <vector>

#include "grammar/expr_pool.h"

namespace lattice::grammar {

/// Replaces, among expressions that must all match, `[a-z]{1,9}"` and `[^"]{3,}"` by `[a-z]{3,9}"`:
/// of two counters of characters before the same rest one is made. So a string with a pattern and a
/// length needs no intersection. Only where both count the same things: no character of one begins
/// another one of either, and none begins the rest.
void MeetCounters(ExprPool& pool, std::vector<ExprId>& parts);

}  // namespace lattice::grammar
