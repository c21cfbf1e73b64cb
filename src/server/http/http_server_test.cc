#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lattice::server {
namespace {

using std::chrono::milliseconds;

/// A client that sends bytes as they are.
class Client {
 public:
  explicit Client(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Send(std::string_view bytes) {
    (void)send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  /// All until the server closes.
  std::string ReadAll() {
    std::string all;
    while (ReadOnce(all)) {
    }
    return all;
  }
  /// Until what was read contains `text` or the server closes.
  std::string ReadUntil(std::string_view text) {
    std::string all;
    while (all.find(text) == all.npos && ReadOnce(all)) {
    }
    return all;
  }

 private:
  bool ReadOnce(std::string& all) {
    char piece[4096];
    const ssize_t n = recv(socket_, piece, sizeof(piece), 0);
    if (n > 0) all.append(piece, static_cast<std::size_t>(n));
    return n > 0;
  }
  const int socket_;
};

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpOptions options = {}) {
    options.port = 0;
    auto server = HttpServer::Listen(
        std::move(options), [this](std::shared_ptr<Exchange> exchange) { Handle(exchange); },
        [this](const RequestRecord& record) {
          const std::scoped_lock lock(mutex_);
          records_.push_back(record);
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    EXPECT_TRUE(server_->is_local());
    thread_ = std::jthread([this](const std::stop_token& stop) { (void)server_->Run(stop); });
  }
  void Stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }
  void TearDown() override {
    Stop();
    kept_.clear();
  }

  void Handle(const std::shared_ptr<Exchange>& exchange) {
    const std::string& path = exchange->request().path;
    if (path == "/drop") return;
    if (path == "/keep" || path == "/stream") {
      if (path == "/stream")
        exchange->BeginStream({.content_type = "text/event-stream"}, ": p\n\n");
      const std::scoped_lock lock(mutex_);
      kept_.push_back(exchange);
      return;
    }
    if (path == "/cut") {
      exchange->BeginStream({}, "");
      exchange->Write("a beginning");
      return;
    }
    exchange->Reply({.content_type = "text/plain", .body = path + " " + exchange->request().body});
  }

  std::shared_ptr<Exchange> Kept() {
    while (true) {
      {
        const std::scoped_lock lock(mutex_);
        if (!kept_.empty()) return kept_.back();
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  std::vector<RequestRecord> Records() {
    const std::scoped_lock lock(mutex_);
    return records_;
  }
  static void Await(const std::stop_token& token) {
    for (int i = 0; i < 10'000 && !token.stop_requested(); ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(token.stop_requested());
  }
  std::string address() const { return server_->address(); }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> kept_;
  std::vector<RequestRecord> records_;
  std::unique_ptr<HttpServer> server_;
  std::jthread thread_;
};

constexpr std::string_view kPost =
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: 2\r\n\r\n{}";
constexpr std::string_view kClose =
    "GET /end HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

std::string Get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

TEST_F(HttpServerTest, AnswersRequestsThatComeByteByByteAndTogether) {
  Start();
  Client slow(address());
  for (const char c : std::string(kPost) + std::string(kClose)) slow.Send({&c, 1});
  const std::string answer = slow.ReadAll();
  EXPECT_EQ(Count(answer, "HTTP/1.1 200 OK\r\n"), 2u) << answer;
  EXPECT_NE(answer.find("\r\n\r\n/echo {}HTTP/1.1"), answer.npos) << answer;
  Client all(address());
  all.Send(std::string(kPost) + std::string(kPost) + std::string(kClose));
  EXPECT_EQ(Count(all.ReadAll(), "HTTP/1.1 200 OK\r\n"), 3u);
}

TEST_F(HttpServerTest, ABadRequestIsAnsweredAndEndsTheConnection) {
  Start();
  Client client(address());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
      Get("/smuggled"));
  const std::string answer = client.ReadAll();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_EQ(Count(answer, "HTTP/1.1"), 1u) << answer;
  EXPECT_NE(answer.find("\"type\":\"invalid_request_error\""), answer.npos) << answer;
  Client next(address());
  next.Send(kClose);
  EXPECT_TRUE(next.ReadAll().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, StreamsComeInChunksAndEnd) {
  Start({.ping_time = milliseconds(20)});
  Client client(address());
  client.Send(Get("/stream"));
  const auto exchange = Kept();
  std::string answer = client.ReadUntil(": p\n\n");  // silence is filled
  EXPECT_TRUE(exchange->Write("data: one\n\n"));
  EXPECT_TRUE(exchange->Write("data: two\n\n"));
  exchange->EndStream();
  answer += client.ReadUntil("\r\n0\r\n\r\n");
  EXPECT_NE(answer.find("Transfer-Encoding: chunked\r\n"), answer.npos);
  EXPECT_NE(answer.find("data: one\n\n"), answer.npos);
  client.Send(kClose);  // the connection lives on
  EXPECT_TRUE(client.ReadAll().starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, AnOldClientReadsAStreamToTheEndOfTheConnection) {
  Start();
  Client client(address());
  client.Send("GET /stream HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  const auto exchange = Kept();
  EXPECT_TRUE(exchange->Write("all of it"));
  exchange->EndStream();
  const std::string answer = client.ReadAll();
  EXPECT_TRUE(answer.ends_with("\r\n\r\nall of it")) << answer;
  EXPECT_EQ(answer.find("chunked"), answer.npos);
}

TEST_F(HttpServerTest, WhatNobodyAnswersIsAnError) {
  Start();
  Client dropped(address());
  dropped.Send(Get("/drop"));
  EXPECT_TRUE(dropped.ReadUntil("}}").starts_with("HTTP/1.1 500 "));
  Client cut(address());
  cut.Send(Get("/cut"));
  const std::string answer = cut.ReadAll();
  EXPECT_EQ(answer.find("\r\n0\r\n"), answer.npos)
      << "a cut stream must not look whole: " << answer;
}

TEST_F(HttpServerTest, AClientThatLeavesIsNoticed) {
  Start();
  std::stop_token waiting, streaming;
  {
    Client client(address());
    client.Send(Get("/keep"));
    waiting = Kept()->gone();
    EXPECT_FALSE(waiting.stop_requested());
  }
  Await(waiting);
  kept_.clear();
  {
    Client client(address());
    client.Send(Get("/stream"));
    streaming = Kept()->gone();
    client.ReadUntil("\r\n\r\n");
  }
  Await(streaming);
  EXPECT_FALSE(Kept()->Write("into the void"));
  Kept()->EndStream();
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsGivenUpAndStallsNobody) {
  Start({.answer = {.waiting_bytes = 100'000}, .write_time = milliseconds(200)});
  Client lazy(address());
  lazy.Send(Get("/stream"));
  const auto exchange = Kept();
  const std::string piece(10'000, 'x');
  bool reaches = true;
  for (int i = 0; i < 100'000 && reaches; ++i) reaches = exchange->Write(piece);
  EXPECT_FALSE(reaches);
  Client other(address());
  other.Send(kClose);
  EXPECT_TRUE(other.ReadAll().starts_with("HTTP/1.1 200 "));
  Await(exchange->gone());
  exchange->EndStream();
}

TEST_F(HttpServerTest, SlowRequestsAreTimedOut) {
  Start({.header_time = milliseconds(100),
         .idle_time = milliseconds(100),
         .read_time = milliseconds(100)});
  Client silent(address()), half(address()), body(address());
  half.Send("GET / HT");
  body.Send(kPost.substr(0, kPost.size() - 1));
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_TRUE(half.ReadAll().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(body.ReadAll().starts_with("HTTP/1.1 408 "));
}

TEST_F(HttpServerTest, ConnectionsAndBodiesHaveLimits) {
  Start({.n_connections = 2, .all_bodies_bytes = 1000});
  Client first(address());
  first.Send(Get("/keep"));
  const auto exchange = Kept();
  {
    Client second(address());
    second.Send(
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 5000\r\n\r\n" +
        std::string(5000, ' '));
    EXPECT_TRUE(second.ReadUntil("\r\n").starts_with("HTTP/1.1 503 "));
    std::vector<std::unique_ptr<Client>> surplus;
    for (int i = 0; i < 40; ++i) {  // more than are refused with care
      surplus.push_back(std::make_unique<Client>(address()));
      EXPECT_TRUE(surplus.back()->ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 503 ")) << i;
    }
  }
  exchange->Reply({.body = "{}"});
  EXPECT_TRUE(first.ReadUntil("{}").starts_with("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, ContinueIsSaidToThoseWhoMayGoOn) {
  Start();
  Client client(address());
  const std::string head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n";
  client.Send(head + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("{}");
  EXPECT_TRUE(client.ReadUntil("/echo {}").starts_with("HTTP/1.1 200 "));
  Client other(address());
  other.Send(head + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(other.ReadUntil("}}").starts_with("HTTP/1.1 415 "));
}

TEST_F(HttpServerTest, HeadHasTheHeadAlone) {
  Start();
  Client client(address());
  client.Send("HEAD /abc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_NE(answer.find("Content-Length: 5\r\n"), answer.npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, DrainingLetsRunningAnswersEnd) {
  Start();
  Client idle(address()), busy(address());
  busy.Send(Get("/stream"));
  const auto exchange = Kept();
  thread_.request_stop();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_FALSE(exchange->gone().stop_requested());
  exchange->Write("the end");
  exchange->EndStream();
  const std::string answer = busy.ReadAll();
  EXPECT_NE(answer.find("the end\r\n0\r\n\r\n"), answer.npos) << answer;
  thread_.join();
}

TEST_F(HttpServerTest, DrainingDoesNotWaitForEver) {
  Start({.drain_time = milliseconds(50)});
  Client busy(address());
  busy.Send(Get("/stream"));
  const auto exchange = Kept();
  Stop();
  EXPECT_TRUE(exchange->gone().stop_requested());
  EXPECT_FALSE(exchange->Write("too late"));
  exchange->EndStream();
}

TEST_F(HttpServerTest, RecordsHoldNothingThatTheClientWrote) {
  Start();
  Client client(address());
  client.Send("BREW /secret HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  client.ReadAll();
  Stop();
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_STREQ(records[0].method, "other");
  EXPECT_STREQ(records[0].route, "none");
  EXPECT_EQ(records[0].status, 200);
}

TEST(HttpServerListenTest, SaysWhyItCannotListen) {
  const auto server = HttpServer::Listen({.host = "203.0.113.1"}, {}, {});
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("cannot listen on 203.0.113.1 port 8080"),
            std::string::npos);
}

}  // namespace
}  // namespace lattice::server
