#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/api_error.h"
#include "server/http/api_keys.h"
#include "server/http/message.h"

namespace lattice::server {

/// Who may ask. Judged when the headers are there, before the body is read.
struct Guard {
  /// Requests must name this machine as their host: a page in a browser that was made to resolve to
  /// it (DNS rebinding) names another.
  bool only_local_hosts = true;
  std::vector<std::string> allowed_hosts = {};    ///< Further names, lower case, without port.
  std::vector<std::string> allowed_origins = {};  ///< "https://example.org": pages that may ask.
  ApiKeys keys = {};
  bool over_tls = false;  ///< This server's own pages begin with https.

  /// Why the request is refused, if it is: 403 for its Host or Origin, 401 for its key, 415 for a
  /// body that is no JSON. `needs_key`: the route is not an open one.
  std::optional<ApiError> Refusal(const HttpRequest& request, bool needs_key) const;

  /// The Origin to name in the answer, if its page may read it.
  std::optional<std::string_view> GrantedOrigin(const HttpRequest& request) const;
};

/// "localhost", a name that ends in ".localhost", 127.x.y.z, [::1]; a port may follow.
bool IsLocalHost(std::string_view host);

/// Host without port, lower case; absent when it is malformed.
std::optional<std::string> HostName(std::string_view host);

}  // namespace lattice::server
