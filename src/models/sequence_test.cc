#include "models/sequence.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/cpu_features.h"
#include "base/files.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/page_pool.h"
#include "models/session_file.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

using kernels::KvType;
using Kind = LayerState::Kind;

constexpr std::size_t kHeads = 2, kHeadDim = 32, kWidth = kHeads * kHeadDim;

/// An attention layer, one without a state, a recurrent one.
StateShape Shape(bool recurrent) {
  StateShape shape;
  shape.fingerprint = "a model";
  shape.layers.resize(2);
  shape.layers[0] = {.kind = Kind::kAttention, .kv = {.n_kv_heads = kHeads, .head_dim = kHeadDim}};
  if (!recurrent) return shape;
  shape.layers.push_back({.kind = Kind::kDeltaNet,
                          .kv = {},
                          .delta_net = {.n_key_heads = 1,
                                        .n_value_heads = 2,
                                        .key_dim = 16,
                                        .value_dim = 16,
                                        .conv_kernel = 4}});
  return shape;
}

/// What Forward does to the states, for rows whose values are told by their tokens.
class Reader {
 public:
  explicit Reader(bool recurrent, std::size_t max_tokens = 640, KvType type = KvType::kF32)
      : recurrent_(recurrent), backend_(kernels::MakeCpuBackend(pool_, CpuFeatures::Detect())) {
    store_ = SequenceStore::Make(Shape(recurrent), *backend_,
                                 {.kv_type = type, .max_tokens = max_tokens})
                 .value();
    const std::vector<float> ones(96 * 4, 0.5f), decay(2, -1.0f);
    conv_ = backend_->MakeVector(std::span(ones).first(64 * 4));
    decay_ = backend_->MakeVector(decay);
    x_ = backend_->MakeBuffer();
    out_ = backend_->MakeBuffer();
  }
  SequenceStore& store() { return *store_; }

  /// Reads tokens first, first + 1, ...; gives what the layers answer to the last one.
  std::vector<float> Read(Sequence& sequence, std::size_t n, unsigned first) {
    EXPECT_TRUE(sequence.Reserve(n));
    EXPECT_TRUE(sequence.HasRoom(n));
    std::vector<float> answer = Attend(sequence, n, first);
    if (recurrent_) {
      const auto more = Recur(sequence, n, first);
      answer.insert(answer.end(), more.begin(), more.end());
    }
    sequence.Advance(n);
    return answer;
  }

 private:
  void Fill(std::size_t n, std::size_t width, unsigned first) {
    std::vector<float> values;
    for (std::size_t i = 0; i < n; ++i) {
      std::mt19937 rng(first + static_cast<unsigned>(i));
      for (std::size_t c = 0; c < width; ++c) {
        values.push_back(static_cast<float>(rng() % 1000) * 1e-3f - 0.5f);
      }
    }
    backend_->Write(values, n, width, *x_);
  }
  std::vector<float> LastRow() {
    std::vector<float> values(out_->rows() * out_->cols());
    backend_->Read(*out_, values);
    return {values.end() - static_cast<std::ptrdiff_t>(out_->cols()), values.end()};
  }
  std::vector<float> Attend(Sequence& sequence, std::size_t n, unsigned first) {
    Fill(n, 3 * kWidth, first);
    std::vector<std::uint32_t> slots;
    for (std::size_t p = sequence.n_tokens(); p < sequence.n_tokens() + n; ++p) {
      slots.push_back(static_cast<std::uint32_t>(sequence.pages()[p / kernels::kPageTokens] *
                                                     kernels::kPageTokens +
                                                 p % kernels::kPageTokens));
    }
    backend_->StoreKv(*x_, kWidth, 2 * kWidth, slots, sequence.kv(0));
    const kernels::PagedSpan span{0, static_cast<std::uint32_t>(n),
                                  static_cast<std::uint32_t>(sequence.n_tokens()),
                                  sequence.pages()};
    backend_->PagedAttention(
        {.q = x_.get(), .n_heads = kHeads, .kv = &sequence.kv(0), .spans = {&span, 1}}, *out_);
    return LastRow();
  }
  std::vector<float> Recur(Sequence& sequence, std::size_t n, unsigned first) {
    const auto& shape = sequence.delta_net(2).shape();
    Fill(n, shape.conv_width() + 4, first);
    const kernels::DeltaNetSpan span{0, static_cast<std::uint32_t>(n), &sequence.delta_net(2)};
    backend_->DeltaNet({.shape = shape,
                        .weights = {conv_.get(), decay_.get(), decay_.get()},
                        .x = x_.get(),
                        .qkv_col = 0,
                        .beta_col = shape.conv_width(),
                        .decay_col = shape.conv_width() + 2,
                        .spans = {&span, 1}},
                       *out_);
    return LastRow();
  }

