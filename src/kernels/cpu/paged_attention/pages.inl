// Numbers of a page, to and from Vec: see kv_layout.h.

#include "kernels/cpu/paged_attention/variants.h"
#include "kernels/cpu/simd/product.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kTileKeys = 64;
constexpr std::size_t kScaleBlock = 32;

// Asks for the next 64 numbers of a stream in order at p, some rows early: the processor's own
// prefetch stops at every 4 KiB. 8192 keys of 256 in f16, from memory: 0.95 -> 0.69 ms.
template <typename T>
[[gnu::always_inline]] inline void FetchAhead(const T* p) {
  for (std::size_t i = 0; i < kTileKeys * sizeof(T); i += kLineBytes) {
    PrefetchLine(p, kAheadBytes + i);
  }
}

// Keys of one head of a page: rows are dimensions, columns positions.
struct F16Keys {
  const std::uint16_t* data;
  Vec At(std::size_t d, std::size_t col) const { return LoadF16(data + d * kTileKeys + col); }
  [[gnu::always_inline]] void Prefetch(std::size_t d, std::size_t col) const {
    FetchAhead(data + d * kTileKeys + col);
  }
};
struct Q8Keys {
  const std::int8_t* data;
  const float* scales;  // [dim / 32][64]
  Vec At(std::size_t d, std::size_t col) const {
    return Mul(LoadI8(data + d * kTileKeys + col),
               Load(scales + d / kScaleBlock * kTileKeys + col));
  }
  [[gnu::always_inline]] void Prefetch(std::size_t d, std::size_t col) const {
    FetchAhead(data + d * kTileKeys + col);
  }
};
// A panel of values: rows are positions, columns dimensions.
struct F16Values {
  const std::uint16_t* data;
  std::size_t stride;
  Vec At(std::size_t j, std::size_t col) const { return LoadF16(data + j * stride + col); }
  [[gnu::always_inline]] void Prefetch(std::size_t j, std::size_t col) const {
    FetchAhead(data + j * stride + col);
  }
};
struct Q8Values {
  const std::int8_t* data;
  std::size_t stride;
  const float* scales;  // Of the panel's first block.
  Vec At(std::size_t j, std::size_t col) const {
    return Mul(LoadI8(data + j * stride + col), Set1(scales[col / kScaleBlock * kTileKeys + j]));
  }
  [[gnu::always_inline]] void Prefetch(std::size_t j, std::size_t col) const {
    FetchAhead(data + j * stride + col);
  }
};

template <typename T>
const T* Numbers(const std::byte* head, std::size_t at) {
  return reinterpret_cast<const T*>(head + at);
}
template <typename T>
T* Numbers(std::byte* head, std::size_t at) {
  return reinterpret_cast<T*>(head + at);
}

inline std::size_t PanelWidth(std::size_t padded_dim, std::size_t first) {
  return padded_dim - first < kValuePanel ? padded_dim - first : kValuePanel;
}

inline Vec LoadUpTo(const float* p, std::size_t n) {
  return n >= kLanes ? Load(p) : LoadPart(p, n, 0.0f);
}

// One head's page that keeps floats of type T; put stores sixteen of them.
template <typename T, typename Put>
void StoreFloats(const KvLayout& layout, const float* k, const float* v, std::size_t place,
                 std::byte* head, Put put) {
  T* keys = Numbers<T>(head, 0);
  T* values = Numbers<T>(head, layout.values_at);
  for (std::size_t d = 0; d < layout.padded_dim; d += kLanes) {
    const std::size_t n = layout.dim - d < kLanes ? layout.dim - d : kLanes;
    T column[kLanes];
    put(column, LoadUpTo(k + d, n));
    for (std::size_t i = 0; i < n; ++i) keys[(d + i) * kTileKeys + place] = column[i];
    const std::size_t panel = d / kValuePanel * kValuePanel;
    T* row = values + panel * kTileKeys + place * PanelWidth(layout.padded_dim, panel);
    put(row + d - panel, LoadUpTo(v + d, n));
  }
}

// Quantises a block of 32; returns the bits of its scale. |x| / scale is at most 127.04, rounded
// down to 127 where it must be.
inline std::uint16_t QuantiseBlock(const float* x, std::int8_t* out) {
  const Vec a = Load(x), b = Load(x + kLanes);
  const float largest = ReduceMax(Max(Abs(a), Abs(b)));
  std::uint16_t bits[kLanes];
  StoreF16(bits, Min(Set1(65504.0f), Set1(largest * (1.0f / 127.0f))));
  float scale[kLanes];
  Store(scale, LoadF16(bits));
  const Vec inverse = Set1(scale[0] > 0 ? 1.0f / scale[0] : 0.0f);
  const Vec low = Set1(-127.0f), high = Set1(127.0f);
  StoreI8(out, Min(Max(Mul(a, inverse), low), high));
  StoreI8(out + kLanes, Min(Max(Mul(b, inverse), low), high));
  return bits[0];
}

void StoreQ8(const KvLayout& layout, const float* k, const float* v, std::size_t place,
             std::byte* head) {
  auto* keys = Numbers<std::int8_t>(head, 0);
  auto* values = Numbers<std::int8_t>(head, layout.values_at);
  auto* key_scales = Numbers<std::uint16_t>(head, layout.key_scales_at);
  auto* value_scales = Numbers<std::uint16_t>(head, layout.value_scales_at);
  for (std::size_t d = 0; d < layout.dim; d += kScaleBlock) {
    const std::size_t block = d / kScaleBlock * kTileKeys + place;
    std::int8_t column[kScaleBlock];
    key_scales[block] = QuantiseBlock(k + d, column);
    for (std::size_t i = 0; i < kScaleBlock; ++i) keys[(d + i) * kTileKeys + place] = column[i];
    const std::size_t panel = d / kValuePanel * kValuePanel;
    std::int8_t* row = values + panel * kTileKeys + place * PanelWidth(layout.padded_dim, panel);
    value_scales[block] = QuantiseBlock(v + d, row + d - panel);
  }
}

