#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace lattice::server {

/// How an answer travels.
struct Transport {
  bool http11 = true;
  bool keep_alive = true;
  bool streams = false;          ///< Its length is not known when it begins.
  std::string_view id = {};      ///< Of the request: x-request-id.
  std::string_view origin = {};  ///< A page's origin that may read it; empty: none.

  /// The body comes in chunks; else a length was said, or the connection's end is the body's.
  bool chunked() const { return streams && http11; }
};

/// Status line and headers with the empty line behind them. Characters that would end a header are
/// left out of values.
std::string ResponseHead(const HttpResponse& response, const Transport& transport);

/// Appends a piece of a stream as it travels.
void AppendPiece(std::string_view piece, const Transport& transport, std::string& out);

}  // namespace lattice::server
