#include "kernels/cpu/paged_attention/paged_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cpu/cpu_backend.h"

namespace lattice::kernels {
namespace {

struct Case {
  std::size_t n_heads, n_kv_heads, dim;
  KvType type = KvType::kF32;
  std::uint32_t window = 0;
  float soft_cap = 0;
};

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

// One text of n tokens: a row is queries, keys, values.
struct Text {
  Text(const Case& c, std::size_t n, unsigned seed)
      : width((c.n_heads + 2 * c.n_kv_heads) * c.dim), qkv(Random(n * width, seed)) {}
  std::size_t n() const { return qkv.size() / width; }
  std::size_t width;
  std::vector<float> qkv;
};

// Texts whose pages lie scattered in one store.
class Store {
 public:
  Store(const Case& c, std::size_t n_texts, std::size_t n_threads, CpuFeatures features)
      : case_(c),
        pool_(n_threads),
        backend_(MakeCpuBackend(pool_, features)),
        qkv_(backend_->MakeBuffer()),
        out_(backend_->MakeBuffer()),
        pages_(backend_->MakeKvPages({c.n_kv_heads, c.dim, c.type}, kPages).value()),
        tables_(n_texts) {
    std::mt19937 rng(7);
    free_.resize(kPages);
    std::iota(free_.begin(), free_.end(), 0u);
    std::shuffle(free_.begin(), free_.end(), rng);
  }

  struct Piece {
    std::size_t text;
    std::uint32_t first;
    std::size_t n;
  };

  // Rows of several texts in one call; returns the outputs.
  std::vector<float> Run(const std::vector<const Text*>& texts, const std::vector<Piece>& pieces) {
    std::vector<float> rows;
    std::vector<std::uint32_t> slots;
    std::vector<PagedSpan> spans;
    for (const Piece& piece : pieces) {
      const Text& text = *texts[piece.text];
      std::vector<std::uint32_t>& table = tables_[piece.text];
      const auto begin = static_cast<std::uint32_t>(slots.size());
      for (std::uint32_t p = piece.first; p < piece.first + piece.n; ++p) {
        if (table.size() * kPageTokens <= p) {
          table.push_back(free_.back());
          free_.pop_back();
        }
        slots.push_back(table[p / kPageTokens] * static_cast<std::uint32_t>(kPageTokens) +
                        p % static_cast<std::uint32_t>(kPageTokens));
        const auto row = text.qkv.begin() + static_cast<std::ptrdiff_t>(p * text.width);
        rows.insert(rows.end(), row, row + static_cast<std::ptrdiff_t>(text.width));
      }
      spans.push_back({begin, static_cast<std::uint32_t>(slots.size()), piece.first, {}});
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) spans[i].pages = tables_[pieces[i].text];
    backend_->Write(rows, slots.size(), texts[0]->width, *qkv_);
    const std::size_t k_col = case_.n_heads * case_.dim;
    backend_->StoreKv(*qkv_, k_col, k_col + case_.n_kv_heads * case_.dim, slots, *pages_);
    PagedAttentionArgs args;
    args.q = qkv_.get();
    args.n_heads = case_.n_heads;
    args.kv = pages_.get();
    args.scale = 1.0f / std::sqrt(static_cast<float>(case_.dim));
    args.soft_cap = case_.soft_cap;
    args.window = case_.window;
    args.spans = spans;
    backend_->PagedAttention(args, *out_);
    std::vector<float> out(slots.size() * case_.n_heads * case_.dim);
    backend_->Read(*out_, out);
    return out;
  }

  std::vector<float> InPieces(const Text& text, std::size_t piece) {
    std::vector<float> all;
    for (std::size_t first = 0; first < text.n(); first += piece) {
      const std::vector<float> out =
          Run({&text}, {{0, static_cast<std::uint32_t>(first), std::min(piece, text.n() - first)}});
      all.insert(all.end(), out.begin(), out.end());
    }
    return all;
  }

  Backend& backend() { return *backend_; }
  KvPages& pages() { return *pages_; }

