#include "models/sequence.h"

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "models/page_pool.h"
#include "models/session_file.h"

namespace lattice::models {
namespace {

using kernels::kPageTokens;
using Kind = LayerState::Kind;

// Keeps every slot (page and place in it) inside 32 bits.
constexpr std::size_t kMaxStoreTokens = std::size_t{1} << 30;

std::size_t PagesFor(std::size_t n_tokens) { return (n_tokens + kPageTokens - 1) / kPageTokens; }

Status CheckShape(const StateShape& shape, const StoreOptions& options) {
  if (options.max_tokens == 0 || options.max_tokens > kMaxStoreTokens) {
    return Error{ErrorCode::kInvalidArgument, "room for " + std::to_string(options.max_tokens) +
                                                  " tokens; expected 1 to " +
                                                  std::to_string(kMaxStoreTokens)};
  }
  for (const LayerState& layer : shape.layers) {
    if (layer.kind != Kind::kAttention || options.kv_type != kernels::KvType::kQ8) continue;
    if (layer.kv.head_dim % 32 == 0) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "q8 keys and values come in blocks of 32, and heads here have " +
                     std::to_string(layer.kv.head_dim) + " values; use f16 or f32"};
  }
  return Ok();
}

}  // namespace

std::string_view KvTypeName(kernels::KvType type) {
  constexpr std::string_view kNames[] = {"f32", "f16", "q8"};
  return kNames[static_cast<std::size_t>(type)];
}

struct SequenceStore::Impl {
  Impl(const StateShape& state_shape, kernels::Backend& owner, kernels::KvType type,
       std::size_t n_pages)
      : shape(state_shape), backend(owner), kv_type(type), pool(n_pages) {}

  StateShape shape;
  kernels::Backend& backend;
  kernels::KvType kv_type;
  PagePool pool;
  std::vector<std::unique_ptr<kernels::KvPages>> kv;  // [n_layers], null without attention

  std::size_t n_stateful() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(shape.layers, [](const auto& l) { return l.kind != Kind::kNone; }));
  }
  std::uint32_t CopyPage(std::uint32_t from) {
    const std::uint32_t to = pool.Take();
    for (const auto& pages : kv) {
      if (pages != nullptr) backend.CopyKvPage(from, to, *pages);
    }
    return to;
  }
  /// A copy of `page`, in a place of no sequence, whose rows from `n` on are zero: what others left
  /// behind must not get into a file.
  std::uint32_t CleanPage(std::size_t layer, std::uint32_t page, std::size_t n) {
    const auto clean = static_cast<std::uint32_t>(pool.n_pages());
    const std::size_t width = shape.layers[layer].kv.n_kv_heads * shape.layers[layer].kv.head_dim;
    std::vector<std::uint32_t> slots;
    for (std::size_t i = n; i < kPageTokens; ++i) {
      slots.push_back(static_cast<std::uint32_t>(clean * kPageTokens + i));
    }
    const auto zeros = backend.MakeBuffer();
    const std::vector<float> values(slots.size() * 2 * width);
    backend.Write(values, slots.size(), 2 * width, *zeros);
    backend.CopyKvPage(page, clean, *kv[layer]);
    backend.StoreKv(*zeros, 0, width, slots, *kv[layer]);
    return clean;
  }
  Error NoPages(std::size_t wanted) const {
    return {ErrorCode::kResourceExhausted,
            "no room for " + std::to_string(wanted) + " more pages of " +
                std::to_string(kPageTokens) + " tokens: " + std::to_string(pool.n_free()) + " of " +
                std::to_string(pool.n_pages()) + " are free"};
  }
  Status CheckSession(const SessionHeader& header, const Sequence* beginning) const;
};

struct Sequence::Impl {
  std::shared_ptr<SequenceStore> owner;
  SequenceStore::Impl& store;
  std::vector<std::uint32_t> pages;
  std::vector<std::unique_ptr<kernels::DeltaNetState>> states;  // [n_layers], null elsewhere
  std::size_t n_tokens = 0;

  explicit Impl(std::shared_ptr<SequenceStore> s) : owner(std::move(s)), store(*owner->impl_) {
    for (const LayerState& layer : store.shape.layers) {
      states.push_back(layer.kind == Kind::kDeltaNet
                           ? store.backend.MakeDeltaNetState(layer.delta_net)
                           : nullptr);
    }
  }
  ~Impl() { DropPages(0); }

