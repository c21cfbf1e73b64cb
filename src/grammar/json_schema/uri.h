#pragma once

#include <string>
#include <string_view>

namespace lattice::grammar {

/// `reference` as seen from `base`: an absolute address, or, when the base is not one itself, as
/// much of one as can be told. Keeps the fragment of the reference.
/// Source  RFC 3986, section 5.2.
std::string ResolveUri(std::string_view base, std::string_view reference);

/// What stands before the first '#', and what stands behind it.
std::string_view WithoutFragment(std::string_view uri);
std::string_view FragmentOf(std::string_view uri);

/// "%41" and its like as the bytes they stand for; broken ones stay as they are.
std::string PercentDecode(std::string_view text);

}  // namespace lattice::grammar
