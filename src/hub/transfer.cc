#include "hub/transfer.h"

#include <algorithm>
#include <charconv>

namespace lattice::hub {
namespace {

constexpr long kConnectSeconds = 20;
constexpr std::size_t kMaxServerMessage = 300;
constexpr long kOk = 200, kPartial = 206, kUnauthorized = 401, kForbidden = 403, kNotFound = 404,
               kTimeout = 408, kRangeNotSatisfiable = 416, kTooMany = 429, kServerError = 500;

bool IsRedirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// The value of "name: value" if that is the header's name, in any case.
std::string_view HeaderValue(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':') return {};
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = line[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != name[i]) return {};
  }
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.remove_suffix(1);
  return line;
}

std::string Printable(std::string_view text) {
  std::string printable(text.substr(0, kMaxServerMessage));
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return printable;
}

void RestrictProtocols(CURL* handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "https,http");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS | CURLPROTO_HTTP);
#endif
}

}  // namespace

Transfer::Transfer(const Download& download, std::string url, const Endpoint& endpoint,
                   std::chrono::seconds stall_limit)
    : download_(download),
      url_(std::move(url)),
      endpoint_url_(endpoint.url()),
      offset_(download.sink->size()),
      handle_(curl_easy_init(), curl_easy_cleanup),
      headers_(nullptr, curl_slist_free_all) {
  LATTICE_CHECK(handle_ != nullptr);
  CURL* const h = handle_.get();
  curl_easy_setopt(h, CURLOPT_URL, url_.c_str());
  RestrictProtocols(h);
  curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(h, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(h, CURLOPT_USERAGENT, "lattice/" LATTICE_VERSION);
  curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall_limit.count()));
  curl_easy_setopt(h, CURLOPT_ERRORBUFFER, curl_message_);
  curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(h, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(h, CURLOPT_HEADERDATA, this);
  // A proxy has no way to this machine's own servers.
  if (endpoint.IsLoopback()) curl_easy_setopt(h, CURLOPT_PROXY, "");
  if (offset_ != 0) {
    curl_easy_setopt(h, CURLOPT_RANGE, (std::to_string(offset_) + "-").c_str());
  }
  if (const std::string header = endpoint.AuthorizationFor(url_); !header.empty()) {
    headers_.reset(curl_slist_append(nullptr, header.c_str()));
    curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers_.get());
  }
}

std::size_t Transfer::OnBody(char* data, std::size_t, std::size_t n, void* self) {
  return static_cast<Transfer*>(self)->TakeBody({data, n}) ? n : 0;
}

std::size_t Transfer::OnHeader(char* data, std::size_t, std::size_t n, void* self) {
  static_cast<Transfer*>(self)->TakeHeader({data, n});
  return n;
}

void Transfer::TakeHeader(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // of this response, not of a proxy's or an interim one
    server_message_.clear();
    range_start_.clear();
  }
  if (const auto message = HeaderValue(line, "x-error-message"); !message.empty()) {
    server_message_ = Printable(message);
  }
  if (const auto after = HeaderValue(line, "retry-after"); !after.empty()) {
    constexpr int kMaxSeconds = 60;
    int seconds = 0;
    std::from_chars(after.data(), after.data() + after.size(), seconds);
    retry_after_ = std::chrono::seconds(std::clamp(seconds, 0, kMaxSeconds));
  }
  if (auto range = HeaderValue(line, "content-range"); range.starts_with("bytes ")) {
    range.remove_prefix(6);
    range_start_ = range.substr(0, range.find('-'));
  }
}

/// Only a 200 or 206 body is the file; a 200 to a ranged request is the file from its start.
bool Transfer::TakeBody(std::string_view bytes) {
  const long code = status();
  if (code != kOk && code != kPartial) return true;
  Status taken = Ok();
  if (!body_started_) {
    body_started_ = true;
    if (code == kOk && offset_ != 0) taken = download_.sink->Restart();
    if (code == kPartial && range_start_ != std::to_string(offset_)) {
      taken = Error{ErrorCode::kCorruptData, "the server sent another range than asked for"};
    }
  }
  if (taken) taken = download_.sink->Append(bytes);
  if (taken) return true;
  sink_failed_ = true;
  error_ = std::move(taken).error().Within(download_.what);
  return false;
}

long Transfer::status() const {
  long code = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &code);
  return code;
}

std::string Transfer::redirect_url() const {
  char* url = nullptr;
  curl_easy_getinfo(handle_.get(), CURLINFO_REDIRECT_URL, &url);
  return url == nullptr ? std::string() : std::string(url);
}

Transfer::Outcome Transfer::Fail(Outcome outcome, ErrorCode code, std::string message) {
  error_ = Error{code, download_.what + ": " + std::move(message)};
  return outcome;
}

Transfer::Outcome Transfer::Judge(CURLcode code) {
  if (sink_failed_) {
    return error_.code == ErrorCode::kCorruptData ? Outcome::kRestart : Outcome::kFailed;
  }
  if (code == CURLE_OK) return JudgeStatus(status());
  const char* const why = curl_message_[0] != 0 ? curl_message_ : curl_easy_strerror(code);
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
    return Fail(Outcome::kFailed, ErrorCode::kInvalidArgument,
                std::string("the server's certificate is not trusted: ") + why);
  }
  return Fail(Outcome::kRetry, ErrorCode::kNotFound,
              "no connection to " + endpoint_url_ + ": " + why);
}

Transfer::Outcome Transfer::JudgeStatus(long status) {
  if (status == kOk || status == kPartial) return Outcome::kDone;
  if (IsRedirect(status)) return Outcome::kRedirect;
  const std::string said = "HTTP status " + std::to_string(status) +
                           (server_message_.empty() ? "" : " (" + server_message_ + ")");
  if (status == kRangeNotSatisfiable && offset_ != 0) {
    return Fail(Outcome::kRestart, ErrorCode::kCorruptData, said);
  }
  if (status >= kServerError || status == kTimeout || status == kTooMany) {
    return Fail(Outcome::kRetry, ErrorCode::kResourceExhausted, "the server is busy: " + said);
  }
  if (status == kNotFound) {
    return Fail(Outcome::kFailed, ErrorCode::kNotFound,
                said + ". Check the name and the revision at " + endpoint_url_);
  }
  if (status == kUnauthorized || status == kForbidden) {
    return Fail(Outcome::kFailed, ErrorCode::kInvalidArgument,
                said + ". There is no such model, or it is closed: accept its licence at " +
                    endpoint_url_ + " and put an access token into HF_TOKEN");
  }
  return Fail(Outcome::kFailed, ErrorCode::kInvalidArgument, said);
}

}  // namespace lattice::hub
