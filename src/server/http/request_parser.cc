#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <charconv>
#include <utility>

#include "server/http/ascii.h"

namespace lattice::server {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast::error_code;

constexpr std::size_t kLeastChunked = 5;  // "0", CR LF, CR LF: what every chunked body ends with

/// Of size lines and trailers that are not complete.
bool AnyLineWithoutCr(std::string_view lines) {
  for (std::size_t at = lines.find('\n'); at != lines.npos; at = lines.find('\n', at + 1)) {
    if (at == 0 || lines[at - 1] != '\r') return true;
  }
  return false;
}

bool IsDigits(beast::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Absent for a bad escape or an escaped NUL.
std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const char* const end = text.data() + i + 3;
    if (std::from_chars(text.data() + i + 1, end, value, 16).ptr != end) return std::nullopt;
    if (value == 0) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

RequestFault FaultOf(const error_code& code) {
  if (code == http::error::header_limit) return {431, "the request's headers are too long"};
  if (code == http::error::body_limit) return {413, "the request's body is too long"};
  if (code == http::error::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  return {400, "malformed HTTP request: " + code.message()};
}

}  // namespace

/// Beast's callbacks collect the request; faults of ours travel beside its error codes.
class RequestParser::Impl final : public http::basic_parser<true> {
 public:
  explicit Impl(const RequestLimits& limits) : limits_(limits) {
    header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    body_limit(limits.body_bytes);
  }

  std::size_t Push(std::string_view bytes);

  HttpRequest request;
  std::optional<RequestFault> fault;
  bool expects_continue = false;

 private:
  void Fail(int status, std::string message, error_code& code) {
    fault = RequestFault{status, std::move(message)};
    code = http::error::bad_value;
  }

  void on_request_impl(http::verb, beast::string_view method, beast::string_view target,
                       int version, error_code& code) override;
  void on_field_impl(http::field, beast::string_view name, beast::string_view value,
                     error_code& code) override;
  void on_header_impl(error_code& code) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view body, error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
  // A response has these; a request never calls them.
  void on_response_impl(int, beast::string_view, int, error_code&) override {}

  bool HasBareLineFeed(std::string_view bytes);

  const RequestLimits limits_;
  std::size_t n_scanned_ = 0;     // of the bytes that were not used yet, by HasBareLineFeed
  std::size_t n_line_bytes_ = 0;  // before them, in the same line
  bool scanned_all_ = false;      // up to the empty line
  std::size_t n_hosts_ = 0, n_lengths_ = 0, n_codings_ = 0;
  bool in_trailers_ = false;
};

/// Whether a line of the header ends without CR. Beast, which looks for the header's end first,
/// would wait for it.
bool RequestParser::Impl::HasBareLineFeed(std::string_view bytes) {
  for (; n_scanned_ < bytes.size() && !scanned_all_; ++n_scanned_) {
    if (bytes[n_scanned_] != '\n') {
      ++n_line_bytes_;
      continue;
    }
    // Bytes that were used end with a line, so that the CR is still there.
    if (n_scanned_ == 0 || bytes[n_scanned_ - 1] != '\r') return true;
    scanned_all_ = n_line_bytes_ == 1;  // the CR
    n_line_bytes_ = 0;
  }
  return false;
}

std::size_t RequestParser::Impl::Push(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !is_done()) {
    const bool in_header = !is_header_done();
    const std::string_view left = bytes.substr(used);
    if (in_header && HasBareLineFeed(left)) {
      fault = RequestFault{400, "malformed HTTP request: a line that ends without CR"};
      return used;
    }
    // Beast counts on as much once the last chunk is in sight; less than that always goes on.
    if (!in_header && n_codings_ > 0 && left.size() < kLeastChunked) return used;
    error_code code;
    const std::size_t n = put({left.data(), left.size()}, code);
    used += n;
    n_scanned_ -= std::min(n, n_scanned_);
    if (in_header) {
      const std::string_view taken = left.substr(0, n);
      if (taken.find("\r\n ") != taken.npos || taken.find("\r\n\t") != taken.npos) {
        fault = RequestFault{400, "malformed HTTP request: a folded header"};
        return used;
      }
    }
    if (code == http::error::need_more) {
      if (!in_header && AnyLineWithoutCr(bytes.substr(used))) {
        fault = RequestFault{400, "malformed HTTP request: a line that ends without CR"};
      }
      // What a size line, an extension or trailers of chunks may take until their end is seen.
      if (bytes.size() - used >= limits_.header_bytes) fault = FaultOf(http::error::header_limit);
      return used;
    }
    if (code) {
      if (!fault) fault = FaultOf(code);
      return used;
    }
    if (in_header && is_header_done()) return used;
  }
  return used;
}

void RequestParser::Impl::on_request_impl(http::verb, beast::string_view method,
                                          beast::string_view target, int version,
                                          error_code& code) {
  if (target.size() > limits_.target_bytes)
    return Fail(414, "the request's target is too long", code);
  if (target.empty() || target.front() != '/') {
    return Fail(400, "malformed HTTP request: the target is not a path", code);
  }
  const std::string_view text(target.data(), target.size());
  auto path = PercentDecoded(text.substr(0, text.find_first_of("?#")));
  if (!path) return Fail(400, "malformed HTTP request: a bad escape in the path", code);
  request.method.assign(method.data(), method.size());
  request.path = *std::move(path);
  request.http11 = version == 11;
}

void RequestParser::Impl::on_field_impl(http::field field, beast::string_view name,
                                        beast::string_view value, error_code& code) {
  if (in_trailers_) return;  // Nothing that comes behind the body may change what was checked.
  if (request.headers.size() == limits_.n_headers) return Fail(431, "too many headers", code);
  if (field == http::field::host) ++n_hosts_;
  if (field == http::field::content_length && (++n_lengths_ > 1 || !IsDigits(value))) {
    return Fail(400, "malformed HTTP request: Content-Length must be one number", code);
  }
  if (field == http::field::transfer_encoding) {
    ++n_codings_;
    if (!beast::iequals(value, "chunked") || !request.http11) {
      return Fail(400, "malformed HTTP request: the only transfer coding is chunked", code);
    }
  }
  if (field == http::field::expect) expects_continue = beast::iequals(value, "100-continue");
  request.headers.emplace_back(LowerAscii({name.data(), name.size()}), std::string(value));
}

void RequestParser::Impl::on_header_impl(error_code& code) {
  in_trailers_ = true;
  if (n_lengths_ + n_codings_ > 1) {
    return Fail(400, "malformed HTTP request: more than one length of the body", code);
  }
  if (n_hosts_ > 1 || (n_hosts_ == 0 && request.http11)) {
    return Fail(400, "malformed HTTP request: exactly one Host header is needed", code);
  }
}

RequestParser::RequestParser(const RequestLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::Push(std::string_view bytes) {
  const std::size_t used = impl_->Push(bytes);
  if (impl_->is_header_done()) impl_->request.keep_alive = impl_->keep_alive();
  return used;
}

bool RequestParser::header_done() const { return impl_->is_header_done(); }
bool RequestParser::done() const { return impl_->is_done(); }
const std::optional<RequestFault>& RequestParser::fault() const { return impl_->fault; }
bool RequestParser::expects_continue() const { return impl_->expects_continue; }
HttpRequest& RequestParser::request() { return impl_->request; }

}  // namespace lattice::server
