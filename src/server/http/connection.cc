#include "server/http/connection.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <utility>

#include "server/http/api_error.h"

namespace lattice::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
constexpr milliseconds kLingerTime{2000};
constexpr milliseconds kHangUpPause{100};

/// Whether the other side sends no more, whatever is still to be read of it.
bool HungUp(int socket) {
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) > 0;
}

const char* KnownMethod(std::string_view method) {
  for (const char* known : {"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"}) {
    if (method == known) return known;
  }
  return "other";
}

/// What the handler gets; the last owner's end is the answer's.
class ExchangeHandle final : public Exchange {
 public:
  explicit ExchangeHandle(std::shared_ptr<PendingAnswer> answer) : answer_(std::move(answer)) {}
  ~ExchangeHandle() override { answer_->Abandon(); }
  const HttpRequest& request() const override { return answer_->request(); }
  const std::string& id() const override { return answer_->id(); }
  void Reply(HttpResponse response) override { answer_->Reply(std::move(response)); }
  void BeginStream(HttpResponse head, std::string idle_piece) override {
    answer_->BeginStream(std::move(head), std::move(idle_piece));
  }
  bool Write(std::string_view piece) override { return answer_->Write(piece); }
  void EndStream() override { answer_->EndStream(); }
  std::stop_token gone() const override { return answer_->gone(); }
  void SetRoute(const char* route) override { answer_->SetRoute(route); }

 private:
  const std::shared_ptr<PendingAnswer> answer_;
};

/// However the sending ends, the answering side learns of it.
struct LeaveAtEnd {
  PendingAnswer& answer;
  ~LeaveAtEnd() { answer.Leave(); }
};

}  // namespace

ApiError TooManyConnections() {
  return {.status = 503, .message = "too many connections", .code = "overloaded"};
}

Connection::Connection(ConnectionHub& hub, asio::ip::tcp::socket socket, bool surplus)
    : hub_(hub),
      surplus_(surplus),
      socket_(std::move(socket)),
      deadline_(hub.io),
      wake_(hub.io),
      chunk_(kReadBytes) {
  if (hub_.tls) tls_.emplace(socket_, *hub_.tls);
  hub_.open.insert(this);
  if (surplus_) ++hub_.n_surplus;
}

Connection::~Connection() {
  hub_.bodies_bytes -= charged_bytes_;
  hub_.open.erase(this);
  if (surplus_) --hub_.n_surplus;
  if (hub_.open.empty() && hub_.on_empty) hub_.on_empty();
}

void Connection::Close() {
  closed_ = gone_ = true;
  error_code ignored;
  socket_.close(ignored);
  Wake();
}

void Connection::CloseIfIdle() {
  if (idle_) Close();
}

