#include "server/http/http_server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <utility>

#include "server/http/connection.h"

namespace lattice::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{50};
/// Beyond the limit, to be refused as clients understand it: after a handshake, with time to read.
constexpr std::size_t kSurplusConnections = 16;

Error CannotListen(const HttpOptions& options, const error_code& code) {
  return {ErrorCode::kInvalidArgument, "cannot listen on " + options.host + " port " +
                                           std::to_string(options.port) + ": " + code.message()};
}

Status UseTlsFiles(const HttpOptions& options, asio::ssl::context& tls) {
  using asio::ssl::context;
  const auto fail = [](const std::string& what, const error_code& code) {
    return Error{ErrorCode::kInvalidArgument, "cannot use " + what + ": " + code.message()};
  };
  tls.set_options(context::default_workarounds | context::no_tlsv1 | context::no_tlsv1_1 |
                  context::no_compression | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(tls.native_handle(), SSL_SESS_CACHE_OFF);
  error_code code;
  tls.use_certificate_chain_file(options.tls_certificate, code);
  if (code) return fail("the certificate " + options.tls_certificate, code);
  tls.use_private_key_file(options.tls_key, context::pem, code);
  if (code) return fail("the key " + options.tls_key, code);
  return Ok();
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, Handler handler, Observer observer) {
    hub_.options = std::move(options);
    hub_.handler = std::move(handler);
    hub_.observer = std::move(observer);
    hub_.next_id = std::uint64_t{std::random_device{}()} << 32;
  }

  Status Bind();
  Status Run(const std::stop_token& stop);
  tcp::endpoint endpoint() const { return endpoint_; }

 private:
  asio::awaitable<void> Accept();
  void Refuse(tcp::socket socket) const;
  void Drain();
  void CloseAll();

  ConnectionHub hub_;
  tcp::acceptor acceptor_{hub_.io};
  asio::steady_timer pause_{hub_.io};
  asio::steady_timer drain_end_{hub_.io};
  tcp::endpoint endpoint_;
};

Status HttpServer::Impl::Bind() {
  if (!hub_.options.tls_certificate.empty()) {
    hub_.tls.emplace(asio::ssl::context::tls_server);
    LATTICE_TRY_VOID(UseTlsFiles(hub_.options, *hub_.tls));
    hub_.options.guard.over_tls = true;
  }
  error_code code;
  tcp::resolver resolver(hub_.io);
  const auto found = resolver.resolve(hub_.options.host, std::to_string(hub_.options.port),
                                      tcp::resolver::passive, code);
  if (code) return CannotListen(hub_.options, code);
  for (const auto& entry : found) {
    code.clear();
    acceptor_.open(entry.endpoint().protocol(), code);
    if (!code) acceptor_.set_option(tcp::acceptor::reuse_address(true), code);
    if (!code) acceptor_.bind(entry.endpoint(), code);
    if (!code) acceptor_.listen(asio::socket_base::max_listen_connections, code);
    if (!code) endpoint_ = acceptor_.local_endpoint(code);
    if (!code) break;
    error_code ignored;
    acceptor_.close(ignored);
  }
  if (code) return CannotListen(hub_.options, code);
  // Whoever listens to the network answers to names that we cannot know.
  hub_.options.guard.only_local_hosts &= endpoint_.address().is_loopback();
  return Ok();
}

/// When many are beyond the limit: said in one go, to whoever listens.
void HttpServer::Impl::Refuse(tcp::socket socket) const {
  if (hub_.tls) return;  // Nothing is understood before a handshake, which costs too much here.
  const HttpResponse response = ErrorResponse(TooManyConnections());
  const std::string out = ResponseHead(response, {.keep_alive = false}) + response.body;
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(out), ignored);
}

asio::awaitable<void> HttpServer::Impl::Accept() {
  while (acceptor_.is_open()) {
    error_code code;
    tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, code));
    if (!acceptor_.is_open()) co_return;
    if (code) {  // A connection that is gone already, or no descriptors left: not in a busy loop.
      pause_.expires_after(kAcceptPause);
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, code));
      continue;
    }
    const bool surplus = hub_.open.size() - hub_.n_surplus >= hub_.options.n_connections;
    if (surplus && hub_.n_surplus >= kSurplusConnections) {
      Refuse(std::move(socket));
      continue;
    }
    socket.set_option(tcp::no_delay(true), code);
    auto connection = std::make_shared<Connection>(hub_, std::move(socket), surplus);
    asio::co_spawn(hub_.io, Connection::Serve(std::move(connection)), asio::detached);
  }
}

void HttpServer::Impl::Drain() {
  hub_.draining = true;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  if (hub_.open.empty()) return;
  hub_.on_empty = [this] { drain_end_.cancel(); };
  drain_end_.expires_after(hub_.options.drain_time);
  drain_end_.async_wait([this](const error_code& code) {
    if (!code) CloseAll();
  });
  for (Connection* connection : hub_.open) connection->CloseIfIdle();
}

void HttpServer::Impl::CloseAll() {
  for (Connection* connection : hub_.open) connection->Close();
}

Status HttpServer::Impl::Run(const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [this] { asio::post(hub_.io, [this] { Drain(); }); });
  asio::co_spawn(hub_.io, Accept(), asio::detached);
  hub_.io.run();  // until the acceptor is closed and the last connection has ended
  return Ok();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(HttpOptions options, Handler handler,
                                                       Observer observer) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler), std::move(observer));
  LATTICE_TRY_VOID(impl->Bind());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::string HttpServer::address() const {
  const tcp::endpoint endpoint = impl_->endpoint();
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
         std::to_string(endpoint.port());
}

bool HttpServer::is_local() const { return impl_->endpoint().address().is_loopback(); }

Status HttpServer::Run(const std::stop_token& stop) { return impl_->Run(stop); }

}  // namespace lattice::server
