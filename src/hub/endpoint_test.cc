#include "hub/endpoint.h"

#include <gtest/gtest.h>

namespace lattice::hub {
namespace {

TEST(EndpointTest, HttpIsForThisMachineOnly) {
  for (const char* good : {"", "https://mirror.example/hub/", "http://127.0.0.1:8080",
                           "http://localhost", "http://[::1]:1"}) {
    EXPECT_TRUE(Endpoint::Parse(good, "")) << good;
  }
  for (const char* bad :
       {"http://mirror.example", "ftp://mirror.example", "mirror.example/x y", "https://",
        "https://a:b@mirror.example", "https://mirror.example?x", "http://127.0.0.1.example.org",
        "http://127.evil.example", "file:///etc/passwd", "https://mirror.example\r\nX: y"}) {
    const auto endpoint = Endpoint::Parse(bad, "");
    ASSERT_FALSE(endpoint) << bad;
    EXPECT_EQ(endpoint.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(EndpointTest, TheTokenGoesToItsOwnOriginOnly) {
  const auto endpoint = Endpoint::Parse("https://Hub.example/mirror", "t0ken");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->AuthorizationFor("https://hub.example/x"), "Authorization: Bearer t0ken");
  EXPECT_EQ(endpoint->AuthorizationFor("https://hub.example:443/x"), "Authorization: Bearer t0ken");
  for (const char* other :
       {"http://hub.example/x", "https://hub.example:444/x", "https://cdn.hub.example/x",
        "https://hub.example.org/x", "https://hub.example@evil.example/x", "nonsense"}) {
    EXPECT_EQ(endpoint->AuthorizationFor(other), "") << other;
  }
}

TEST(EndpointTest, ATokenCannotSmuggleAHeader) {
  EXPECT_FALSE(Endpoint::Parse("", "a\r\nX-Evil: 1"));
  EXPECT_FALSE(Endpoint::Parse("", "a b"));
}

TEST(EndpointTest, APublicHubCannotSendUsToThisMachine) {
  const auto endpoint = Endpoint::Parse("https://hub.example", "");
  EXPECT_TRUE(endpoint->Admit("https://cdn.example/x"));
  for (const char* bad : {"http://cdn.example/x", "http://127.0.0.1/x", "https://127.0.0.1/x",
                          "https://localhost/x", "http://2130706433/x", "gopher://x/"}) {
    EXPECT_FALSE(endpoint->Admit(bad)) << bad;
  }
}

TEST(EndpointTest, UrlsAreEscaped) {
  const auto endpoint = Endpoint::Parse("https://hub.example/", "");
  EXPECT_EQ(endpoint->ListingUrl("a/b", "refs/pr/1"),
            "https://hub.example/api/models/a/b/revision/refs%2Fpr%2F1?blobs=true");
  EXPECT_EQ(endpoint->FileUrl("a/b", "c0", "1_Pooling/x+y.json"),
            "https://hub.example/a/b/resolve/c0/1_Pooling/x%2By.json");
}

}  // namespace
}  // namespace lattice::hub
