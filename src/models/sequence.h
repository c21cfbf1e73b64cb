#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/token_id.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"

namespace lattice::models {

struct Session;

/// What one layer keeps of a text.
struct LayerState {
  enum class Kind : std::uint8_t { kNone, kAttention, kDeltaNet };
  Kind kind = Kind::kNone;   ///< kNone: no state, or another layer's.
  kernels::KvShape kv = {};  ///< Its type is the store's choice.
  kernels::DeltaNetShape delta_net = {};
};

/// What a model keeps of a text, layer by layer.
struct StateShape {
  std::vector<LayerState> layers;
  /// Names the model's weights: a saved sequence is of use to these only.
  std::string fingerprint;

  /// Bytes that grow with the text, for one token; and those that each sequence takes once.
  std::size_t BytesPerToken(kernels::KvType type) const;
  std::size_t BytesPerSequence() const;
};

struct StoreOptions {
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::size_t max_tokens = 0;  ///< Of all sequences together; rounded up to whole pages.
};

/// "f32", "f16" or "q8".
std::string_view KvTypeName(kernels::KvType type);

class Sequence;

/// The memory of all sequences of one model: pages of keys and values, shared by forks and counted.
/// Not thread-safe: one owner at a time.
class SequenceStore : public std::enable_shared_from_this<SequenceStore> {
 public:
  /// kInvalidArgument for keys that the type cannot hold, or for more than 2^30 tokens;
  /// kResourceExhausted when the memory is not to be had. The backend must outlive the store.
  static Result<std::shared_ptr<SequenceStore>> Make(const StateShape& shape,
                                                     kernels::Backend& backend,
                                                     const StoreOptions& options);
  ~SequenceStore();

  std::unique_ptr<Sequence> New();
  /// A sequence that Sequence::Save wrote. kCorruptData, kUnsupported (another model, version or
  /// kv_type; the message says which), kResourceExhausted.
  Result<std::unique_ptr<Sequence>> Load(const std::filesystem::path& file);
  /// The same from the bytes of such a file.
  Result<std::unique_ptr<Sequence>> Parse(std::span<const std::byte> file);
  /// From one that was parsed, which may lack pages at its front: they are shared with `beginning`,
  /// which has read the same tokens as far as they go. kInvalidArgument if it has not so many.
  Result<std::unique_ptr<Sequence>> Restore(const Session& session, const Sequence* beginning);

  std::size_t max_tokens() const;
  std::size_t free_pages() const;

 private:
  friend class Sequence;
  struct Impl;
  explicit SequenceStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What a model remembers of one text: paged keys and values, states of recurrent layers, and how
/// many tokens it has read. A model appends to it in Forward.
class Sequence {
 public:
  ~Sequence();
  std::size_t n_tokens() const;

  /// Makes room for n more tokens, so that a Forward with them cannot fail. kResourceExhausted with
  /// the numbers; nothing has changed then.
  Status Reserve(std::size_t n);

  /// How many free pages Reserve(n) takes.
  std::size_t PagesToReserve(std::size_t n) const;

  /// An independent copy: whole pages are shared until one of the two writes, recurrent states are
  /// copied. kResourceExhausted.
  Result<std::unique_ptr<Sequence>> Fork() const;

  /// The least n, other than 0, that Truncate takes: recurrent layers remember some tokens back.
  std::size_t earliest() const;
  /// Forgets all but the first n tokens. kInvalidArgument unless n is 0 or in
  /// [earliest(), n_tokens()].
  Status Truncate(std::size_t n);

  /// Writes a file that SequenceStore::Load reads: versioned, with a checksum, appearing whole or
  /// not at all.
  Status Save(const std::filesystem::path& file) const;
  /// Appends the same to `file`, with the ids that were read (or none); the keys and values of the
  /// first n_elsewhere tokens, whole pages, are left out. Returns the bytes.
  Result<std::uint64_t> Append(AtomicFile& file, std::span<const TokenId> ids,
                               std::size_t n_elsewhere) const;

  // For models.
  /// Room for n more tokens, shared with nobody: what Reserve(n) makes true.
  bool HasRoom(std::size_t n) const;
  bool SharesStoreWith(const Sequence& other) const;
  std::span<const std::uint32_t> pages() const;
  kernels::KvPages& kv(std::size_t layer) const;
  kernels::DeltaNetState& delta_net(std::size_t layer) const;
  /// Counts n tokens that a Forward has appended in every layer.
  void Advance(std::size_t n);

 private:
  friend class SequenceStore;
  struct Impl;
  explicit Sequence(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lattice::models
