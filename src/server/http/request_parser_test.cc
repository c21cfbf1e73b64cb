#include "server/http/request_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "server/http/test_feed.h"

namespace lattice::server {
namespace {

constexpr std::string_view kPost =
    "POST /v1/models/a%2Fb?x=%00 HTTP/1.1\r\nHost: localhost\r\nX-Odd:  two  words \r\n"
    "Content-Length: 5\r\n\r\nhello";
constexpr std::string_view kChunked =
    "POST /v1/models/a%2Fb HTTP/1.1\r\nhost: localhost\r\nx-odd: two  words\r\n"
    "Transfer-Encoding: Chunked\r\n\r\n2;name=value\r\nhe\r\n003\r\nllo\r\n0\r\n"
    "Content-Length: 7\r\n\r\n";

TEST(RequestParserTest, AnyPiecesGiveTheSameRequest) {
  for (std::size_t piece = 1; piece <= kPost.size(); ++piece) {
    RequestParser parser({});
    EXPECT_EQ(Feed(parser, kPost, piece), kPost.size());
    ASSERT_TRUE(parser.done()) << piece;
    EXPECT_EQ(parser.request().method, "POST");
    EXPECT_EQ(parser.request().path, "/v1/models/a/b");
    EXPECT_EQ(parser.request().Header("x-odd"), "two  words");
    EXPECT_EQ(parser.request().body, "hello");
    EXPECT_TRUE(parser.request().keep_alive);
  }
}

TEST(RequestParserTest, ChunksAreJoined) {
  for (std::size_t piece = 1; piece <= kChunked.size(); ++piece) {
    // Beast reads a content length in the trailers as one too many: it cannot change the request.
    RequestParser parser({});
    Feed(parser, kChunked, piece);
    EXPECT_TRUE(parser.fault().has_value());
    std::string bytes(kChunked);
    bytes.replace(bytes.rfind("Content-Length"), 14, "X-Ignored-Odd!");
    RequestParser second({});
    EXPECT_EQ(Feed(second, bytes, piece), bytes.size());
    ASSERT_TRUE(second.done()) << piece;
    EXPECT_EQ(second.request().body, "hello");
    EXPECT_FALSE(second.request().Header("x-ignored-odd!"));
  }
}

TEST(RequestParserTest, AnEmptyChunkedBodyMayComeInAnyPieces) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (const char* trailers : {"\r\n", "X: y\r\n\r\n"}) {
    const std::string bytes = head + trailers;
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      RequestParser parser({});
      EXPECT_EQ(Feed(parser, bytes + "GET", piece), bytes.size());
      EXPECT_TRUE(parser.done() && !parser.fault()) << piece;
    }
  }
}

TEST(RequestParserTest, LeavesTheNextRequest) {
  const std::string both = std::string(kPost) + "GET / HTTP/1.1\r\n";
  RequestParser parser({});
  EXPECT_EQ(Feed(parser, both, both.size()), kPost.size());
  EXPECT_TRUE(parser.done());
}

TEST(RequestParserTest, StopsBehindTheHeaders) {
  RequestParser parser({});
  const std::size_t used = parser.Push(kPost);
  EXPECT_TRUE(parser.header_done());
  EXPECT_FALSE(parser.done());
  EXPECT_EQ(kPost.substr(used), "hello");
}

int StatusOf(std::string_view bytes, std::size_t piece, const RequestLimits& limits = {}) {
  RequestParser parser(limits);
  Feed(parser, bytes, piece);
  return parser.fault() ? parser.fault()->status : parser.done() ? 200 : 0;
}

