#include "server/http/api_error.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/utf8.h"

namespace lattice::server {
namespace {

boost::json::value TextOrNull(const std::string& text) {
  if (text.empty()) return nullptr;
  return boost::json::value(ToValidUtf8(text));
}

}  // namespace

const char* ErrorType(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string ErrorBody(const ApiError& error) {
  boost::json::object inner = {{"message", ToValidUtf8(error.message)},
                               {"type", ErrorType(error.status)},
                               {"param", TextOrNull(error.param)},
                               {"code", TextOrNull(error.code)}};
  return boost::json::serialize(boost::json::object{{"error", std::move(inner)}});
}

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = ErrorBody(error)};
  if (error.status == 429 || error.status == 503) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  } else {
    response.headers.emplace_back("X-Should-Retry", "false");
  }
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiError FromError(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
      return {.status = 400, .message = error.message};
    case ErrorCode::kNotFound:
      return {.status = 404, .message = error.message};
    case ErrorCode::kResourceExhausted:
      return {.status = 503, .message = error.message, .code = "overloaded"};
    case ErrorCode::kCancelled:
      return {.status = 503, .message = error.message, .code = "cancelled"};
    case ErrorCode::kCorruptData:
    case ErrorCode::kInternal:
      break;
  }
  return {.status = 500, .message = error.message};
}

}  // namespace lattice::server