void Connection::Arm(milliseconds time) {
  timed_out_ = false;
  deadline_.expires_after(std::max(time, milliseconds{0}));
  deadline_.async_wait([weak = weak_from_this()](const error_code& code) {
    const auto self = weak.lock();
    // A wait that was over when it was armed anew still reports its end.
    if (code || self == nullptr || self->deadline_.expiry() > Clock::now()) return;
    self->timed_out_ = true;
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void Connection::Disarm() {
  deadline_.expires_at(Clock::time_point::max());
  timed_out_ = false;
}

void Connection::Wake() {
  woken_ = true;
  wake_.cancel();
}

std::string Connection::NewId() {
  char text[32];
  std::snprintf(text, sizeof(text), "req_%016llx", static_cast<unsigned long long>(hub_.next_id++));
  return text;
}

asio::awaitable<void> Connection::Serve(std::shared_ptr<Connection> self) {
  const bool begun = co_await self->BeginTls();
  if (begun && self->surplus_) {
    self->id_ = self->NewId();
    const HttpRequest unread;
    co_await self->Refuse(unread, TooManyConnections());
  } else if (begun) {
    co_await self->ServeRequests();
    co_await self->EndTls();
  }
  self->Close();
}

/// True at once without TLS.
asio::awaitable<bool> Connection::BeginTls() {
  if (!tls_) co_return true;
  Arm(hub_.options.header_time);
  error_code code;
  co_await tls_->async_handshake(asio::ssl::stream_base::server,
                                 asio::redirect_error(asio::use_awaitable, code));
  Disarm();
  co_return !code && !closed_;
}

/// Says that nothing more comes, so that nobody takes a connection that was cut for one that ended.
asio::awaitable<void> Connection::EndTls() {
  if (!tls_ || closed_) co_return;
  Arm(kLingerTime);
  error_code ignored;
  co_await tls_->async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
  Disarm();
}

asio::awaitable<void> Connection::ServeRequests() {
  while (!closed_) {
    RequestParser parser(hub_.options.request);
    id_ = NewId();
    sent_bytes_ = 0;
    status_ = 0;
    header_end_ = {};
    std::optional<ApiError> error = co_await Read(parser);
    if (closed_) co_return;
    if (error) {
      co_await Refuse(parser.request(), *std::move(error));
      co_return;
    }
    const bool goes_on = co_await Answer(std::move(parser.request()));
    hub_.bodies_bytes -= std::exchange(charged_bytes_, 0);
    if (!goes_on) co_return;
  }
}

std::optional<ApiError> Connection::ChargeBody(std::size_t bytes) {
  hub_.bodies_bytes += bytes - charged_bytes_;
  charged_bytes_ = bytes;
  if (hub_.bodies_bytes <= hub_.options.all_bodies_bytes) return std::nullopt;
  return ApiError{
      .status = 503, .message = "too many large requests at once", .code = "overloaded"};
}

asio::awaitable<bool> Connection::ReadSome() {
  if (timed_out_ || closed_) co_return false;
  error_code code;
  std::size_t n = 0;
  if (tls_) {
    n = co_await tls_->async_read_some(asio::buffer(chunk_),
                                       asio::redirect_error(asio::use_awaitable, code));
  } else {
    n = co_await socket_.async_read_some(asio::buffer(chunk_),
                                         asio::redirect_error(asio::use_awaitable, code));
  }
  buffer_.append(chunk_.data(), n);
  co_return !code;
}

asio::awaitable<std::optional<ApiError>> Connection::Read(RequestParser& parser) {
  const HttpOptions& options = hub_.options;
  bool judged = false;
  Clock::time_point body_end{};
  idle_ = buffer_.empty();
  if (idle_ && hub_.draining) closed_ = true;
  Arm(idle_ ? options.idle_time : options.header_time);
  while (!closed_) {
    const std::size_t used = parser.Push(buffer_);
    buffer_.erase(0, used);
    if (parser.fault()) {
      co_return ApiError{.status = parser.fault()->status, .message = parser.fault()->message};
    }
    if (auto error = ChargeBody(parser.request().body.size())) co_return error;
    if (parser.header_done() && !judged) {
      judged = true;
      header_end_ = Clock::now();
      body_end = header_end_ + options.body_time;
      const bool open = options.is_open && options.is_open(parser.request());
      if (auto refusal = options.guard.Refusal(parser.request(), !open)) co_return refusal;
      if (parser.done()) break;
      if (parser.expects_continue()) {
        const bool sent = co_await Send("HTTP/1.1 100 Continue\r\n\r\n");
        if (!sent) closed_ = true;
      }
      continue;
    }
    if (parser.done()) break;
    if (judged) {
      const auto left = std::chrono::duration_cast<milliseconds>(body_end - Clock::now());
      Arm(std::min(left, options.read_time));
      timed_out_ = left <= milliseconds{0};
    }
    const bool more = co_await ReadSome();
    if (!more) {
      if (!timed_out_ || idle_) closed_ = true;  // Nobody is there, or nobody asked for anything.
      timed_out_ = false;
      co_return ApiError{.status = 408, .message = "the request took too long to arrive"};
    }
    if (idle_) {
      idle_ = false;
      Arm(options.header_time);
    }
  }
  Disarm();
  co_return std::nullopt;
}

asio::awaitable<bool> Connection::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (closed_) co_return false;
    Arm(hub_.options.write_time);
    error_code code;
    std::size_t n = 0;
    const auto buffer = asio::buffer(bytes.data(), bytes.size());
    if (tls_) {
      n = co_await tls_->async_write_some(buffer, asio::redirect_error(asio::use_awaitable, code));
    } else {
      n = co_await socket_.async_write_some(buffer,
                                            asio::redirect_error(asio::use_awaitable, code));
    }
    sent_bytes_ += n;
    bytes.remove_prefix(n);
    if (code) co_return false;
  }
  Disarm();
  co_return true;
}

/// Answers what was not read to its end, then waits a little for the client to stop sending: a
/// connection that is closed with bytes unread may take the answer with it.
asio::awaitable<void> Connection::Refuse(const HttpRequest& request, ApiError error) {
  const HttpResponse response =
      hub_.options.failure ? hub_.options.failure(request, error, id_) : ErrorResponse(error);
  if (header_end_ == Clock::time_point{}) header_end_ = Clock::now();
  const std::string_view origin = hub_.options.guard.GrantedOrigin(request).value_or("");
  const Transport transport{.keep_alive = false, .id = id_, .origin = origin};
  std::string out = ResponseHead(response, transport);
  if (request.method != "HEAD") out += response.body;
  const bool sent = co_await Send(out);
  Observe(request, "none", sent ? response.status : 499);
  if (!sent) co_return;
  co_await EndTls();
  error_code code;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, code);
  Arm(kLingerTime);
  for (code.clear(); !code && !timed_out_ && !closed_;) {
    (void)co_await socket_.async_read_some(asio::buffer(chunk_),
                                           asio::redirect_error(asio::use_awaitable, code));
  }
  closed_ = true;
}

