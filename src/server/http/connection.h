#pragma once

// Asio is seen by the two sources of the transport alone: it takes seconds to compile.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "server/http/api_error.h"
#include "server/http/http_server.h"
#include "server/http/pending_answer.h"
#include "server/http/request_parser.h"
#include "server/http/response_head.h"

namespace lattice::server {

class Connection;

/// What all connections share. Everything here belongs to the server's thread.
struct ConnectionHub {
  HttpOptions options;
  HttpServer::Handler handler;
  HttpServer::Observer observer;
  std::unordered_set<Connection*> open;
  std::size_t n_surplus = 0;     // of the open ones: beyond the limit, to be told so
  std::size_t bodies_bytes = 0;  // of requests that are being read or answered
  bool draining = false;
  std::function<void()> on_empty;  // the last open connection has ended
  std::uint64_t next_id = 0;
  std::optional<boost::asio::ssl::context> tls;
  boost::asio::io_context io{1};  // last: what it still holds at its end refers to the others
};

/// What those beyond the limit are told.
ApiError TooManyConnections();

/// One client: request after request until one side ends it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// One that is surplus gets 503, whatever it asks for.
  Connection(ConnectionHub& hub, boost::asio::ip::tcp::socket socket, bool surplus);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  static boost::asio::awaitable<void> Serve(std::shared_ptr<Connection> self);

  /// Ends it now if no request is under way.
  void CloseIfIdle();
  /// Ends it whatever is under way.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  boost::asio::awaitable<void> ServeRequests();
  /// Reads a request; an error to answer with before the connection ends. closed_ is set when there
  /// is nobody to answer.
  boost::asio::awaitable<std::optional<ApiError>> Read(RequestParser& parser);
  boost::asio::awaitable<bool> ReadSome();
  boost::asio::awaitable<bool> BeginTls();
  boost::asio::awaitable<void> EndTls();
  boost::asio::awaitable<bool> Send(std::string_view bytes);
  boost::asio::awaitable<void> Refuse(const HttpRequest& request, ApiError error);
  /// True when another request may follow.
  boost::asio::awaitable<bool> Answer(HttpRequest request);
  boost::asio::awaitable<bool> SendAnswer(PendingAnswer& answer, Transport& transport);
  boost::asio::awaitable<bool> WaitForMore();
  static boost::asio::awaitable<void> WatchPeer(std::shared_ptr<Connection> self,
                                                std::shared_ptr<PendingAnswer> answer);

  std::optional<ApiError> ChargeBody(std::size_t bytes);
  void Arm(std::chrono::milliseconds time);
  void Disarm();
  void Wake();
  void Observe(const HttpRequest& request, const char* route, int status);
  std::string NewId();

  ConnectionHub& hub_;
  const bool surplus_;
  boost::asio::ip::tcp::socket socket_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;  // over socket_
  boost::asio::steady_timer deadline_;  // of the operation under way
  boost::asio::steady_timer wake_;      // cancelled when an answer has something to send
  std::vector<char> chunk_;             // what one read may bring
  std::string buffer_;                  // read and not yet parsed
  Clock::time_point header_end_{};
  std::size_t charged_bytes_ = 0;  // of bodies_bytes
  std::size_t sent_bytes_ = 0;     // of this answer
  int status_ = 0;                 // of this answer
  std::string id_;                 // of this request
  bool closed_ = false;
  bool idle_ = true;  // no byte of a request has come
  bool timed_out_ = false;
  bool woken_ = false;
  bool gone_ = false;  // the client left while it was to be answered
};

}  // namespace lattice::server
