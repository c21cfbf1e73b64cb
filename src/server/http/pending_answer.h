#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "server/http/exchange.h"

namespace lattice::server {

/// The seam between whoever answers a request, on any thread, and the connection that sends the
/// answer, on the server's thread.
class PendingAnswer {
 public:
  struct Limits {
    std::size_t waiting_bytes = std::size_t{4}
                                << 20;  ///< Of a stream. More: the client is given up.
  };

  /// `wake` is called when there is something to take; it must not call back.
  PendingAnswer(HttpRequest request, std::string id, const Limits& limits,
                std::function<void()> wake);

  // For the answering side.

  const HttpRequest& request() const { return request_; }
  const std::string& id() const { return id_; }
  void Reply(HttpResponse response);
  void BeginStream(HttpResponse head, std::string idle_piece);
  bool Write(std::string_view piece);
  void EndStream();
  /// Nobody will answer any more.
  void Abandon();
  std::stop_token gone() const { return gone_.get_token(); }
  void SetRoute(const char* route);

  // For the connection.

  /// What has come since the last call.
  struct Taken {
    std::optional<HttpResponse> head;  ///< With its body, if it is whole.
    std::string pieces;                ///< Of a stream, joined.
    bool streams = false;
    bool ended = false;
    bool cut_off = false;  ///< A stream that will not be ended.
  };
  Taken Take();
  /// Of the stream.
  std::string idle_piece() const;
  const char* route() const;
  /// The client has left, or the server goes: nothing is taken any more, `wake` is not called.
  void Leave();

 private:
  void Wake(const std::scoped_lock<std::mutex>&);

  const HttpRequest request_;
  const std::string id_;
  const Limits limits_;
  std::stop_source gone_;
  mutable std::mutex mutex_;  // guards what follows
  std::function<void()> wake_;
  bool woken_ = false;  // since the last Take
  std::optional<HttpResponse> head_;
  std::string pieces_, idle_piece_;
  const char* route_ = "none";
  bool answered_ = false, streams_ = false, ended_ = false, cut_off_ = false, left_ = false;
};

}  // namespace lattice::server
