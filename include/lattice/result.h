#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "lattice/check.h"

namespace lattice {

/// What a caller can do about a failure. Front-ends map this to an exit code or an HTTP status.
enum class ErrorCode {
  kInvalidArgument,    ///< The caller's request is wrong; retrying it unchanged cannot succeed.
  kCorruptData,        ///< A file or message breaks its own format.
  kUnsupported,        ///< Well formed, but this build or device cannot do it.
  kNotFound,           ///< A named file, tensor, model or adapter does not exist.
  kResourceExhausted,  ///< Out of memory, context length, queue space or quota.
  kCancelled,          ///< The caller gave up, or a deadline passed.
  kInternal,           ///< A bug of ours.
};

struct Error {
  ErrorCode code;
  std::string message;  ///< For people: names the file, the tensor, the numbers.

  /// Adds what the caller was doing, outermost first: "loading model.gguf: tensor 'a.b': ...".
  Error Within(std::string_view doing) && {
    message.insert(0, std::string(doing) + ": ");
    return std::move(*this);
  }
};

/// Either a T or the Error that explains its absence. Member names follow std::expected, so the
/// type can be replaced by it once the toolchain is at C++23.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    LATTICE_CHECK(has_value());
    return std::get<0>(state_);
  }
  const T& value() const& {
    LATTICE_CHECK(has_value());
    return std::get<0>(state_);
  }
  T value() && {
    LATTICE_CHECK(has_value());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    LATTICE_CHECK(!has_value());
    return std::get<1>(state_);
  }
  Error error() && {
    LATTICE_CHECK(!has_value());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

/// For operations that yield nothing.
using Status = Result<std::monostate>;
inline Status Ok() { return std::monostate{}; }

}  // namespace lattice

#define LATTICE_CONCAT_INNER(a, b) a##b
#define LATTICE_CONCAT(a, b) LATTICE_CONCAT_INNER(a, b)

/// `LATTICE_TRY(auto header, ParseHeader(bytes));` binds the value or returns the error.
#define LATTICE_TRY(declaration, expression) \
  LATTICE_TRY_IMPL(LATTICE_CONCAT(lattice_try_, __COUNTER__), declaration, expression)
#define LATTICE_TRY_IMPL(result, declaration, expression) \
  auto result = (expression);                             \
  if (!result) return std::move(result).error();          \
  declaration = std::move(result).value()

/// `LATTICE_TRY_VOID(file.Sync());` returns the error, if there is one.
#define LATTICE_TRY_VOID(expression) \
  if (auto lattice_status = (expression); !lattice_status) return std::move(lattice_status).error()
