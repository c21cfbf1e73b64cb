#pragma once

#include <string>
#include <utility>
#include <variant>

#include "lattice/result.h"
#include "server/http/message.h"

namespace lattice::server {

/// An error as clients of OpenAI's API read it. `param` and `code` are null when empty.
struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};
  std::string code = {};
  int retry_after_s = 1;  ///< Of 429 and 503: when to ask again.
};

/// What a request was read as, or the error to answer it with. Goes with LATTICE_TRY as Result
/// does.
template <typename T>
class [[nodiscard]] ApiResult {
 public:
  ApiResult(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  // NOLINTNEXTLINE: implicit
  ApiResult(ApiError error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  T value() && { return std::get<0>(std::move(state_)); }
  const ApiError& error() const& { return std::get<1>(state_); }
  ApiError error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, ApiError> state_;
};

/// "invalid_request_error", "authentication_error", ...: the kind that goes with a status.
const char* ErrorType(int status);

/// {"error": {"message", "type", "param", "code"}} as text; ill-formed UTF-8 becomes U+FFFD.
std::string ErrorBody(const ApiError& error);

/// With what clients retry by: deterministic failures say that a retry is useless, others when to
/// come again.
HttpResponse ErrorResponse(const ApiError& error);

/// What an error of the rooms below means to a client. The status of a request that was well formed
/// but that the model cannot serve (a template that refuses it, too many tokens) is 400, too.
ApiError FromError(const Error& error);

}  // namespace lattice::server
