#include "hub/test_http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "lattice/check.h"

namespace lattice::hub {
namespace {

constexpr int kPollMs = 10;

bool WaitReadable(int fd, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, kPollMs) > 0) return true;
  }
  return false;
}

TestRequest ParseRequest(const std::string& text) {
  std::istringstream lines(text);
  std::string line, method;
  std::getline(lines, line);
  TestRequest request;
  std::istringstream(line) >> method >> request.target;
  while (std::getline(lines, line) && line.size() > 1) {
    const std::size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    request.headers[name] = line.substr(colon + 2, line.size() - colon - 3);
  }
  return request;
}

void Send(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

TestHttpServer::TestHttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  LATTICE_CHECK(listener_ >= 0 && bind(listener_, raw, length) == 0 && listen(listener_, 64) == 0 &&
                getsockname(listener_, raw, &length) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this](const std::stop_token& stop) { AcceptLoop(stop); });
}

TestHttpServer::~TestHttpServer() {
  acceptor_ = {};
  close(listener_);
}

std::vector<TestRequest> TestHttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<TestRequest> TestHttpServer::requests(const std::string& suffix) const {
  std::vector<TestRequest> found = requests();
  std::erase_if(found, [&](const TestRequest& r) { return !r.target.ends_with(suffix); });
  return found;
}

void TestHttpServer::AcceptLoop(const std::stop_token& stop) {
  std::vector<std::jthread> connections;
  while (WaitReadable(listener_, stop)) {
    const int fd = accept(listener_, nullptr, nullptr);
    if (fd < 0) continue;
    connections.emplace_back([this, fd](const std::stop_token& ended) { Serve(fd, ended); });
  }
}

void TestHttpServer::Serve(int fd, const std::stop_token& stop) {
  std::string text;
  char buffer[4096];
  while (text.find("\r\n\r\n") == text.npos && WaitReadable(fd, stop)) {
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  if (text.find("\r\n\r\n") != text.npos) {
    const TestRequest request = ParseRequest(text);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const TestResponse response = handler_(request);
    std::string head = "HTTP/1.1 " + std::to_string(response.status) + " Test\r\n" +
                       "Content-Length: " + std::to_string(response.body.size()) +
                       "\r\nConnection: close\r\n";
    for (const std::string& header : response.headers) head += header + "\r\n";
    const std::string_view body = response.body;
    Send(fd, head + "\r\n");
    if (response.stall_after) {
      Send(fd, body.substr(0, *response.stall_after));
      while (!stop.stop_requested() && !WaitReadable(fd, stop)) {
      }  // until this server, or the client, ends
    } else {
      Send(fd, body.substr(0, response.sent_bytes.value_or(body.size())));
    }
  }
  close(fd);
}

}  // namespace lattice::hub