asio::awaitable<bool> Connection::Answer(HttpRequest request) {
  Transport transport;
  transport.http11 = request.http11;
  transport.keep_alive = request.keep_alive && !hub_.draining;
  transport.id = id_;
  const std::string origin(hub_.options.guard.GrantedOrigin(request).value_or(""));
  transport.origin = origin;
  gone_ = false;
  woken_ = false;
  auto wake = [weak = weak_from_this(), &io = hub_.io] {
    asio::post(io, [weak] {
      if (const auto self = weak.lock()) self->Wake();
    });
  };
  const auto answer = std::make_shared<PendingAnswer>(std::move(request), id_, hub_.options.answer,
                                                      std::move(wake));
  const LeaveAtEnd leave{*answer};
  asio::co_spawn(hub_.io, WatchPeer(shared_from_this(), answer), asio::detached);
  hub_.handler(std::make_shared<ExchangeHandle>(answer));
  const bool whole = co_await SendAnswer(*answer, transport);
  error_code ignored;
  socket_.cancel(ignored);  // ends the watch
  Observe(answer->request(), answer->route(), whole ? status_ : 499);
  if (!whole) closed_ = true;  // without a farewell that would make it look whole
  co_return whole&& transport.keep_alive && !closed_;
}

asio::awaitable<bool> Connection::SendAnswer(PendingAnswer& answer, Transport& transport) {
  const bool head_only = answer.request().method == "HEAD";
  while (true) {
    const PendingAnswer::Taken taken = answer.Take();
    if (taken.cut_off || gone_) co_return false;
    std::string out;
    if (taken.head) {
      status_ = taken.head->status;
      transport.streams = taken.streams;
      if (hub_.draining || (taken.streams && !transport.http11)) transport.keep_alive = false;
      out = ResponseHead(*taken.head, transport);
      if (!head_only) out += taken.head->body;
    }
    if (!head_only) AppendPiece(taken.pieces, transport, out);
    if (taken.ended && transport.chunked() && !head_only) out += "0\r\n\r\n";
    if (!out.empty()) {
      const bool sent = co_await Send(out);
      if (!sent) co_return false;
    }
    if (taken.ended) co_return true;
    const bool silent = co_await WaitForMore();
    if (silent && transport.streams && !head_only) {
      std::string ping;
      AppendPiece(answer.idle_piece(), transport, ping);
      const bool sent = co_await Send(ping);
      if (!sent) co_return false;
    }
  }
}

/// True when nothing came for ping_time.
asio::awaitable<bool> Connection::WaitForMore() {
  if (!woken_) {
    wake_.expires_after(hub_.options.ping_time);
    error_code ignored;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  co_return !std::exchange(woken_, false);
}

/// Notices a client that leaves while it is being answered. Bytes that it sends meanwhile stay
/// where they are: the next request.
asio::awaitable<void> Connection::WatchPeer(std::shared_ptr<Connection> self,
                                            std::shared_ptr<PendingAnswer> answer) {
  error_code code;
  co_await self->socket_.async_wait(asio::ip::tcp::socket::wait_read,
                                    asio::redirect_error(asio::use_awaitable, code));
  if (code || answer->gone().stop_requested()) co_return;  // The answer is over.
  char byte = 0;
  self->socket_.non_blocking(true, code);
  const std::size_t n =
      self->socket_.receive(asio::buffer(&byte, 1), asio::ip::tcp::socket::message_peek, code);
  if (code == asio::error::would_block || (n > 0 && !self->tls_)) co_return;
  if (n > 0) {  // Of TLS that may be a farewell, and nobody reads it before the answer is over.
    asio::steady_timer pause(self->hub_.io);
    while (!HungUp(self->socket_.native_handle())) {
      pause.expires_after(kHangUpPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, code));
      if (self->closed_ || answer->gone().stop_requested()) co_return;
    }
  }
  self->gone_ = self->closed_ = true;
  answer->Leave();
  self->Wake();
}

void Connection::Observe(const HttpRequest& request, const char* route, int status) {
  if (!hub_.observer) return;
  RequestRecord record;
  record.route = route;
  record.method = KnownMethod(request.method);
  record.status = status;
  record.body_bytes = request.body.size();
  record.sent_bytes = sent_bytes_;
  record.seconds = std::chrono::duration<double>(Clock::now() - header_end_).count();
  record.id = id_;
  hub_.observer(record);
}

}  // namespace lattice::server
