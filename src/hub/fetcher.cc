#include "hub/fetcher.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "hub/transfer.h"
#include "lattice/check.h"

namespace lattice::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxRedirects = 8;
constexpr int kPollMs = 100;
constexpr std::size_t kAttemptsWithoutAnswer = 2;  // a host that never answered: no use in waiting
constexpr auto kMaxDelay = std::chrono::seconds(60);

/// One download on its way: its attempts, and the request that is running now.
struct Task {
  const Download* download;
  std::unique_ptr<Transfer> transfer = nullptr;  // running, or nothing
  std::string url = {};                          // where the next request goes
  Clock::time_point not_before = {};
  std::size_t n_failures = 0;  // since the download last got further than ever before
  std::uint64_t furthest = 0;
  std::size_t n_redirects = 0;
  bool restarted = false;
  bool finished = false;
};

class Multi {
 public:
  Multi() : handle_(curl_multi_init()) { LATTICE_CHECK(handle_ != nullptr); }
  ~Multi() { curl_multi_cleanup(handle_); }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  CURLM* get() const { return handle_; }

 private:
  CURLM* handle_;
};

class FetchLoop {
 public:
  FetchLoop(std::span<const Download> downloads, const Endpoint& endpoint,
            const FetchOptions& options, FetchReport& report)
      : endpoint_(endpoint), options_(options), report_(report) {
    for (const Download& download : downloads) {
      tasks_.push_back(Task{.download = &download});
      tasks_.back().url = download.url;
    }
  }

  ~FetchLoop() {
    for (Task& task : tasks_) Detach(task);
  }
  FetchLoop(const FetchLoop&) = delete;
  FetchLoop& operator=(const FetchLoop&) = delete;

  Status Run(FunctionRef<void()> tick) {
    for (;;) {
      if (options_.stop.stop_requested()) return Error{ErrorCode::kCancelled, "download cancelled"};
      LATTICE_TRY_VOID(StartReady());
      int n_running = 0;
      curl_multi_perform(multi_.get(), &n_running);
      LATTICE_TRY_VOID(CollectFinished());
      tick();
      if (std::ranges::all_of(tasks_, &Task::finished)) return Ok();
      // A request that has just ended may be followed by another at once.
      curl_multi_poll(multi_.get(), nullptr, 0, settled_ ? 0 : kPollMs, nullptr);
    }
  }

 private:
  Status StartReady() {
    auto n_running = static_cast<std::size_t>(
        std::ranges::count_if(tasks_, [](const Task& task) { return task.transfer != nullptr; }));
    const auto now = Clock::now();
    for (Task& task : tasks_) {
      if (n_running >= options_.n_parallel) break;
      if (task.finished || task.transfer || task.not_before > now) continue;
      LATTICE_TRY_VOID(Start(task));
      if (task.transfer) ++n_running;
    }
    return Ok();
  }

  Status Start(Task& task) {
    BodySink& sink = *task.download->sink;
    const auto expected = sink.expected_size();
    if (!expected || sink.size() > *expected) LATTICE_TRY_VOID(sink.Restart());
    if (expected && sink.size() == *expected) return Finish(task);
    LATTICE_TRY_VOID(endpoint_.Admit(task.url));
    task.transfer =
        std::make_unique<Transfer>(*task.download, task.url, endpoint_, options_.stall_limit);
    curl_easy_setopt(task.transfer->handle(), CURLOPT_PRIVATE, &task);
    LATTICE_CHECK(curl_multi_add_handle(multi_.get(), task.transfer->handle()) == CURLM_OK);
    return Ok();
  }

  void Detach(Task& task) {
    if (!task.transfer) return;
    curl_multi_remove_handle(multi_.get(), task.transfer->handle());
    task.transfer.reset();
  }

