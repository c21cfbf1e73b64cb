#pragma once

#include <cstddef>
#include <string_view>

namespace lattice::chat::jinja {

inline constexpr std::size_t kNotFound = std::string_view::npos;

/// First occurrence of `needle` at byte `from` or later. Linear time whatever the two hold.
std::size_t FindBytes(std::string_view text, std::string_view needle, std::size_t from);

/// Last occurrence that ends at byte `to` or before. Linear time and memory.
std::size_t FindLastBytes(std::string_view text, std::string_view needle, std::size_t to);

}  // namespace lattice::chat::jinja
