#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lattice::server {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// A request as it was read.
struct HttpRequest {
  std::string method;  ///< As sent: "GET".
  std::string path;    ///< Percent-decoded, without the query; begins with '/'.
  HeaderList headers;  ///< Names in lower case.
  std::string body;
  bool keep_alive = true;
  bool http11 = true;

  /// The value of the first header of that (lower-case) name.
  std::optional<std::string_view> Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  HeaderList headers = {};  ///< Besides those of transport: type, length, connection, date.
  std::string body = {};
};

}  // namespace lattice::server
