#include "grammar/json_schema/uri.h"

#include <charconv>
#include <cstddef>
#include <vector>

namespace lattice::grammar {
namespace {

struct Parts {
  std::string_view scheme;     // with its ':'
  std::string_view authority;  // with its "//"
  std::string_view path;
  std::string_view query;  // with its '?'
};

Parts Split(std::string_view uri) {
  Parts parts;
  uri = WithoutFragment(uri);
  const std::size_t colon = uri.find_first_of(":/?");
  if (colon != std::string_view::npos && colon > 0 && uri[colon] == ':') {
    parts.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.starts_with("//")) {
    const std::size_t end = std::min(uri.find_first_of("/?", 2), uri.size());
    parts.authority = uri.substr(0, end);
    uri.remove_prefix(end);
  }
  const std::size_t query = std::min(uri.find('?'), uri.size());
  parts.path = uri.substr(0, query);
  parts.query = uri.substr(query);
  return parts;
}

std::string WithoutDots(std::string_view path) {
  std::vector<std::string_view> kept;
  const bool rooted = path.starts_with('/');
  bool ends_in_folder = false;
  for (std::size_t at = rooted ? 1 : 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view piece = path.substr(at, end - at);
    ends_in_folder = piece == "." || piece == "..";
    if (piece == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (piece != ".") {
      kept.push_back(piece);
    }
    at = end + 1;
  }
  std::string out;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i > 0 || rooted) out += '/';
    out += kept[i];
  }
  if (ends_in_folder) out += '/';
  return out;
}

}  // namespace

std::string_view WithoutFragment(std::string_view uri) { return uri.substr(0, uri.find('#')); }

std::string_view FragmentOf(std::string_view uri) {
  const std::size_t hash = uri.find('#');
  return hash == std::string_view::npos ? std::string_view{} : uri.substr(hash + 1);
}

std::string ResolveUri(std::string_view base_uri, std::string_view reference) {
  const Parts base = Split(base_uri);
  Parts to = Split(reference);
  std::string path(to.path);
  if (to.scheme.empty()) {
    to.scheme = base.scheme;
    if (to.authority.empty()) {
      to.authority = base.authority;
      if (path.empty()) {
        path = base.path;
        if (to.query.empty()) to.query = base.query;
      } else if (path[0] != '/') {
        path = std::string(base.path.substr(0, base.path.rfind('/') + 1)) + path;
        if (!base.authority.empty() && base.path.empty()) path.insert(0, 1, '/');
      }
    }
  }
  const bool is_urn = !to.scheme.empty() && to.authority.empty() && !path.starts_with('/');
  if (!is_urn) path = WithoutDots(path);
  std::string out;
  out += to.scheme;
  out += to.authority;
  out += path;
  out += to.query;
  const std::size_t hash = reference.find('#');
  if (hash != std::string_view::npos) out += reference.substr(hash);
  return out;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace lattice::grammar