  void DropPages(std::size_t keep) {
    for (; pages.size() > keep; pages.pop_back()) store.pool.Drop(pages.back());
  }
  /// The next token goes into a page that another sequence reads too.
  bool MustCopyPage() const {
    const std::size_t page = n_tokens / kPageTokens;
    return page < pages.size() && store.pool.IsShared(pages[page]);
  }
  Status ReadLayer(std::size_t layer, std::size_t first_page, std::span<const std::byte> bytes);
};

Status SequenceStore::Impl::CheckSession(const SessionHeader& header,
                                         const Sequence* beginning) const {
  if (header.fingerprint != shape.fingerprint) {
    return Error{ErrorCode::kUnsupported, "made by another model (" + header.fingerprint +
                                              "); this one is " + shape.fingerprint};
  }
  if (header.kv_type != kv_type) {
    return Error{ErrorCode::kUnsupported,
                 "its keys and values are kept as " + std::string(KvTypeName(header.kv_type)) +
                     ", here they are " + std::string(KvTypeName(kv_type))};
  }
  if (header.n_layers != n_stateful()) {
    return Error{ErrorCode::kCorruptData, std::to_string(header.n_layers) + " layers, expected " +
                                              std::to_string(n_stateful())};
  }
  if (header.n_tokens > pool.n_pages() * kPageTokens) {
    return Error{ErrorCode::kResourceExhausted, std::to_string(header.n_tokens) +
                                                    " tokens, and there is room for " +
                                                    std::to_string(pool.n_pages() * kPageTokens)};
  }
  const std::size_t n_known = beginning == nullptr ? 0 : beginning->n_tokens();
  if (header.n_elsewhere > n_known) {
    return Error{ErrorCode::kInvalidArgument,
                 "its first " + std::to_string(header.n_elsewhere) + " tokens are not at hand"};
  }
  const auto n_left = static_cast<std::size_t>(header.n_tokens - header.n_elsewhere);
  if (PagesFor(n_left) > pool.n_free()) return NoPages(PagesFor(n_left));
  return Ok();
}

/// Pages before the first are there already.
Status Sequence::Impl::ReadLayer(std::size_t layer, std::size_t first_page,
                                 std::span<const std::byte> bytes) {
  const auto at = [&] { return "layer " + std::to_string(layer) + ": "; };
  if (states[layer] != nullptr) {
    auto read = store.backend.WriteDeltaNetState(bytes, *states[layer]);
    if (!read) return std::move(read).error().Within("layer " + std::to_string(layer));
    if (states[layer]->n_tokens() == n_tokens) return Ok();
    return Error{ErrorCode::kCorruptData,
                 at() + "a state after " + std::to_string(states[layer]->n_tokens()) +
                     " tokens in a sequence of " + std::to_string(n_tokens)};
  }
  kernels::KvPages& kv = *store.kv[layer];
  const auto own = std::span(pages).subspan(first_page);
  if (bytes.size() != own.size() * kv.page_bytes()) {
    return Error{ErrorCode::kCorruptData, at() + std::to_string(bytes.size()) +
                                              " bytes, expected " +
                                              std::to_string(own.size() * kv.page_bytes())};
  }
  for (const std::uint32_t page : own) {
    store.backend.WriteKvPage(bytes.first(kv.page_bytes()), page, kv);
    bytes = bytes.subspan(kv.page_bytes());
  }
  return Ok();
}

SequenceStore::SequenceStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SequenceStore::~SequenceStore() = default;

Result<std::shared_ptr<SequenceStore>> SequenceStore::Make(const StateShape& shape,
                                                           kernels::Backend& backend,
                                                           const StoreOptions& options) {
  LATTICE_TRY_VOID(CheckShape(shape, options));
  const std::size_t n_pages = PagesFor(options.max_tokens);
  auto impl = std::make_unique<Impl>(shape, backend, options.kv_type, n_pages);
  for (const LayerState& layer : shape.layers) {
    std::unique_ptr<kernels::KvPages> pages;
    if (layer.kind == Kind::kAttention) {
      kernels::KvShape kv = layer.kv;
      kv.type = options.kv_type;
      LATTICE_TRY(pages, backend.MakeKvPages(kv, n_pages + 1));  // the last for CleanPage
    }
    impl->kv.push_back(std::move(pages));
  }
  return std::shared_ptr<SequenceStore>(new SequenceStore(std::move(impl)));
}

