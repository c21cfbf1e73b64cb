#include "kernels/cpu/paged_attention/kv_pages.h"

#include <sys/mman.h>

#include <string>

#include "base/checked_math.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

static_assert(kPageTokens == 64, "KvLayout");

constexpr std::size_t kSmallPagesBytes = std::size_t{4} << 20;

KvLayout LayoutOf(const KvShape& shape) {
  const std::size_t dim = shape.head_dim, padded = PaddedHead(dim);
  if (shape.type == KvType::kQ8) {
    LATTICE_CHECK(dim % 32 == 0);
    const std::size_t scale_bytes = dim / 32 * kPageTokens * 2, number_bytes = dim * kPageTokens;
    return {KvNumbers::kQ8,
            dim,
            padded,
            number_bytes,
            2 * number_bytes,
            2 * number_bytes + scale_bytes,
            2 * (number_bytes + scale_bytes)};
  }
  const bool wide = shape.type == KvType::kF32;
  const std::size_t values_at = dim * kPageTokens * (wide ? 4 : 2);
  const std::size_t head_bytes = values_at + padded * kPageTokens * (wide ? 4 : 2);
  return {wide ? KvNumbers::kF32 : KvNumbers::kF16,
          dim,
          padded,
          values_at,
          head_bytes,
          head_bytes,
          head_bytes};
}

}  // namespace

Result<ReservedMemory> ReservedMemory::Reserve(std::size_t size_bytes) {
  if (size_bytes == 0) return ReservedMemory(nullptr, 0);
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return Error{ErrorCode::kResourceExhausted,
                 "cannot reserve " + std::to_string(size_bytes) + " bytes for keys and values"};
  }
#if defined(MADV_HUGEPAGE)
  // Long texts are read faster from huge pages (a sixth at 8192 keys); short ones, which the owner
  // keeps in the first pages, should not take them. A hint: may fail.
  if (size_bytes > kSmallPagesBytes) {
    madvise(static_cast<std::byte*>(data) + kSmallPagesBytes, size_bytes - kSmallPagesBytes,
            MADV_HUGEPAGE);
  }
#endif
  return ReservedMemory(static_cast<std::byte*>(data), size_bytes);
}

ReservedMemory::~ReservedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

Result<std::unique_ptr<KvPages>> CpuKvPages::Make(const KvShape& shape, std::size_t n_pages) {
  LATTICE_CHECK(shape.n_kv_heads > 0 && shape.head_dim > 0);
  const KvLayout layout = LayoutOf(shape);
  const auto page_bytes = CheckedMul(layout.head_bytes, shape.n_kv_heads);
  const auto size_bytes = page_bytes ? CheckedMul(*page_bytes, n_pages) : page_bytes;
  if (!size_bytes) {
    return Error{ErrorCode::kResourceExhausted,
                 std::to_string(n_pages) + " pages of keys and values exceed the address space"};
  }
  LATTICE_TRY(ReservedMemory memory, ReservedMemory::Reserve(*size_bytes));
  return std::unique_ptr<KvPages>(new CpuKvPages(shape, layout, n_pages, std::move(memory)));
}

CpuKvPages::CpuKvPages(const KvShape& shape, const KvLayout& layout, std::size_t n_pages,
                       ReservedMemory memory)
    : shape_(shape),
      layout_(layout),
      n_pages_(n_pages),
      page_bytes_(layout.head_bytes * shape.n_kv_heads),
      memory_(std::move(memory)) {}

void CpuKvPages::FetchKeys(std::uint32_t slot) {
  const std::size_t bytes = layout_.values_at / (layout_.dim * kPageTokens);  // Of a number.
  std::byte* head = page(slot / kPageTokens).data() + slot % kPageTokens * bytes;
  for (std::size_t g = 0; g < shape_.n_kv_heads; ++g, head += layout_.head_bytes) {
    for (std::size_t d = 0; d < layout_.dim; ++d) {
      __builtin_prefetch(head + d * kPageTokens * bytes, /*rw=*/1);
    }
  }
}

void CpuKvPages::Store(const PagedAttentionKernels& kernels, const float* k, const float* v,
                       std::uint32_t slot) {
  std::byte* head = page(slot / kPageTokens).data();
  for (std::size_t g = 0; g < shape_.n_kv_heads; ++g, head += layout_.head_bytes) {
    kernels.store(layout_, k + g * layout_.dim, v + g * layout_.dim, slot % kPageTokens, head);
  }
}

}  // namespace lattice::kernels
