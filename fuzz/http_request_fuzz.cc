#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lattice/check.h"
#include "server/http/request_parser.h"
#include "server/http/test_feed.h"

using lattice::server::Feed;
using lattice::server::RequestParser;

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
