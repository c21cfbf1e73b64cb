#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lattice::hub {

struct TestRequest {
  std::string target;                          ///< "/a/b?c"
  std::map<std::string, std::string> headers;  ///< Names in lower case.

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct TestResponse {
  int status = 200;
  std::string body = {};
  std::vector<std::string> headers = {};        ///< "Name: value"
  std::optional<std::size_t> sent_bytes = {};   ///< Breaks off the body there.
  std::optional<std::size_t> stall_after = {};  ///< Sends no more than that until the server ends.
};

/// A small HTTP server on 127.0.0.1: one thread for each connection, one request for each of those.
class TestHttpServer {
 public:
  using Handler = std::function<TestResponse(const TestRequest&)>;

  explicit TestHttpServer(Handler handler);
  ~TestHttpServer();
  TestHttpServer(const TestHttpServer&) = delete;
  TestHttpServer& operator=(const TestHttpServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<TestRequest> requests() const;
  /// Requests whose target ends with `suffix`.
  std::vector<TestRequest> requests(const std::string& suffix) const;

 private:
  void AcceptLoop(const std::stop_token& stop);
  void Serve(int fd, const std::stop_token& stop);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<TestRequest> requests_;
  std::jthread acceptor_;
};

}  // namespace lattice::hub
