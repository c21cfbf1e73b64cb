#include "hub/endpoint.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace lattice::hub {
namespace {

constexpr std::string_view kPublicHub = "https://huggingface.co";
constexpr std::size_t kMaxUrlBytes = 8192;

Error BadUrl(const std::string& url, const char* why) {
  return Error{ErrorCode::kInvalidArgument, "URL '" + url.substr(0, 200) + "' " + why};
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

std::string Escaped(std::string_view text, std::string_view also_plain) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_' || c == '.' || c == '~' ||
                       also_plain.find(c) != also_plain.npos;
    if (plain) {
      escaped += c;
    } else {
      escaped += '%';
      escaped += kDigits[static_cast<unsigned char>(c) >> 4];
      escaped += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return escaped;
}

bool IsPrintableAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

bool Origin::IsLoopback() const {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

Result<Origin> ParseOrigin(const std::string& url) {
  if (url.size() > kMaxUrlBytes || !IsPrintableAscii(url)) return BadUrl(url, "is malformed");
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return BadUrl(url, "is malformed");
  }
  Origin origin{Lower(Part(parsed.get(), CURLUPART_SCHEME)),
                Lower(Part(parsed.get(), CURLUPART_HOST)),
                Part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  if (origin.scheme != "https" && origin.scheme != "http") {
    return BadUrl(url, "is neither https nor http");
  }
  if (origin.host.empty() || origin.port.empty()) return BadUrl(url, "has no host");
  if (!Part(parsed.get(), CURLUPART_USER).empty()) return BadUrl(url, "has a user name in it");
  return origin;
}

Result<Endpoint> Endpoint::Parse(std::string_view url, std::string_view token) {
  std::string text(url.empty() ? kPublicHub : url);
  while (text.ends_with('/')) text.pop_back();
  if (text.find_first_of("?#") != text.npos) return BadUrl(text, "must end with its path");
  LATTICE_TRY(Origin origin, ParseOrigin(text));
  if (origin.scheme == "http" && !origin.IsLoopback()) {
    return BadUrl(text, "must be https: http is for hosts on this machine");
  }
  if (!IsPrintableAscii(token)) {
    return Error{ErrorCode::kInvalidArgument, "the hub token has characters that no token has"};
  }
  return Endpoint(std::move(text), std::string(token), std::move(origin));
}

Status Endpoint::Admit(const std::string& url) const {
  LATTICE_TRY(const Origin target, ParseOrigin(url));
  if (target.IsLoopback() && !IsLoopback()) return BadUrl(url, "leads to this machine: refused");
  if (target.scheme == "http" && !target.IsLoopback()) {
    return BadUrl(url, "is not https: refused");
  }
  return Ok();
}

std::string Endpoint::AuthorizationFor(const std::string& url) const {
  if (token_.empty()) return "";
  const Result<Origin> target = ParseOrigin(url);
  return target && *target == origin_ ? "Authorization: Bearer " + token_ : "";
}

std::string Endpoint::ListingUrl(const std::string& model, std::string_view revision) const {
  return url_ + "/api/models/" + model + "/revision/" + Escaped(revision, "") + "?blobs=true";
}

std::string Endpoint::FileUrl(const std::string& model, std::string_view commit,
                              std::string_view path) const {
  return url_ + "/" + model + "/resolve/" + Escaped(commit, "") + "/" + Escaped(path, "/");
}

}  // namespace lattice::hub
