#include "tokenizers/vocabulary.h"

#include <algorithm>
#include <bit>

#include "tokenizers/byte_hash.h"

namespace lattice::tokenizers {
namespace {

// Chance alone makes no chain this long in a table that is half full; a file made to collide does.
constexpr std::size_t kMaxProbes = 2048;

std::uint32_t TagOf(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

Result<Vocabulary> Vocabulary::FromObject(const JsonView& tokens) {
  if (!tokens.IsObject()) return tokens.Complain("expected an object of tokens and ids");
  const auto& object = tokens.value().get_object();
  if (object.empty()) return tokens.Complain("expected at least one token");
  std::size_t n_bytes = 0;
  for (const auto& member : object) n_bytes += member.key().size();
  Vocabulary vocabulary;
  vocabulary.Reserve(object.size(), n_bytes);
  for (const auto& member : object) {
    const std::string_view token(member.key().data(), member.key().size());
    const auto place = [&] { return tokens.where() + "['" + std::string(token) + "']"; };
    const auto* id = member.value().if_int64();
    if (id == nullptr || *id < 0 || *id > kMaxId) {
      LATTICE_TRY_VOID(JsonView(member.value(), place()).Int(0, kMaxId));
    }
    const auto value = id != nullptr ? *id : member.value().to_number<std::int64_t>();
    if (auto added = vocabulary.Add(token, static_cast<TokenId>(value)); !added) {
      return std::move(added).error().Within(place());
    }
  }
  return vocabulary;
}

void Vocabulary::Reserve(std::size_t n_tokens, std::size_t n_bytes) {
  bytes_.reserve(n_bytes);
  texts_.reserve(n_tokens);
  const std::size_t n_slots = std::bit_ceil(std::max<std::size_t>(16, n_tokens * 2));
  if (n_slots > slots_.size()) Rehash(n_slots);
}

Status Vocabulary::Add(std::string_view token, TokenId id) {
  const auto corrupt = [](std::string message) {
    return Error{ErrorCode::kCorruptData, std::move(message)};
  };
  if (id < 0 || id > kMaxId) {
    return corrupt("id " + std::to_string(id) + " is outside 0 to " + std::to_string(kMaxId));
  }
  const auto index = static_cast<std::size_t>(id);
  if (index < texts_.size() && texts_[index].size != kUnused) {
    return corrupt("id " + std::to_string(id) + " belongs to '" + std::string(TextOf(id)) +
                   "' already");
  }
  if (token.size() >= kUnused - bytes_.size()) return corrupt("the tokens exceed 4 GiB");
  if ((n_tokens_ + 1) * 2 > slots_.size()) Rehash(std::max<std::size_t>(16, slots_.size() * 2));

  const std::uint64_t hash = HashBytes(token);
  std::size_t slot = hash & (slots_.size() - 1);
  std::size_t n_probes = 0;
  for (; slots_[slot].id >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].tag == TagOf(hash) && TextOf(slots_[slot].id) == token) break;
    if (++n_probes > kMaxProbes) return corrupt("the tokens are made to collide in a hash table");
  }
  slots_[slot] = {TagOf(hash), id};
  if (index >= texts_.size()) texts_.resize(index + 1);
  texts_[index] = {static_cast<std::uint32_t>(bytes_.size()),
                   static_cast<std::uint32_t>(token.size())};
  bytes_ += token;
  ++n_tokens_;
  return Ok();
}

void Vocabulary::Prefetch(std::string_view token) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[HashBytes(token) & (slots_.size() - 1)], 1);
}

void Vocabulary::Rehash(std::size_t n_slots) {
  std::vector<Slot> old(n_slots);
  old.swap(slots_);
  for (const Slot& entry : old) {
    if (entry.id < 0) continue;
    std::size_t slot = HashBytes(TextOf(entry.id)) & (n_slots - 1);
    while (slots_[slot].id >= 0) slot = (slot + 1) & (n_slots - 1);
    slots_[slot] = entry;
  }
}

std::optional<TokenId> Vocabulary::Find(std::string_view token) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t hash = HashBytes(token);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot].id >= 0; slot = (slot + 1) & mask) {
    if (slots_[slot].tag == TagOf(hash) && TextOf(slots_[slot].id) == token) return slots_[slot].id;
  }
  return std::nullopt;
}

std::optional<std::string_view> Vocabulary::Text(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= texts_.size()) return std::nullopt;
  if (texts_[static_cast<std::size_t>(id)].size == kUnused) return std::nullopt;
  return TextOf(id);
}

}  // namespace lattice::tokenizers
