#include "server/http/guard.h"

#include <algorithm>
#include <charconv>

#include "server/http/ascii.h"

namespace lattice::server {
namespace {

bool IsNumber(std::string_view text, unsigned max) {
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && at == end && value <= max;
}

bool IsLoopbackV4(std::string_view host) {
  std::size_t n_parts = 0;
  while (true) {
    const std::size_t dot = std::min(host.find('.'), host.size());
    const std::string_view part = host.substr(0, dot);
    if (part.size() > 3 || !IsNumber(part, 255)) return false;
    if (n_parts++ == 0 && part != "127") return false;
    if (dot == host.size()) return n_parts == 4;
    host.remove_prefix(dot + 1);
  }
}

bool IsLocalName(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost") || name == "[::1]" ||
         IsLoopbackV4(name);
}

bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

/// The key of "Authorization: Bearer KEY" or "x-api-key: KEY".
std::optional<std::string_view> KeyOf(const HttpRequest& request) {
  if (const auto header = request.Header("authorization")) {
    constexpr std::string_view kScheme = "bearer ";
    if (header->size() > kScheme.size() &&
        EqualsIgnoringCase(header->substr(0, kScheme.size()), kScheme)) {
      return header->substr(kScheme.size());
    }
  }
  return request.Header("x-api-key");
}

/// Some clients (LiteLLM's for Ollama) name no type at all. A page in a browser can leave it out,
/// too, but then the browser says whose page it is.
bool HasJsonType(const HttpRequest& request) {
  const auto type = request.Header("content-type");
  if (!type) return !request.Header("origin") && !request.Header("sec-fetch-site");
  return EqualsIgnoringCase(type->substr(0, type->find_first_of("; \t")), "application/json");
}

}  // namespace

std::optional<std::string> HostName(std::string_view host) {
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == host.npos) return std::nullopt;
  const std::size_t colon = host.find(':', bracket);
  if (colon != host.npos && !IsNumber(host.substr(colon + 1), 65535)) return std::nullopt;
  std::string name = LowerAscii(host.substr(0, colon));
  if (name.empty()) return std::nullopt;
  return name;
}

bool IsLocalHost(std::string_view host) {
  const auto name = HostName(host);
  return name && IsLocalName(*name);
}

std::optional<std::string_view> Guard::GrantedOrigin(const HttpRequest& request) const {
  const auto origin = request.Header("origin");
  return origin && Contains(allowed_origins, *origin) ? origin : std::nullopt;
}

std::optional<ApiError> Guard::Refusal(const HttpRequest& request, bool needs_key) const {
  const std::string_view host = request.Header("host").value_or("");
  if (only_local_hosts && (!host.empty() || request.http11)) {
    const auto name = HostName(host);
    if (!name || (!IsLocalName(*name) && !Contains(allowed_hosts, *name))) {
      return ApiError{.status = 403,
                      .message =
                          "this server answers requests for localhost only; --allow-host "
                          "names further hosts",
                      .code = "host_not_allowed"};
    }
  }
  if (const auto origin = request.Header("origin")) {
    const bool own = *origin == (over_tls ? "https://" : "http://") + std::string(host);
    if (!own && !Contains(allowed_origins, *origin)) {
      return ApiError{.status = 403,
                      .message =
                          "this server does not answer web pages of other origins; "
                          "--allow-origin names those that may ask",
                      .code = "origin_not_allowed"};
    }
  }
  if (needs_key && !keys.empty() && request.method != "OPTIONS") {
    const auto key = KeyOf(request);
    if (!key || !keys.Accepts(*key)) {
      return ApiError{.status = 401,
                      .message = key ? "the API key is not one of this server's"
                                     : "an API key is needed: Authorization: Bearer KEY",
                      .code = "invalid_api_key"};
    }
  }
  if (request.method == "POST") {
    if (const auto coding = request.Header("content-encoding"); coding && *coding != "identity") {
      return ApiError{.status = 415, .message = "compressed request bodies are not read"};
    }
    if (!HasJsonType(request)) {
      return ApiError{.status = 415,
                      .message = "the body must be JSON, with Content-Type: application/json"};
    }
  }
  return std::nullopt;
}

}  // namespace lattice::server
