#pragma once

#include <cstddef>

namespace lattice::chat::jinja {

/// What a template, which is code from a stranger, may cost. Passing a limit is kResourceExhausted
/// with the limit's name and value; the defaults leave real templates far away from all of them.
struct Limits {
  std::size_t max_source_bytes = std::size_t{256} << 10;  ///< Of the template's own text.
  std::size_t max_nesting = 200;       ///< Levels of blocks and expressions in the source.
  std::size_t max_depth = 500;         ///< Levels of evaluation while running (macros in macros).
  std::size_t max_values = 200;        ///< Lists within lists that a template or its data build.
  std::size_t max_steps = 20'000'000;  ///< Evaluated nodes and visited items: about a second.
  std::size_t max_output_bytes = std::size_t{32} << 20;
  std::size_t max_string_bytes = std::size_t{32} << 20;  ///< Of any one string on the way.
  std::size_t max_list_items = 100'000;                  ///< Of any list or range that is built.
  /// All bytes of all strings and lists that a run builds, so also a bound of its memory. Data that
  /// the caller passes in do not count; 64 times their size is added to this bound.
  std::size_t max_built_bytes = std::size_t{192} << 20;
};

}  // namespace lattice::chat::jinja