std::unique_ptr<Sequence> SequenceStore::New() {
  return std::unique_ptr<Sequence>(
      new Sequence(std::make_unique<Sequence::Impl>(shared_from_this())));
}

Result<std::unique_ptr<Sequence>> SequenceStore::Load(const std::filesystem::path& file) {
  LATTICE_TRY(const MappedFile mapped, MappedFile::Open(file));
  auto sequence = Parse(mapped.bytes());
  if (!sequence) return std::move(sequence).error().Within(file.string());
  return sequence;
}

Result<std::unique_ptr<Sequence>> SequenceStore::Parse(std::span<const std::byte> file) {
  LATTICE_TRY(const Session session, ParseSession(file));
  return Restore(session, nullptr);
}

Result<std::unique_ptr<Sequence>> SequenceStore::Restore(const Session& session,
                                                         const Sequence* beginning) {
  LATTICE_TRY_VOID(impl_->CheckSession(session.header, beginning));
  std::unique_ptr<Sequence> sequence = New();
  Sequence::Impl& made = *sequence->impl_;
  made.n_tokens = static_cast<std::size_t>(session.header.n_tokens);
  const auto first = static_cast<std::size_t>(session.header.n_elsewhere) / kPageTokens;
  for (std::size_t i = 0; i < first; ++i) {
    made.pages.push_back(beginning->impl_->pages[i]);
    impl_->pool.Share(made.pages.back());
  }
  while (made.pages.size() < PagesFor(made.n_tokens)) made.pages.push_back(impl_->pool.Take());
  std::size_t next = 0;
  for (std::size_t i = 0; i < impl_->shape.layers.size(); ++i) {
    if (impl_->shape.layers[i].kind == Kind::kNone) continue;
    LATTICE_TRY_VOID(made.ReadLayer(i, first, session.layers[next++]));
  }
  return sequence;
}

std::size_t SequenceStore::max_tokens() const { return impl_->pool.n_pages() * kPageTokens; }
std::size_t SequenceStore::free_pages() const { return impl_->pool.n_free(); }

Sequence::Sequence(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sequence::~Sequence() = default;

std::size_t Sequence::n_tokens() const { return impl_->n_tokens; }

Status Sequence::Reserve(std::size_t n) {
  if (HasRoom(n)) return Ok();
  Impl& own = *impl_;
  SequenceStore::Impl& store = own.store;
  if (n > store.pool.n_pages() * kPageTokens) return store.NoPages(PagesFor(n));
  const std::size_t taken = PagesToReserve(n);
  if (taken > store.pool.n_free()) return store.NoPages(taken);
  if (own.MustCopyPage()) {
    std::uint32_t& page = own.pages[own.n_tokens / kPageTokens];
    const std::uint32_t shared = std::exchange(page, store.CopyPage(page));
    store.pool.Drop(shared);
  }
  const std::size_t wanted = PagesFor(own.n_tokens + n);
  own.pages.reserve(wanted);
  while (own.pages.size() < wanted) own.pages.push_back(store.pool.Take());
  return Ok();
}

std::size_t Sequence::PagesToReserve(std::size_t n) const {
  if (HasRoom(n)) return 0;
  const std::size_t wanted = PagesFor(impl_->n_tokens + n);
  const std::size_t n_pages = impl_->pages.size();
  return (wanted > n_pages ? wanted - n_pages : 0) + (impl_->MustCopyPage() ? 1 : 0);
}

bool Sequence::HasRoom(std::size_t n) const {
  if (n == 0) return true;
  return n <= impl_->pages.size() * kPageTokens - impl_->n_tokens && !impl_->MustCopyPage();
}

Result<std::unique_ptr<Sequence>> Sequence::Fork() const {
  std::unique_ptr<Sequence> fork = impl_->owner->New();
  Impl& copy = *fork->impl_;
  copy.n_tokens = impl_->n_tokens;
  const std::size_t n_pages = PagesFor(copy.n_tokens);  // not what is reserved beyond
  copy.pages.assign(impl_->pages.begin(),
                    impl_->pages.begin() + static_cast<std::ptrdiff_t>(n_pages));
  for (const std::uint32_t page : copy.pages) copy.store.pool.Share(page);
  for (std::size_t i = 0; i < copy.states.size(); ++i) {
    if (copy.states[i] == nullptr) continue;
    copy.store.backend.CopyDeltaNetState(*impl_->states[i], *copy.states[i]);
  }
  return fork;
}

std::size_t Sequence::earliest() const {
  const bool recurrent =
      std::ranges::any_of(impl_->states, [](const auto& s) { return s != nullptr; });
  const std::size_t n = impl_->n_tokens;
  return std::max<std::size_t>(recurrent ? n - n % kernels::kDeltaChunk : 0, 1);
}

Status Sequence::Truncate(std::size_t n) {
  if (n != 0 && (n < earliest() || n > impl_->n_tokens)) {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot go back to " + std::to_string(n) + " tokens: possible are 0 and " +
                     std::to_string(earliest()) + " to " + std::to_string(impl_->n_tokens)};
  }
  impl_->DropPages(PagesFor(n));
  for (const auto& state : impl_->states) {
    if (state != nullptr) impl_->store.backend.TruncateDeltaNetState(n, *state);
  }
  impl_->n_tokens = n;
  return Ok();
}