TEST(RequestParserTest, RefusesWhatTwoReadersCouldReadDifferently) {
  const std::string host = "Host: localhost\r\n";
  const std::string post = "POST / HTTP/1.1\r\n" + host;
  const std::string bad[] = {
      post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
      post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
      post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
      post + "Content-Length: 5, 5\r\n\r\nhello",
      post + "Content-Length: +5\r\n\r\nhello",
      post + "Content-Length: -5\r\n\r\nhello",
      post + "Content-Length: 0x5\r\n\r\nhello",
      post + "Content-Length: 5 5\r\n\r\nhello",
      post + "Content-Length:\r\n\r\nhello",
      post + "Content-Length: 18446744073709551616\r\n\r\n",
      post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: identity\r\n\r\n",
      post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n",
      post + "X: 1\r\n Transfer-Encoding: chunked\r\n\r\n",
      post + "X: 1\r\n\tfolded\r\n\r\n",
      post + " X: 1\r\n\r\n",
      post + "X: 1\nContent-Length: 5\r\n\r\n",
      post + "X: 1\n\n",
      post + "X: 1\rY: 2\r\n\r\n",
      post + std::string("X: a\0b\r\n\r\n", 10),
      post + std::string("X\0: a\r\n\r\n", 9),
      post + ": nameless\r\n\r\n",
      post + "no colon\r\n\r\n",
      post + host + "\r\n",
      "POST / HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST  / HTTP/1.1\r\n" + host + "\r\n",
      "POST /\r\n\r\n",
      "POST / HTTP/1.1\n" + host + "\n",
      std::string("POST /\0 HTTP/1.1\r\n", 18) + host + "\r\n",
      "GET /%00 HTTP/1.1\r\n" + host + "\r\n",
      "GET /%2 HTTP/1.1\r\n" + host + "\r\n",
      "GET /%zz HTTP/1.1\r\n" + host + "\r\n",
      "GET http://localhost/ HTTP/1.1\r\n" + host + "\r\n",
      "GET * HTTP/1.1\r\n" + host + "\r\n",
      std::string("\0\0\0\0 / HTTP/1.1\r\n", 17) + host + "\r\n",
      "\x16\x03\x01\x02\x01 TLS, surely\r\n\r\n",
  };
  for (const std::string& bytes : bad) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
      EXPECT_EQ(StatusOf(bytes, piece), 400) << bytes << " in pieces of " << piece;
    }
  }
}

TEST(RequestParserTest, RefusesBadChunks) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& body :
       {std::string("-2\r\nab\r\n0\r\n\r\n"), std::string("+2\r\nab\r\n0\r\n\r\n"),
        std::string("0x2\r\nab\r\n0\r\n\r\n"), std::string("2\nab\n0\n\n"),
        std::string("2\r\nabc\r\n0\r\n\r\n"), std::string("2\r\nab0\r\n\r\n"),
        std::string("g\r\nab\r\n0\r\n\r\n"), std::string("\r\nab\r\n0\r\n\r\n"),
        std::string("fffffffffffffffff\r\nab\r\n0\r\n\r\n"), std::string("2 2\r\nab\r\n0\r\n\r\n"),
        std::string("2;a\0b\r\nab\r\n0\r\n\r\n", 16)}) {
    for (const std::size_t piece : {std::size_t{1}, head.size() + body.size()}) {
      EXPECT_EQ(StatusOf(head + body, piece), 400) << body << " in pieces of " << piece;
    }
  }
  EXPECT_EQ(StatusOf(head + "ffffffffffffffff\r\nab", 1), 413);
}

TEST(RequestParserTest, OtherVersionsAreNotSpoken) {
  EXPECT_EQ(StatusOf("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 1), 505);
  EXPECT_EQ(StatusOf("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 1), 505);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 1), 505);
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\n\r\n", 1), 200);
}

TEST(RequestParserTest, SizesHaveLimits) {
  const RequestLimits limits{
      .target_bytes = 100, .header_bytes = 1000, .n_headers = 5, .body_bytes = 10};
  const std::string line = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100'000}}) {
    const auto status = [&](const std::string& bytes) { return StatusOf(bytes, piece, limits); };
    EXPECT_EQ(status("GET /" + std::string(200, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
    EXPECT_EQ(status("GET /" + std::string(5000, 'a')), 431);
    EXPECT_EQ(status(line + "X: " + std::string(5000, 'a')), 431);
    EXPECT_EQ(status(line + "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\n\r\n"), 431);
    EXPECT_EQ(status(line + "Content-Length: 11\r\n\r\n"), 413);
    EXPECT_EQ(status(line + "Content-Length: 10\r\n\r\n0123456789"), 200);
    const std::string chunked = line + "Transfer-Encoding: chunked\r\n\r\n";
    EXPECT_EQ(status(chunked + "8\r\n01234567\r\n3\r\n012\r\n"), 413);
    EXPECT_EQ(status(chunked + "1;" + std::string(5000, 'a')), 431);
    EXPECT_EQ(status(chunked + "0\r\nX: " + std::string(5000, 'a')), 431);
  }
}

TEST(RequestParserTest, KeepsAliveAsTheVersionSays) {
  const auto keep_alive = [](const std::string& bytes) {
    RequestParser parser({});
    Feed(parser, bytes, bytes.size());
    EXPECT_TRUE(parser.done());
    return parser.request().keep_alive;
  };
  EXPECT_TRUE(keep_alive("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keep_alive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

}  // namespace
}  // namespace lattice::server
