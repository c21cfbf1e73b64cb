#pragma once

#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "lattice/result.h"

namespace lattice::server {

/// The keys that open the server. Only their digests are kept.
class ApiKeys {
 public:
  /// No keys: everybody may come in.
  ApiKeys() = default;

  /// Adds the keys of a text, one a line; empty lines and those that begin with '#' do not count.
  /// `where` names the text in complaints, which never repeat it. kInvalidArgument for a text
  /// without keys, or a key that is not made of visible ASCII characters.
  Status Add(std::string_view text, std::string_view where);

  bool empty() const { return digests_.empty(); }

  /// Whether `key` is one of them. Takes the same time for all keys of one length.
  bool Accepts(std::string_view key) const;

 private:
  std::vector<Sha256Digest> digests_;
};

}  // namespace lattice::server
