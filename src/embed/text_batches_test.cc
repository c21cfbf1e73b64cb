#include "embed/text_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace lattice::embed {
namespace {

using tokenizers::Encoding;

// Text i has lengths[i] tokens, all of id i + 1.
struct Harness {
  explicit Harness(std::vector<std::size_t> all) : lengths(std::move(all)), usage(lengths.size()) {
    options.n_texts = lengths.size();
    options.max_batch_tokens = 10;
    options.vocab = 1u << 20;
  }
  Status Go(std::size_t n_threads = 1) {
    ThreadPool pool(n_threads);
    return ForEachTextBatch(
        options, pool, [&](std::size_t i) { return lengths[i]; },
        [&](std::size_t i) -> Result<Encoding> {
          ++n_encoded;
          Encoding encoding;
          encoding.ids.assign(lengths[i], static_cast<TokenId>(i + 1));
          encoding.type_ids.assign(lengths[i], 0);
          encoding.n_tokens_untruncated = lengths[i] + i;
          return encoding;
        },
        [&](const TextBatch& batch) -> Status {
          EXPECT_FALSE(batch.texts.empty());
          EXPECT_EQ(batch.texts.size(), batch.rows.sequences.size());
          EXPECT_TRUE(batch.rows.type_ids.empty());
          std::uint32_t at = 0;
          for (std::size_t s = 0; s < batch.texts.size(); ++s) {
            EXPECT_EQ(batch.rows.sequences[s].begin, at);
            at = batch.rows.sequences[s].end;
            EXPECT_EQ(at - batch.rows.sequences[s].begin, lengths[batch.texts[s]]);
            for (std::uint32_t r = batch.rows.sequences[s].begin; r < at; ++r) {
              EXPECT_EQ(batch.rows.ids[r], static_cast<TokenId>(batch.texts[s] + 1));
            }
            EXPECT_TRUE(seen.insert(batch.texts[s]).second);
          }
          EXPECT_EQ(at, batch.rows.ids.size());
          batch_rows.push_back(at);
          if (on_batch) on_batch();
          return Ok();
        },
        usage);
  }
  std::vector<std::size_t> lengths;
  std::vector<TextUsage> usage;
  BatchingOptions options;
  std::set<std::size_t> seen;
  std::atomic<std::size_t> n_encoded{0};
  std::vector<std::size_t> batch_rows;
  std::function<void()> on_batch;
};

TEST(TextBatchesTest, FillsBatchesLongestFirstWithoutCuttingATextInTwo) {
  Harness h({3, 12, 4, 5, 3, 0, 1});
  ASSERT_TRUE(h.Go());
  EXPECT_EQ(h.batch_rows, (std::vector<std::size_t>{12, 9, 7}));  // 12 | 5 4 | 3 3 1
  EXPECT_EQ(h.seen, (std::set<std::size_t>{0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(h.usage[3].n_tokens, 5u);
  EXPECT_EQ(h.usage[3].n_tokens_untruncated, 8u);
  EXPECT_TRUE(h.usage[3].truncated());
  EXPECT_FALSE(h.usage[0].truncated());
}

TEST(TextBatchesTest, ManyTextsGoThroughSeveralWindows) {
  Harness h(std::vector<std::size_t>(2500, 3));
  std::vector<std::size_t> progress;
  const std::function<void(std::size_t, std::size_t)> report = [&](std::size_t done,
                                                                   std::size_t total) {
    EXPECT_EQ(total, 2500u);
    progress.push_back(done);
  };
  h.options.progress = &report;
  ASSERT_TRUE(h.Go(3));
  EXPECT_EQ(h.seen.size(), 2500u);
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.back(), 2500u);
  for (const std::size_t rows : h.batch_rows) EXPECT_LE(rows, 10u);
}

TEST(TextBatchesTest, LongTextsMakeSmallWindows) {
  // Each window holds at most 4 MiB of text: one of these.
  Harness h({3u << 20, 3u << 20, 3u << 20});
  h.options.vocab = 10;
  std::vector<std::size_t> encoded;
  h.on_batch = [&] { encoded.push_back(h.n_encoded); };
  ASSERT_TRUE(h.Go());
  EXPECT_EQ(encoded, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(TextBatchesTest, NoTextsIsNoWork) {
  Harness h({});
  EXPECT_TRUE(h.Go());
  EXPECT_TRUE(h.batch_rows.empty());
}

TEST(TextBatchesTest, StopsBetweenTwoBatches) {
  Harness h(std::vector<std::size_t>(100, 10));
  std::stop_source source;
  h.options.stop = source.get_token();
  h.on_batch = [&] { source.request_stop(); };
  const Status status = h.Go();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(h.batch_rows.size(), 1u);
}

TEST(TextBatchesTest, AnErrorNamesTheFirstTextThatHasOne) {
  ThreadPool pool(2);
  BatchingOptions options;
  options.n_texts = 50;
  options.max_batch_tokens = 10;
  options.vocab = 100;
  std::vector<TextUsage> usage(50);
  for (const bool bad_id : {false, true}) {
    const Status status = ForEachTextBatch(
        options, pool, [](std::size_t) { return std::size_t{100}; },
        [&](std::size_t i) -> Result<Encoding> {
          if (i >= 17 && !bad_id) return Error{ErrorCode::kInvalidArgument, "no good"};
          Encoding encoding;
          encoding.ids = {i >= 23 ? TokenId{100} : TokenId{99}};
          return encoding;
        },
        [](const TextBatch&) { return Ok(); }, usage);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message.substr(0, 9), bad_id ? "text 23: " : "text 17: ");
    EXPECT_EQ(status.error().code, bad_id ? ErrorCode::kCorruptData : ErrorCode::kInvalidArgument);
  }
}

TEST(TextBatchesTest, SegmentsReachTheModelOnlyWhereThereAreAny) {
  ThreadPool pool(1);
  BatchingOptions options;
  options.n_texts = 1;
  options.max_batch_tokens = 10;
  options.vocab = 10;
  std::vector<TextUsage> usage(1);
  ASSERT_TRUE(ForEachTextBatch(
      options, pool, [](std::size_t) { return std::size_t{2}; },
      [](std::size_t) -> Result<Encoding> {
        Encoding encoding;
        encoding.ids = {1, 2, 3};
        encoding.type_ids = {0, 1, 1};
        return encoding;
      },
      [](const TextBatch& batch) {
        EXPECT_EQ(std::vector<std::uint8_t>(batch.rows.type_ids.begin(), batch.rows.type_ids.end()),
                  (std::vector<std::uint8_t>{0, 1, 1}));
        return Ok();
      },
      usage));
}

}  // namespace
}  // namespace lattice::embed
