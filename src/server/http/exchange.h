#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace lattice::server {

/// A request that awaits its answer: whole by Reply, or in pieces by BeginStream, Write, EndStream.
/// Used from any thread, by one at a time. What is not answered when the last owner lets it go is
/// answered with 500; a stream that was not ended is cut off, so that nobody takes it for whole.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const HttpRequest& request() const = 0;
  /// For the log: a name that the server gave to the request.
  virtual const std::string& id() const = 0;

  virtual void Reply(HttpResponse response) = 0;

  /// `head` has no body. While nothing is written for some seconds, `idle_piece` is sent, so that
  /// nothing between here and the client takes the silence for an end.
  virtual void BeginStream(HttpResponse head, std::string idle_piece) = 0;
  /// False: nothing reaches the client any more. It has left, or it reads so slowly that too much
  /// was waiting and it was given up.
  virtual bool Write(std::string_view piece) = 0;
  virtual void EndStream() = 0;

  /// Requested when the client has left or was given up.
  virtual std::stop_token gone() const = 0;

  /// Which route this is, for log and metrics: a text that lives as long as the program.
  virtual void SetRoute(const char* route) = 0;
};

}  // namespace lattice::server