  bool recurrent_;
  ThreadPool pool_{1};
  std::unique_ptr<kernels::Backend> backend_;
  std::shared_ptr<SequenceStore> store_;
  std::unique_ptr<kernels::Vector> conv_, decay_;
  std::unique_ptr<kernels::Buffer> x_, out_;
};

TEST(PagePoolTest, PagesAreCountedAndComeBack) {
  PagePool pool(3);
  EXPECT_EQ(pool.Take(), 0u);
  EXPECT_EQ(pool.Take(), 1u);
  pool.Share(1);
  EXPECT_TRUE(pool.IsShared(1));
  pool.Drop(1);
  EXPECT_FALSE(pool.IsShared(1));
  EXPECT_EQ(pool.n_free(), 1u);
  pool.Drop(1);
  EXPECT_EQ(pool.n_free(), 2u);
  EXPECT_EQ(pool.Take(), 1u);
}

TEST(StateShapeTest, BytesAreWhatTheBackendTakes) {
  const StateShape shape = Shape(true);
  EXPECT_EQ(shape.BytesPerToken(KvType::kF32), 2 * kWidth * 4);
  EXPECT_EQ(shape.BytesPerToken(KvType::kF16), 2 * kWidth * 2);
  EXPECT_EQ(shape.BytesPerToken(KvType::kQ8), 2 * kWidth / 32 * 34);
  Reader reader(true);
  const auto sequence = reader.store().New();
  reader.Read(*sequence, 31, 0);
  const std::size_t bytes = sequence->delta_net(2).size_bytes();
  EXPECT_LE(bytes, shape.BytesPerSequence() + 64);  // with its head
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kQ8}) {
    Reader typed(false, 64, type);
    EXPECT_EQ(typed.store().New()->kv(0).page_bytes(),
              kernels::kPageTokens * shape.BytesPerToken(type));
  }
}

class SequenceTest : public testing::TestWithParam<bool> {};

TEST_P(SequenceTest, ForksShareWholePagesAndGoOnAlone) {
  Reader reader(GetParam());
  const auto sequence = reader.store().New();
  reader.Read(*sequence, 100, 0);
  EXPECT_EQ(reader.store().free_pages(), 8u);
  auto fork = sequence->Fork().value();
  EXPECT_EQ(reader.store().free_pages(), 8u);
  EXPECT_FALSE(fork->HasRoom(1));  // The second page is not its own.
  EXPECT_FALSE(sequence->HasRoom(1));
  const auto forked = reader.Read(*fork, 40, 500);
  EXPECT_EQ(reader.store().free_pages(), 6u);  // a copy of the second page, and a third
  const auto original = reader.Read(*sequence, 28, 700);
  EXPECT_EQ(reader.store().free_pages(), 6u);
  const auto fresh = reader.store().New();
  reader.Read(*fresh, 100, 0);
  EXPECT_EQ(reader.Read(*fresh, 40, 500), forked);
  const auto other = reader.store().New();
  reader.Read(*other, 100, 0);
  EXPECT_EQ(reader.Read(*other, 28, 700), original);
  fork.reset();
  EXPECT_EQ(reader.store().free_pages(), 3u);  // The first page stays for the original.
}

TEST_P(SequenceTest, TruncationForgetsTheRest) {
  Reader reader(GetParam());
  const auto sequence = reader.store().New();
  reader.Read(*sequence, 150, 0);
  EXPECT_EQ(sequence->earliest(), GetParam() ? 128u : 1u);
  for (const std::size_t n : {std::size_t{151}, sequence->earliest() - 1}) {
    if (n == 0) continue;
    const Status refused = sequence->Truncate(n);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find(GetParam() ? "128 to 150" : "1 to 150"),
              std::string::npos);
  }
  ASSERT_TRUE(sequence->Truncate(129));
  const auto fresh = reader.store().New();
  reader.Read(*fresh, 129, 0);
  EXPECT_EQ(reader.Read(*sequence, 20, 900), reader.Read(*fresh, 20, 900));
  ASSERT_TRUE(sequence->Truncate(0));
  EXPECT_EQ(sequence->n_tokens(), 0u);
  ASSERT_TRUE(fresh->Truncate(0));
  EXPECT_EQ(reader.store().free_pages(), 10u);
  const auto first = reader.store().New();
  EXPECT_EQ(reader.Read(*sequence, 5, 3), reader.Read(*first, 5, 3));
}

