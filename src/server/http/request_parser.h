#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace lattice::server {

struct RequestLimits {
  std::size_t target_bytes = 8192;
  std::size_t header_bytes = std::size_t{32} << 10;  ///< Request line and headers together.
  std::size_t n_headers = 100;
  std::size_t body_bytes = std::size_t{32} << 20;
};

/// Why a request cannot be read: the status to answer with before the connection ends.
struct RequestFault {
  int status = 400;
  std::string message;
};

/// Reads one HTTP/1.1 request from bytes that come in any pieces. Stricter than the standard asks
/// where two readers could disagree about where a request ends: one Content-Length of digits alone,
/// no transfer coding but "chunked", never both, no folded headers, lines end in CR LF, exactly one
/// Host. Trailers are read and dropped.
///
/// Source  RFC 9110, RFC 9112; the grammar is read by Boost.Beast.
class RequestParser {
 public:
  explicit RequestParser(const RequestLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Takes what it can from the front of `bytes` and returns how much; what it leaves has to come
  /// again with more behind it. Stops once behind the headers, and at the request's end. Not to be
  /// called after a fault or the end.
  std::size_t Push(std::string_view bytes);

  bool header_done() const;
  bool done() const;
  const std::optional<RequestFault>& fault() const;
  /// The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  /// Its headers are complete once header_done, its body once done.
  HttpRequest& request();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lattice::server
