#pragma once

#include <string>
#include <string_view>

#include "lattice/result.h"

namespace lattice::hub {

/// Scheme, host and port of a URL, in the form that they are compared in.
struct Origin {
  std::string scheme;  ///< Lower case.
  std::string host;    ///< Lower case.
  std::string port;    ///< The scheme's own when the URL has none.
  bool operator==(const Origin&) const = default;

  /// This machine: 127.0.0.0/8, [::1] or localhost.
  bool IsLoopback() const;
};

/// kInvalidArgument when that is no absolute http(s) URL, or one with a user name in it.
Result<Origin> ParseOrigin(const std::string& url);

/// The hub that a pull talks to, and the rules for every URL that it may be sent to.
class Endpoint {
 public:
  /// "https://host[:port][/path]", or http for a host on this machine; empty: the public hub. The
  /// token may be empty; it must be printable ASCII. kInvalidArgument otherwise.
  static Result<Endpoint> Parse(std::string_view url, std::string_view token);

  const std::string& url() const { return url_; }  ///< No '/' at its end.
  bool IsLoopback() const { return origin_.IsLoopback(); }

  /// Whether a request, or a redirect, may go to `url`: https anywhere; http only on this machine,
  /// and only if the endpoint itself is there.
  Status Admit(const std::string& url) const;

  /// "Authorization: Bearer ..." if `url` has the endpoint's own origin and there is a token.
  std::string AuthorizationFor(const std::string& url) const;

  /// PATH of a repository's file or revision, percent-encoded; '/' stays in `path`, not in
  /// `revision`.
  std::string ListingUrl(const std::string& model, std::string_view revision) const;
  std::string FileUrl(const std::string& model, std::string_view commit,
                      std::string_view path) const;

 private:
  Endpoint(std::string url, std::string token, Origin origin)
      : url_(std::move(url)), token_(std::move(token)), origin_(std::move(origin)) {}
  std::string url_, token_;
  Origin origin_;
};

}  // namespace lattice::hub
