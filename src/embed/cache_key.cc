#include "embed/cache_key.h"

#include <cstdint>
#include <span>

namespace lattice::embed {
namespace {

// Fields are told apart by their length in front, so that ("ab", "c") is not ("a", "bc").
void AddField(Sha256& sha, std::string_view field) {
  const std::uint64_t size = field.size();
  sha.Update(std::as_bytes(std::span(&size, 1)));
  sha.Update(field);
}

void AddNumber(Sha256& sha, std::uint64_t number) {
  sha.Update(std::as_bytes(std::span(&number, 1)));
}

}  // namespace

CacheKeyMaker::CacheKeyMaker(const EmbeddingModelInfo& model, const EmbedRequest& request) {
  Sha256 sha;
  AddField(sha, model.name);
  AddField(sha, model.revision);
  AddField(sha, model.folder.native());
  AddNumber(sha, static_cast<std::uint64_t>(request.role));
  AddNumber(sha, request.prompt.has_value() ? 1 : 0);
  AddField(sha, request.prompt.value_or(""));
  AddNumber(sha, request.dimensions);
  AddNumber(sha, request.pooling ? 1 + static_cast<std::uint64_t>(*request.pooling) : 0);
  AddNumber(sha, request.normalize ? 1 + static_cast<std::uint64_t>(*request.normalize) : 0);
  AddNumber(sha, request.special_as_text ? 1 : 0);
  shared_ = sha.Finish();
}

CacheKey CacheKeyMaker::Make(std::string_view text) const {
  Sha256 sha;
  sha.Update(shared_);
  sha.Update(text);  // The last field: its end is the end.
  return CacheKey{sha.Finish()};
}

}  // namespace lattice::embed
