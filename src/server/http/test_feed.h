#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "lattice/check.h"
#include "server/http/request_parser.h"

// For the parser's tests and its fuzz target.

namespace lattice::server {

/// Feeds the bytes piece by piece, as a connection does; returns how many were used.
inline std::size_t Feed(RequestParser& parser, std::string_view bytes, std::size_t piece) {
  std::string buffer;
  std::size_t n_fed = 0, n_used = 0;
  while (!parser.done() && !parser.fault()) {
    const std::size_t used = parser.Push(buffer);
    LATTICE_CHECK(used <= buffer.size());
    n_used += used;
    buffer.erase(0, used);
    if (parser.done() || parser.fault() || used > 0) continue;
    if (n_fed == bytes.size()) break;
    buffer += bytes.substr(n_fed, piece);
    n_fed = std::min(bytes.size(), n_fed + piece);
  }
  return n_used;
}

}  // namespace lattice::server
