#pragma once

#include <span>
#include <vector>

#include "decoding/candidates.h"

namespace lattice::decoding {

/// Sorts by IsBetter, in time linear in a long list: by digits of the logits.
///
/// list     no NaN in it.
/// scratch  is overwritten; kept by the caller so that a next call allocates nothing.
void SortBestFirst(std::vector<Candidate>& list, std::vector<Candidate>& scratch);

/// The best tokens of a row with a sum of e^(logit - max) of at least `mass`, and few more, in
/// order of their ids, instead of what `out` held; all that are above -infinity when they do not
/// reach it. Linear in the row.
///
/// max  the row's largest number, finite.
void SelectMass(std::span<const float> row, float max, double mass, std::vector<Candidate>& out);

}  // namespace lattice::decoding
