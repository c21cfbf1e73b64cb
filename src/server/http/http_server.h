#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "lattice/result.h"
#include "server/http/exchange.h"
#include "server/http/guard.h"
#include "server/http/pending_answer.h"
#include "server/http/request_parser.h"

namespace lattice::server {

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< An address or a name of this machine.
  std::uint16_t port = 8080;       ///< 0: a free one.

  RequestLimits request = {};
  PendingAnswer::Limits answer = {};
  std::size_t n_connections = 256;  ///< Further ones get 503.
  std::size_t all_bodies_bytes = std::size_t{256}
                                 << 20;  ///< Of all requests being read or answered.

  std::chrono::milliseconds header_time{10'000};  ///< From the first byte of a request.
  std::chrono::milliseconds body_time{120'000};   ///< From the end of its headers.
  std::chrono::milliseconds idle_time{75'000};    ///< Between requests.
  std::chrono::milliseconds read_time{20'000};    ///< Without a byte of a body.
  std::chrono::milliseconds write_time{30'000};   ///< Without a byte being taken.
  std::chrono::milliseconds ping_time{15'000};    ///< Of silence in a stream.
  std::chrono::milliseconds drain_time{30'000};   ///< For running requests, once asked to stop.

  /// PEM files of a certificate (with the chain above it) and its key: both, or neither.
  std::string tls_certificate = {}, tls_key = {};

  Guard guard = {};
  /// Routes that need no key.
  std::function<bool(const HttpRequest&)> is_open = {};
  /// How an error looks on the route of a request (of which only what was read is there), and the
  /// request's id; else as OpenAI's API has it.
  std::function<HttpResponse(const HttpRequest&, const ApiError&, const std::string&)> failure = {};
};

/// What became of a request, for log and metrics. Nothing in it was written by the client.
struct RequestRecord {
  const char* route = "none";
  const char* method = "other";  ///< One of the common ones, or "other".
  int status = 0;                ///< 499: the client left before the answer was complete.
  std::size_t body_bytes = 0;    ///< Of the request.
  std::size_t sent_bytes = 0;    ///< Of the answer, with its head.
  double seconds = 0;            ///< From the end of the headers.
  std::string id;
};

/// An HTTP/1.1 server on one thread. It reads requests within limits, lets the guard judge them,
/// hands them to a handler and sends what the handler answers from whatever thread. Slow clients
/// hold their connection and a bounded buffer, nothing else.
class HttpServer {
 public:
  /// Called on the server's thread for every request that may come in: it must not wait.
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;
  /// Called on the server's thread when an answer is over.
  using Observer = std::function<void(const RequestRecord&)>;

  /// Binds and listens. kInvalidArgument when the address or a file of TLS cannot be used: it, and
  /// why.
  static Result<std::unique_ptr<HttpServer>> Listen(HttpOptions options, Handler handler,
                                                    Observer observer);
  ~HttpServer();

  /// Where it listens: "127.0.0.1:8080", "[::1]:8080".
  std::string address() const;
  /// Whether that is loopback only.
  bool is_local() const;

  /// Serves until `stop`; then accepts no more, lets running requests end within drain_time, and
  /// returns.
  Status Run(const std::stop_token& stop);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lattice::server