TEST_P(SequenceTest, FilesBringThemBack) {
  const TestFolder folder;
  const auto file = folder.path() / "saved";
  Reader reader(GetParam(), 640, KvType::kF16);
  const auto sequence = reader.store().New();
  reader.Read(*sequence, 100, 0);
  ASSERT_TRUE(sequence->Save(file));
  const auto want = reader.Read(*sequence, 50, 400);
  Reader other(GetParam(), 640, KvType::kF16);
  auto loaded = other.store().Load(file);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->n_tokens(), 100u);
  EXPECT_EQ(other.Read(**loaded, 50, 400), want);
  Reader small(GetParam(), 64, KvType::kF16);
  EXPECT_EQ(small.store().Load(file).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(small.store().free_pages(), 1u);
  Reader typed(GetParam(), 640, KvType::kQ8);
  const auto refused = typed.store().Load(file);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("f16, here they are q8"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(reader.store().Load(folder.path() / "absent").error().code, ErrorCode::kNotFound);
}

TEST_P(SequenceTest, PartsGoOnFromTheirBeginning) {
  const TestFolder folder;
  const auto path = folder.path() / "saved";
  Reader reader(GetParam());
  const auto sequence = reader.store().New();
  reader.Read(*sequence, 150, 0);
  auto file = AtomicFile::Create(path).value();
  ASSERT_TRUE(sequence->Append(file, {}, 128));
  ASSERT_TRUE(file.Commit());
  const auto want = reader.Read(*sequence, 50, 400);
  const std::string content = ReadFile(path, 1 << 24).value();
  const auto session = ParseSession(std::as_bytes(std::span(content)));
  ASSERT_TRUE(session);

  Reader other(GetParam());
  const auto beginning = other.store().New();
  other.Read(*beginning, 100, 0);
  for (const Sequence* given : std::initializer_list<const Sequence*>{beginning.get(), nullptr}) {
    const auto refused = other.store().Restore(*session, given);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  other.Read(*beginning, 100, 100);
  auto part = other.store().Restore(*session, beginning.get());
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ((*part)->n_tokens(), 150u);
  EXPECT_EQ(other.store().free_pages(), 10u - 4 - 1);
  EXPECT_EQ(other.Read(**part, 50, 400), want);
  part->reset();
  EXPECT_EQ(other.store().free_pages(), 10u - 4);
}

/// Neither what others wrote into the same pages, nor what was cut off, is seen in a file.
TEST_P(SequenceTest, FilesHoldNothingOfOthers) {
  const TestFolder folder;
  Reader clean(GetParam()), used(GetParam());
  const auto bytes_of = [&](Reader& reader, const char* name) {
    auto sequence = reader.store().New();
    reader.Read(*sequence, 70, 0);
    if (&reader == &used) {
      reader.Read(*sequence, 20, 900);
      EXPECT_TRUE(sequence->Truncate(70));
      sequence = sequence->Fork().value();
    }
    EXPECT_TRUE(sequence->Save(folder.path() / name));
    return ReadFile(folder.path() / name, 1 << 24).value();
  };
  {
    const auto other = used.store().New();
    used.Read(*other, 600, 5);
  }
  EXPECT_EQ(bytes_of(used, "used"), bytes_of(clean, "clean"));
}

INSTANTIATE_TEST_SUITE_P(Layers, SequenceTest, testing::Bool(), [](const auto& param) {
  return std::string(param.param ? "WithRecurrence" : "AttentionOnly");
});

TEST(SequenceStoreTest, WhatDoesNotFitChangesNothing) {
  Reader reader(false, 128);
  EXPECT_EQ(reader.store().max_tokens(), 128u);
  const auto sequence = reader.store().New(), second = reader.store().New();
  reader.Read(*sequence, 60, 0);
  const Status refused = sequence->Reserve(69);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("2 more pages of 64 tokens: 1 of 2"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(reader.store().free_pages(), 1u);
  EXPECT_EQ(sequence->n_tokens(), 60u);
  EXPECT_FALSE(sequence->Reserve(std::numeric_limits<std::size_t>::max()));
  EXPECT_TRUE(sequence->Reserve(68));
  EXPECT_FALSE(second->Reserve(1));
  ASSERT_TRUE(sequence->Truncate(60));  // Reserved pages come back.
  EXPECT_TRUE(second->Reserve(1));
}

TEST(SequenceStoreTest, WrongOptionsAreRefused) {
  ThreadPool pool(1);
  const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  StateShape shape = Shape(false);
  EXPECT_EQ(SequenceStore::Make(shape, *backend, {.max_tokens = 0}).error().code,
            ErrorCode::kInvalidArgument);
  shape.layers[0].kv.head_dim = 12;
  const auto made =
      SequenceStore::Make(shape, *backend, {.kv_type = KvType::kQ8, .max_tokens = 64});
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(made.error().message.find("12 values"), std::string::npos);
}

}  // namespace
}  // namespace lattice::models
