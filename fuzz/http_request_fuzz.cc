#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lattice/check.h"
#include "server/http/request_parser.h"

namespace {

using lattice::server::RequestParser;

/// Feeds the bytes piece by piece, as a connection does; returns how many were used.
std::size_t Feed(RequestParser& parser, std::string_view bytes, std::size_t piece) {
  std::string buffer;
  std::size_t n_fed = 0, n_used = 0;
  while (!parser.done() && !parser.fault()) {
    const std::size_t used = parser.Push(buffer);
    LATTICE_CHECK(used <= buffer.size());
    n_used += used;
    buffer.erase(0, used);
    if (parser.done() || parser.fault() || used > 0) continue;
    if (n_fed == bytes.size()) break;
    buffer += bytes.substr(n_fed, piece);
    n_fed = std::min(bytes.size(), n_fed + piece);
  }
  return n_used;
}

}  // namespace

/// However a request is cut, it is the same request, or no request.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const lattice::server::RequestLimits limits{
      .target_bytes = 200, .header_bytes = 2000, .n_headers = 10, .body_bytes = 1000};
  RequestParser whole(limits), single(limits);
  const std::size_t n_whole = Feed(whole, bytes, size + 1);
  const std::size_t n_single = Feed(single, bytes, 1);
  if (whole.done() && !whole.fault()) {
    LATTICE_CHECK(single.done() && !single.fault() && n_whole == n_single);
    LATTICE_CHECK(whole.request().body == single.request().body);
    LATTICE_CHECK(whole.request().path == single.request().path);
    LATTICE_CHECK(whole.request().headers == single.request().headers);
    LATTICE_CHECK(whole.request().body.size() <= limits.body_bytes);
  } else {
    LATTICE_CHECK(!single.done() || single.fault());
  }
  return 0;
}