 private:
  static constexpr std::size_t kPages = 64;
  Case case_;
  ThreadPool pool_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Buffer> qkv_, out_;
  std::unique_ptr<KvPages> pages_;
  std::vector<std::vector<std::uint32_t>> tables_;
  std::vector<std::uint32_t> free_;
};

constexpr std::size_t kCheckedRows = 13;  // Every so many.

// In f64, on the numbers as given; the rows that are checked.
std::vector<double> Exact(const Case& c, const Text& text) {
  std::vector<double> out(text.n() * c.n_heads * c.dim);
  for (std::size_t i = 0; i < text.n(); i += kCheckedRows) {
    for (std::size_t h = 0; h < c.n_heads; ++h) {
      const std::size_t g = h / (c.n_heads / c.n_kv_heads);
      const float* q = &text.qkv[i * text.width + h * c.dim];
      const std::size_t begin = c.window != 0 && i > c.window ? i - c.window : 0;
      std::vector<double> scores;
      double largest = -1e300, total = 0;
      for (std::size_t j = begin; j <= i; ++j) {
        const float* k = &text.qkv[j * text.width + (c.n_heads + g) * c.dim];
        double score = 0;
        for (std::size_t d = 0; d < c.dim; ++d) score += static_cast<double>(q[d]) * k[d];
        score /= std::sqrt(static_cast<double>(c.dim));
        if (c.soft_cap > 0) score = c.soft_cap * std::tanh(score / c.soft_cap);
        scores.push_back(score);
        largest = std::max(largest, score);
      }
      for (double& s : scores) total += s = std::exp(s - largest);
      for (std::size_t j = begin; j <= i; ++j) {
        const float* v = &text.qkv[j * text.width + (c.n_heads + c.n_kv_heads + g) * c.dim];
        for (std::size_t d = 0; d < c.dim; ++d) {
          out[(i * c.n_heads + h) * c.dim + d] += scores[j - begin] / total * v[d];
        }
      }
    }
  }
  return out;
}

// Infinite where a number is none.
double WorstError(const std::vector<float>& got, const std::vector<double>& want,
                  std::size_t width) {
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (i / width % kCheckedRows != 0) continue;
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - want[i]));
    if (std::isnan(got[i])) return std::numeric_limits<double>::infinity();
  }
  return worst;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<Case> Cases() {
  return {{4, 2, 32, KvType::kF32, 0, 0},     {4, 1, 64, KvType::kF16, 0, 0},
          {2, 2, 64, KvType::kQ8, 0, 0},      {8, 2, 256, KvType::kF16, 0, 0},
          {3, 1, 80, KvType::kF16, 100, 0},   {4, 4, 24, KvType::kF16, 0, 2.5f},
          {2, 1, 96, KvType::kQ8, 33, 5.0f},  {14, 1, 64, KvType::kF32, 64, 0},
          {2, 1, 512, KvType::kF16, 0, 0},    {5, 1, 8, KvType::kF32, 1, 0},
          {16, 2, 32, KvType::kQ8, 600, 1.0f}};
}

TEST(PagedAttentionTest, IsNearTheDefinition) {
  for (const Case& c : Cases()) {
    const Text text(c, 600, 1);
    Store store(c, 1, 2, CpuFeatures::Detect());
    // Values of order one: f16 keeps 11 bits of them and of keys, q8 7 of the block's largest.
    const double tolerance = c.type == KvType::kF32 ? 4e-6 : c.type == KvType::kF16 ? 2e-3 : 0.05;
    EXPECT_LT(WorstError(store.InPieces(text, 600), Exact(c, text), c.n_heads * c.dim), tolerance)
        << "dim " << c.dim << " window " << c.window;
  }
}

TEST(PagedAttentionTest, PiecesGiveTheBitsOfTheWhole) {
  for (const Case& c : Cases()) {
    const Text text(c, 600, 2);
    Store whole(c, 1, 1, CpuFeatures::Detect());
    const std::vector<float> want = whole.InPieces(text, text.n());
    for (const std::size_t n_threads : {1u, 2u, 3u}) {
      for (const std::size_t piece : {1u, 7u, 33u, 64u, 512u}) {
        if (piece == 1 && n_threads != 3) continue;  // The slowest.
        Store store(c, 1, n_threads, CpuFeatures::Detect());
        EXPECT_TRUE(SameBits(store.InPieces(text, piece), want))
            << "dim " << c.dim << " pieces of " << piece << " threads " << n_threads;
      }
    }
  }
}

