#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cpu_features.h"
#include "base/sha256.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_backend.h"
#include "lattice/check.h"
#include "models/sequence.h"
#include "models/session_file.h"

namespace {

/// A store of 4 pages for an attention layer and a recurrent one.
struct Store {
  Store() {
    using lattice::models::LayerState;
    lattice::models::StateShape shape;
    shape.fingerprint = "m";
    shape.layers.push_back(
        {.kind = LayerState::Kind::kAttention, .kv = {.n_kv_heads = 1, .head_dim = 2}});
    shape.layers.push_back({.kind = LayerState::Kind::kDeltaNet,
                            .kv = {},
                            .delta_net = {.n_key_heads = 1,
                                          .n_value_heads = 1,
                                          .key_dim = 2,
                                          .value_dim = 2,
                                          .conv_kernel = 2}});
    store = lattice::models::SequenceStore::Make(
                shape, *backend, {.kv_type = lattice::kernels::KvType::kF32, .max_tokens = 256})
                .value();
  }
  lattice::ThreadPool pool{1};
  std::unique_ptr<lattice::kernels::Backend> backend =
      lattice::kernels::MakeCpuBackend(pool, lattice::CpuFeatures::Detect());
  std::shared_ptr<lattice::models::SequenceStore> store;
};

}  // namespace

// Any bytes as a saved sequence, as they are and under a right checksum: an error, or a sequence
// that can go on.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Store kKept;
  std::vector<std::byte> file(size);
  for (std::size_t i = 0; i < size; ++i) file[i] = static_cast<std::byte>(data[i]);
  (void)kKept.store->Parse(file).has_value();
  if (const auto split = lattice::models::SplitSessions(file)) {
    for (const auto& part : *split) LATTICE_CHECK(part.size() < file.size());
  }
  lattice::Sha256 sha;
  sha.Update(file);
  const lattice::Sha256Digest digest = sha.Finish();
  file.insert(file.end(), digest.begin(), digest.end());
  const auto sequence = kKept.store->Parse(file);
  if (sequence) {
    LATTICE_CHECK((*sequence)->n_tokens() <= 256);
    LATTICE_CHECK((*sequence)->delta_net(1).n_tokens() == (*sequence)->n_tokens());
    LATTICE_CHECK((*sequence)->Fork().has_value());
    LATTICE_CHECK((*sequence)->Truncate(0).has_value());
  }
  LATTICE_CHECK(sequence.has_value() || kKept.store->free_pages() == 4);
  if (const auto session = lattice::models::ParseSession(file)) {
    // Of a beginning that has read nothing, no page is taken.
    const auto empty = kKept.store->New();
    LATTICE_CHECK(session->header.n_elsewhere == 0 ||
                  !kKept.store->Restore(*session, empty.get()).has_value());
  }
  return 0;
}
