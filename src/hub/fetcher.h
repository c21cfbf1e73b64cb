#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "hub/endpoint.h"
#include "lattice/result.h"

namespace lattice::hub {

/// Where the body of one download goes. Keeps what arrived when a connection breaks.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Bytes that it holds: the next attempt asks for those that follow.
  virtual std::uint64_t size() const = 0;
  /// How many there must be; nothing when only the server knows.
  virtual std::optional<std::uint64_t> expected_size() const = 0;
  virtual Status Restart() = 0;  ///< Forgets all.
  virtual Status Append(std::string_view bytes) = 0;
  /// All bytes are there: checks them. After kCorruptData the download starts again, once.
  virtual Status Finish() = 0;
};

struct Download {
  std::string url;
  std::string what;  ///< For messages: "model.safetensors of BAAI/bge-m3".
  BodySink* sink;    ///< Outlives the call.
};

struct FetchOptions {
  std::size_t n_parallel = 4;
  std::size_t n_attempts = 5;
  std::chrono::milliseconds retry_delay{500};
  std::chrono::seconds stall_limit{30};
  std::stop_token stop;
};

/// How a fetch went, whether it failed or not.
struct FetchReport {
  bool any_response = false;  ///< The endpoint has answered something: it can be reached.
};

/// Runs the downloads, several at a time, from the calling thread. Redirects are followed as long
/// as the endpoint admits them, and carry its token only back to its own origin. Connection losses,
/// 5xx, 408 and 429 are tried again after a pause, from where they broke off.
///
/// tick    called about ten times a second, for progress.
/// Errors  of the first download that gives up; the others stop there too. kNotFound (404, or no
///         connection), kInvalidArgument (401, 403, other statuses, forbidden redirects),
///         kCorruptData and kResourceExhausted (a sink's), kCancelled.
Status Fetch(std::span<const Download> downloads, const Endpoint& endpoint,
             const FetchOptions& options, FunctionRef<void()> tick, FetchReport& report);

}  // namespace lattice::hub
