#include "server/http/response_head.h"

#include <charconv>
#include <ctime>

namespace lattice::server {
namespace {

const char* Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Answer";
  }
}

void AppendHeader(std::string_view name, std::string_view value, std::string& out) {
  out += name;
  out += ": ";
  for (const char c : value) {
    if (static_cast<unsigned char>(c) >= ' ' && c != 0x7f) out += c;
  }
  out += "\r\n";
}

std::string DateNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  const std::size_t n = std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text, n};
}

}  // namespace

std::string ResponseHead(const HttpResponse& response, const Transport& transport) {
  std::string out = transport.http11 ? "HTTP/1.1 " : "HTTP/1.0 ";
  out += std::to_string(response.status);
  out += ' ';
  out += Reason(response.status);
  out += "\r\n";
  AppendHeader("Date", DateNow(), out);
  if (response.status != 204) AppendHeader("Content-Type", response.content_type, out);
  if (transport.chunked()) {
    AppendHeader("Transfer-Encoding", "chunked", out);
  } else if (!transport.streams && response.status != 204) {
    AppendHeader("Content-Length", std::to_string(response.body.size()), out);
  }
  AppendHeader("Connection", transport.keep_alive ? "keep-alive" : "close", out);
  AppendHeader("X-Content-Type-Options", "nosniff", out);
  if (!transport.id.empty()) AppendHeader("X-Request-Id", transport.id, out);
  if (!transport.origin.empty()) {
    AppendHeader("Access-Control-Allow-Origin", transport.origin, out);
    AppendHeader("Vary", "Origin", out);
  }
  for (const auto& [name, value] : response.headers) AppendHeader(name, value, out);
  out += "\r\n";
  return out;
}

void AppendPiece(std::string_view piece, const Transport& transport, std::string& out) {
  if (piece.empty()) return;  // As a chunk it would end the body.
  if (!transport.chunked()) {
    out += piece;
    return;
  }
  char size[20];
  const auto end = std::to_chars(size, size + sizeof(size), piece.size(), 16).ptr;
  out.append(size, end);
  out += "\r\n";
  out += piece;
  out += "\r\n";
}

}  // namespace lattice::server
