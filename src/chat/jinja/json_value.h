#pragma once

#include <boost/json/value.hpp>
#include <cstddef>

#include "chat/jinja/text.h"
#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

/// A JSON value as templates see it; every string in it, keys too, has the given origin.
/// `n_bytes` grows by about what the value takes. The depth is the parser's business.
Value FromJson(const boost::json::value& json, Origin origin, std::size_t& n_bytes);

}  // namespace lattice::chat::jinja