TEST(PagedAttentionTest, OtherTextsOfTheBatchChangeNothing) {
  for (const Case& c : Cases()) {
    const Text a(c, 1100, 3), b(c, 90, 4), d(c, 30, 5);
    std::vector<float> want[3];
    std::size_t i = 0;
    for (const Text* text : {&a, &b, &d}) {
      Store alone(c, 1, 1, CpuFeatures::Detect());
      want[i++] = alone.InPieces(*text, text->n());
    }
    Store store(c, 3, 3, CpuFeatures::Detect());
    store.Run({&a, &b, &d}, {{0, 0, 1099}, {1, 0, 60}});
    const std::vector<float> got = store.Run({&a, &b, &d}, {{0, 1099, 1}, {1, 60, 30}, {2, 0, 30}});
    const std::size_t width = c.n_heads * c.dim;
    const auto row = [&](std::size_t text, std::size_t r) {
      return want[text].begin() + static_cast<std::ptrdiff_t>(r * width);
    };
    std::vector<float> rows(row(0, 1099), want[0].end());
    rows.insert(rows.end(), row(1, 60), want[1].end());
    rows.insert(rows.end(), row(2, 0), want[2].end());
    EXPECT_TRUE(SameBits(got, rows)) << "dim " << c.dim << " window " << c.window;
  }
}

TEST(PagedAttentionTest, AllVariantsGiveTheSameBits) {
  for (const Case& c : Cases()) {
    const Text text(c, 150, 6);
    Store scalar(c, 1, 1, {});
    const std::vector<float> want = scalar.InPieces(text, 50);
    for (const PagedAttentionVariant& variant : PagedAttentionVariants()) {
      if (!CpuFeatures::Detect().Has(variant.needs)) continue;
      Store store(c, 1, 1, variant.needs);
      EXPECT_TRUE(SameBits(store.InPieces(text, 50), want)) << variant.name << " dim " << c.dim;
    }
  }
}

TEST(PagedAttentionTest, WhatAPageHeldBeforeIsNotSeen) {
  const Case c = {2, 1, 32, KvType::kF16};
  const Text text(c, 100, 8);
  Store fresh(c, 1, 1, CpuFeatures::Detect()), used(c, 1, 1, CpuFeatures::Detect());
  const std::vector<std::byte> nans(used.pages().page_bytes(), std::byte{0xFF});
  for (std::uint32_t p = 0; p < used.pages().n_pages(); ++p) {
    used.backend().WriteKvPage(nans, p, used.pages());
  }
  EXPECT_TRUE(SameBits(fresh.InPieces(text, 30), used.InPieces(text, 30)));
}

TEST(PagedAttentionTest, PagesAreCopiedReadAndWrittenWhole) {
  const Case c = {2, 2, 64, KvType::kQ8};
  Store store(c, 1, 1, CpuFeatures::Detect());
  KvPages& pages = store.pages();
  std::vector<std::byte> bytes(pages.page_bytes()), back(pages.page_bytes());
  std::mt19937 rng(9);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
  store.backend().WriteKvPage(bytes, 3, pages);
  store.backend().CopyKvPage(3, 5, pages);
  store.backend().ReadKvPage(pages, 5, back);
  EXPECT_EQ(bytes, back);
  store.backend().ReadKvPage(pages, 4, back);
  EXPECT_EQ(back, std::vector<std::byte>(back.size()));
}

TEST(PagedAttentionTest, LargeNumbersStayFinite) {
  for (const KvType type : {KvType::kF16, KvType::kQ8}) {
    const Case c = {1, 1, 32, type};
    Text text(c, 70, 10);
    for (std::size_t i = 0; i < text.qkv.size(); ++i) text.qkv[i] *= i % 32 == 0 ? 3e38f : 1e3f;
    // Queries stay small, so that scores are numbers.
    for (std::size_t r = 0; r < text.n(); ++r) {
      for (std::size_t d = 0; d < c.dim; ++d) text.qkv[r * text.width + d] = 0.01f;
    }
    Store store(c, 1, 1, CpuFeatures::Detect());
    for (const float y : store.InPieces(text, 70)) EXPECT_TRUE(std::isfinite(y));
  }
}

TEST(PagedAttentionTest, MoreThanTheAddressSpaceIsRefused) {
  ThreadPool pool(1);
  const auto backend = MakeCpuBackend(pool, CpuFeatures::Detect());
  const KvShape shape = {8, 256, KvType::kF16};
  for (const std::size_t n_pages : {std::size_t{1} << 40, std::size_t{1} << 60}) {
    const auto pages = backend->MakeKvPages(shape, n_pages);
    ASSERT_FALSE(pages.has_value());
    EXPECT_EQ(pages.error().code, ErrorCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace lattice::kernels
