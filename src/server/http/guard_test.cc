#include "server/http/guard.h"

#include <gtest/gtest.h>

#include <string>

namespace lattice::server {
namespace {

HttpRequest Request(HeaderList headers, std::string method = "GET") {
  HttpRequest request;
  request.method = std::move(method);
  request.path = "/";
  request.headers = std::move(headers);
  return request;
}

int StatusOf(const Guard& guard, const HttpRequest& request, bool needs_key = true) {
  const auto refusal = guard.Refusal(request, needs_key);
  return refusal ? refusal->status : 200;
}

TEST(GuardTest, KnowsThisMachine) {
  for (const char* host : {"localhost", "LocalHost:80", "127.0.0.1", "127.255.0.3:65535", "[::1]",
                           "[::1]:8080", "studio.localhost:1"}) {
    EXPECT_TRUE(IsLocalHost(host)) << host;
  }
  for (const char* host : {"",
                           ":80",
                           "evil.com",
                           "localhost.evil.com",
                           "127.0.0.1.evil.com",
                           "127.0.0",
                           "127.1",
                           "128.0.0.1",
                           "127.0.0.256",
                           "127.0.0.0001",
                           "127.0.0.1:",
                           "127.0.0.1:65536",
                           "localhost:8o",
                           "[::2]",
                           "[::1",
                           "::1",
                           "localhost@evil.com",
                           "localhost:80:80",
                           "evil.com#localhost",
                           "0.0.0.0",
                           "127.0.0.1.",
                           "localhost."}) {
    EXPECT_FALSE(IsLocalHost(host)) << host;
  }
}

TEST(GuardTest, OtherHostsAreRefusedUnlessNamed) {
  Guard guard;
  EXPECT_EQ(StatusOf(guard, Request({{"host", "localhost:8080"}})), 200);
  EXPECT_EQ(StatusOf(guard, Request({{"host", "rebound.example:8080"}})), 403);
  EXPECT_EQ(StatusOf(guard, Request({})), 403);
  guard.allowed_hosts = {"rebound.example"};
  EXPECT_EQ(StatusOf(guard, Request({{"host", "Rebound.Example:8080"}})), 200);
  guard.allowed_hosts.clear();
  guard.only_local_hosts = false;
  EXPECT_EQ(StatusOf(guard, Request({{"host", "rebound.example"}})), 200);
}

TEST(GuardTest, PagesOfOtherOriginsAreRefusedUnlessNamed) {
  Guard guard;
  const auto with = [](std::string origin) {
    return Request({{"host", "localhost:8080"}, {"origin", std::move(origin)}});
  };
  EXPECT_EQ(StatusOf(guard, with("http://localhost:8080")), 200);
  for (const char* origin : {"http://localhost:3000", "https://evil.example", "null", "",
                             "http://localhost:8080.evil.example", "file://"}) {
    EXPECT_EQ(StatusOf(guard, with(origin)), 403) << origin;
  }
  guard.allowed_origins = {"https://app.example"};
  EXPECT_EQ(StatusOf(guard, with("https://app.example")), 200);
  EXPECT_EQ(guard.GrantedOrigin(with("https://app.example")), "https://app.example");
  EXPECT_EQ(guard.GrantedOrigin(with("http://localhost:8080")), std::nullopt);
}

TEST(GuardTest, OverTlsItsOwnPagesAreHttps) {
  Guard guard;
  guard.over_tls = true;
  EXPECT_EQ(StatusOf(guard, Request({{"host", "localhost:1"}, {"origin", "https://localhost:1"}})),
            200);
  EXPECT_EQ(StatusOf(guard, Request({{"host", "localhost:1"}, {"origin", "http://localhost:1"}})),
            403);
}

TEST(GuardTest, KeysOpenWhatIsNotOpen) {
  Guard guard;
  ASSERT_TRUE(guard.keys.Add("# two keys\n\n  first-key \r\nsecond-key", "keys"));
  const auto with = [](std::string name, std::string value) {
    return Request({{"host", "localhost"}, {std::move(name), std::move(value)}});
  };
  EXPECT_EQ(StatusOf(guard, with("authorization", "Bearer first-key")), 200);
  EXPECT_EQ(StatusOf(guard, with("authorization", "bearer second-key")), 200);
  EXPECT_EQ(StatusOf(guard, with("x-api-key", "second-key")), 200);
  for (const char* value : {"Bearer ", "Bearer", "first-key", "Basic first-key", "Bearer first-ke",
                            "Bearer first-key2", "Bearer # two keys", "Bearer  first-key"}) {
    EXPECT_EQ(StatusOf(guard, with("authorization", value)), 401) << value;
  }
  EXPECT_EQ(StatusOf(guard, with("x-api-key", "third-key")), 401);
  EXPECT_EQ(StatusOf(guard, with("x-api-key", "third-key"), /*needs_key=*/false), 200);
}

TEST(GuardTest, KeysAreLinesOfVisibleCharacters) {
  ApiKeys keys;
  EXPECT_FALSE(keys.Add("", "keys"));
  EXPECT_FALSE(keys.Add("# nothing\n\n", "keys"));
  EXPECT_FALSE(keys.Add("a b", "keys"));
  const auto bad = keys.Add("good\nsecr\xc3\xa9t", "keys.txt");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.find("secr"), std::string::npos);
  EXPECT_NE(bad.error().message.find("keys.txt: line 2"), std::string::npos);
}

TEST(GuardTest, BodiesAreJson) {
  const Guard guard;
  const auto with = [](HeaderList headers) {
    headers.emplace_back("host", "localhost");
    return Request(std::move(headers), "POST");
  };
  EXPECT_EQ(StatusOf(guard, with({{"content-type", "Application/JSON; charset=utf-8"}})), 200);
  EXPECT_EQ(StatusOf(guard, with({{"content-type", "text/plain"}})), 415);
  EXPECT_EQ(StatusOf(guard, with({{"content-type", "application/jsonp"}})), 415);
  EXPECT_EQ(StatusOf(guard, with({{"content-type", ""}})), 415);
  // Without any: not from a browser.
  EXPECT_EQ(StatusOf(guard, with({})), 200);
  EXPECT_EQ(StatusOf(guard, with({{"origin", "http://localhost"}})), 415);
  EXPECT_EQ(StatusOf(guard, with({{"sec-fetch-site", "same-origin"}})), 415);
  EXPECT_EQ(
      StatusOf(guard, with({{"content-type", "application/json"}, {"content-encoding", "gzip"}})),
      415);
}

}  // namespace
}  // namespace lattice::server