Status Sequence::Save(const std::filesystem::path& file) const {
  LATTICE_TRY(AtomicFile created, AtomicFile::Create(file));
  LATTICE_TRY_VOID(Append(created, {}, 0));
  return created.Commit();
}

Result<std::uint64_t> Sequence::Append(AtomicFile& file, std::span<const TokenId> ids,
                                       std::size_t n_elsewhere) const {
  LATTICE_CHECK(n_elsewhere <= impl_->n_tokens && n_elsewhere % kPageTokens == 0);
  SequenceStore::Impl& store = impl_->store;
  LATTICE_TRY(SessionWriter writer,
              SessionWriter::Begin(file, {store.kv_type,
                                          impl_->n_tokens,
                                          store.shape.fingerprint,
                                          static_cast<std::uint32_t>(store.n_stateful()),
                                          n_elsewhere,
                                          {ids.begin(), ids.end()}}));
  const std::size_t first = n_elsewhere / kPageTokens, end = PagesFor(impl_->n_tokens);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < store.shape.layers.size(); ++i) {
    if (const auto* state = impl_->states[i].get()) {
      bytes.resize(state->size_bytes());
      store.backend.ReadDeltaNetState(*state, bytes);
      LATTICE_TRY_VOID(writer.BeginLayer(bytes.size()));
      LATTICE_TRY_VOID(writer.Append(bytes));
    } else if (const kernels::KvPages* kv = store.kv[i].get()) {
      bytes.resize(kv->page_bytes());
      LATTICE_TRY_VOID(writer.BeginLayer((end - first) * bytes.size()));
      for (std::size_t p = first; p < end; ++p) {
        const std::size_t n = std::min(impl_->n_tokens - p * kPageTokens, kPageTokens);
        const std::uint32_t own = impl_->pages[p];
        const std::uint32_t page = n < kPageTokens ? store.CleanPage(i, own, n) : own;
        store.backend.ReadKvPage(*kv, page, bytes);
        LATTICE_TRY_VOID(writer.Append(bytes));
      }
    }
  }
  return writer.Finish();
}

bool Sequence::SharesStoreWith(const Sequence& other) const {
  return impl_->owner == other.impl_->owner;
}

std::span<const std::uint32_t> Sequence::pages() const { return impl_->pages; }

kernels::KvPages& Sequence::kv(std::size_t layer) const {
  LATTICE_CHECK(impl_->store.kv.at(layer) != nullptr);
  return *impl_->store.kv[layer];
}

kernels::DeltaNetState& Sequence::delta_net(std::size_t layer) const {
  LATTICE_CHECK(impl_->states.at(layer) != nullptr);
  return *impl_->states[layer];
}

void Sequence::Advance(std::size_t n) {
  LATTICE_CHECK(HasRoom(n));
  impl_->n_tokens += n;
}

}  // namespace lattice::models