void StoreKeyValue(const KvLayout& layout, const float* k, const float* v, std::size_t place,
                   std::byte* head) {
  switch (layout.numbers) {
    case KvNumbers::kF32:
      StoreFloats<float>(layout, k, v, place, head, [](float* to, Vec x) { Store(to, x); });
      return;
    case KvNumbers::kF16:  // The largest f16 instead of infinity; a NaN stays.
      StoreFloats<std::uint16_t>(layout, k, v, place, head, [](std::uint16_t* to, Vec x) {
        StoreF16(to, Min(Set1(65504.0f), Max(Set1(-65504.0f), x)));
      });
      return;
    case KvNumbers::kQ8:
      StoreQ8(layout, k, v, place, head);
      return;
  }
}

// One head of one page, as the products read it: as it lies, or widened to f32 first.
class Tile {
 public:
  // scratch: ScratchFloats(layout) long.
  Tile(const KvLayout& layout, float* scratch)
      : layout_(layout),
        scales_(scratch),
        keys_(scratch + ScalesFloats(layout)),
        values_(keys_ + layout.dim * kTileKeys) {}

  static std::size_t ScalesFloats(const KvLayout& layout) {
    return layout.numbers == KvNumbers::kQ8 ? 2 * layout.dim / kScaleBlock * kTileKeys : 0;
  }
  static std::size_t ScratchFloats(const KvLayout& layout) {
    const std::size_t wide =
        layout.numbers == KvNumbers::kF32 ? 0 : (layout.dim + layout.padded_dim) * kTileKeys;
    return ScalesFloats(layout) + wide;
  }

  // Asks for what Read and the first products of the page will look at.
  [[gnu::always_inline]] void FetchStart(const std::byte* head) const {
    for (std::size_t i = 0; i < kAheadBytes; i += kLineBytes) PrefetchLine(head, i);
    for (std::size_t i = layout_.key_scales_at; i < layout_.head_bytes; i += kLineBytes) {
      PrefetchLine(head, i);
    }
  }

  // Looks at the page's first n_keys positions. `widen` pays when many rows read it.
  void Read(const std::byte* head, std::size_t n_keys, bool widen) {
    head_ = head;
    const std::size_t n_cols = (n_keys + kLanes - 1) / kLanes * kLanes;
    if (layout_.numbers == KvNumbers::kQ8) {
      const auto* bits = Numbers<std::uint16_t>(head, layout_.key_scales_at);
      for (std::size_t i = 0; i < ScalesFloats(layout_); i += kLanes) {
        Store(scales_ + i, LoadF16(bits + i));  // The values' scales follow the keys'.
      }
    }
    widened_ = widen && layout_.numbers != KvNumbers::kF32;
    if (!widened_) return;
    WithKeys([&](auto keys) {
      for (std::size_t d = 0; d < layout_.dim; ++d) {
        for (std::size_t c = 0; c < n_cols; c += kLanes) {
          Store(keys_ + d * kTileKeys + c, keys.At(d, c));
        }
      }
    });
    for (std::size_t p = 0; p < layout_.padded_dim; p += kValuePanel) {
      const std::size_t width = PanelWidth(layout_.padded_dim, p);
      WithValues(p, width, [&](auto values) {
        for (std::size_t j = 0; j < n_keys; ++j) {
          for (std::size_t c = 0; c < width; c += kLanes) {
            Store(values_ + p * kTileKeys + j * width + c, values.At(j, c));
          }
        }
      });
    }
  }

  // Calls run(panel) with the keys, or a panel of values, of the page that Read saw.
  template <typename Run>
  void ForKeys(Run run) const {
    if (widened_) return run(F32Panel{keys_, kTileKeys});
    WithKeys(run);
  }
  template <typename Run>
  void ForValues(std::size_t panel, std::size_t width, Run run) const {
    if (widened_) return run(F32Panel{values_ + panel * kTileKeys, width});
    WithValues(panel, width, run);
  }

 private:
  template <typename Run>
  void WithKeys(Run run) const {
    switch (layout_.numbers) {
      case KvNumbers::kF32:
        return run(F32Panel{Numbers<float>(head_, 0), kTileKeys});
      case KvNumbers::kF16:
        return run(F16Keys{Numbers<std::uint16_t>(head_, 0)});
      case KvNumbers::kQ8:
        return run(Q8Keys{Numbers<std::int8_t>(head_, 0), scales_});
    }
  }
  template <typename Run>
  void WithValues(std::size_t panel, std::size_t width, Run run) const {
    const std::size_t at = panel * kTileKeys;
    switch (layout_.numbers) {
      case KvNumbers::kF32:
        return run(F32Panel{Numbers<float>(head_, layout_.values_at) + at, width});
      case KvNumbers::kF16:
        return run(F16Values{Numbers<std::uint16_t>(head_, layout_.values_at) + at, width});
      case KvNumbers::kQ8:
        return run(Q8Values{Numbers<std::int8_t>(head_, layout_.values_at) + at, width,
                            scales_ + (layout_.dim + panel) / kScaleBlock * kTileKeys});
    }
  }

  const KvLayout& layout_;
  const std::byte* head_ = nullptr;
  bool widened_ = false;
  float* scales_;  // [2][dim / 32][64]
  float* keys_;    // [dim][64]
  float* values_;  // panels
};

}  // namespace
}  // namespace lattice::kernels