  Status CollectFinished() {
    int n_left = 0;
    settled_ = false;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &n_left)) {
      if (message->msg != CURLMSG_DONE) continue;
      settled_ = true;
      const CURLcode code = message->data.result;  // the message dies with the handle
      char* owner = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
      LATTICE_TRY_VOID(Settle(*reinterpret_cast<Task*>(owner), code));
    }
    return Ok();
  }

  Status Settle(Task& task, CURLcode code) {
    Transfer& transfer = *task.transfer;
    const Transfer::Outcome outcome = transfer.Judge(code);
    report_.any_response = report_.any_response || transfer.got_response();
    const Error error = transfer.error();
    const std::string redirect = transfer.redirect_url();
    const auto retry_after = transfer.retry_after();
    Detach(task);
    switch (outcome) {
      case Transfer::Outcome::kDone:
        return Finish(task);
      case Transfer::Outcome::kRedirect:
        return Redirect(task, redirect);
      case Transfer::Outcome::kRestart:
        return Restart(task, error);
      case Transfer::Outcome::kRetry:
        return Retry(task, error, retry_after);
      case Transfer::Outcome::kFailed:
        break;
    }
    return error;
  }

  Status Finish(Task& task) {
    BodySink& sink = *task.download->sink;
    const auto expected = sink.expected_size();
    if (expected && sink.size() < *expected) {
      return Retry(task,
                   Error{ErrorCode::kCorruptData, task.download->what + ": the server sent " +
                                                      std::to_string(sink.size()) + " of " +
                                                      std::to_string(*expected) + " bytes"},
                   std::chrono::seconds(0));
    }
    Status status = sink.Finish();
    if (!status) {
      Error error = std::move(status).error().Within(task.download->what);
      return error.code == ErrorCode::kCorruptData ? Restart(task, error) : Status(error);
    }
    task.finished = true;
    return Ok();
  }

  Status Redirect(Task& task, const std::string& url) {
    if (url.empty() || ++task.n_redirects > kMaxRedirects) {
      return Error{ErrorCode::kInvalidArgument, task.download->what + ": redirected in circles"};
    }
    Status admitted = endpoint_.Admit(url);
    if (!admitted) return std::move(admitted).error().Within(task.download->what + ": redirect");
    task.url = url;
    return Ok();
  }

  /// From the first byte, once: bytes kept from an earlier run may be the ones that are wrong.
  Status Restart(Task& task, const Error& error) {
    LATTICE_TRY_VOID(task.download->sink->Restart());
    if (task.restarted) return error;
    task.restarted = true;
    BeginAgain(task);
    return Ok();
  }

  Status Retry(Task& task, const Error& error, std::chrono::seconds at_least) {
    const std::size_t limit = report_.any_response
                                  ? options_.n_attempts
                                  : std::min(options_.n_attempts, kAttemptsWithoutAnswer);
    if (task.download->sink->size() > task.furthest) {
      task.furthest = task.download->sink->size();
      task.n_failures = 0;
    }
    if (++task.n_failures >= limit) return error;
    auto delay =
        options_.retry_delay * (std::int64_t{1} << std::min<std::size_t>(task.n_failures - 1, 7));
    delay = std::min<std::chrono::milliseconds>(delay, kMaxDelay);
    BeginAgain(task);
    task.not_before = Clock::now() + std::max<std::chrono::milliseconds>(delay, at_least);
    return Ok();
  }

  void BeginAgain(Task& task) {
    task.url = task.download->url;  // a redirect's address may have expired
    task.n_redirects = 0;
  }

  const Endpoint& endpoint_;
  const FetchOptions& options_;
  FetchReport& report_;
  Multi multi_;
  bool settled_ = false;     // a request ended in this round
  std::vector<Task> tasks_;  // never resized after construction: curl holds pointers into it
};

}  // namespace

Status Fetch(std::span<const Download> downloads, const Endpoint& endpoint,
             const FetchOptions& options, FunctionRef<void()> tick, FetchReport& report) {
  static const bool kReady = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!kReady) return Error{ErrorCode::kInternal, "libcurl does not start"};
  return FetchLoop(downloads, endpoint, options, report).Run(tick);
}

}  // namespace lattice::hub
