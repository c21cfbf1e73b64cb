#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "hub/endpoint.h"
#include "hub/fetcher.h"
#include "lattice/result.h"

namespace lattice::hub {

/// One request of one download: a configured curl handle, and what came back.
class Transfer {
 public:
  enum class Outcome : std::uint8_t { kDone, kRedirect, kRestart, kRetry, kFailed };

  /// Asks for what `download.sink` does not hold yet. The url is the download's, or a redirect's.
  Transfer(const Download& download, std::string url, const Endpoint& endpoint,
           std::chrono::seconds stall_limit);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* handle() const { return handle_.get(); }

  /// Says what to do after curl has finished with `code`.
  Outcome Judge(CURLcode code);

  bool got_response() const { return status() != 0; }
  std::string redirect_url() const;
  std::chrono::seconds retry_after() const { return retry_after_; }
  /// Why, after kRetry or kFailed.
  const Error& error() const { return error_; }

 private:
  static std::size_t OnBody(char* data, std::size_t, std::size_t n, void* self);
  static std::size_t OnHeader(char* data, std::size_t, std::size_t n, void* self);
  bool TakeBody(std::string_view bytes);
  void TakeHeader(std::string_view line);
  long status() const;
  Outcome JudgeStatus(long status);
  Outcome Fail(Outcome outcome, ErrorCode code, std::string message);

  const Download& download_;
  std::string url_;
  std::string endpoint_url_;
  std::uint64_t offset_;  // first byte asked for
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
  char curl_message_[CURL_ERROR_SIZE] = {};
  std::string server_message_;
  std::string range_start_;  // of a Content-Range header
  std::chrono::seconds retry_after_{0};
  bool body_started_ = false;
  bool sink_failed_ = false;
  Error error_{ErrorCode::kInternal, ""};
};

}  // namespace lattice::hub
