#include "weights/tensor_jobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/files.h"
#include "weights/safetensors_writer.h"
#include "weights/test_files.h"

namespace lattice::weights {
namespace {

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

std::shared_ptr<const Checkpoint> OneTensor(const TestFolder& folder,
                                            const std::vector<std::size_t>& shape,
                                            const std::vector<float>& values) {
  const auto path = folder.path() / "source.safetensors";
  auto writer = SafetensorsWriter::Create(path, {{"t", Dtype::kF32, shape}});
  EXPECT_TRUE(writer && writer->Append(values) && writer->Finish());
  return Checkpoint::Open(path).value();
}

Status Write(const std::vector<TensorJob>& jobs, const Checkpoint& source, std::size_t n_threads,
             const std::filesystem::path& file, const TensorJobOptions& options = {}) {
  std::vector<TensorSpec> specs;
  for (const TensorJob& job : jobs) specs.push_back(job.spec);
  LATTICE_TRY(GgufWriter writer, GgufWriter::Create(file, GgufPairs(), specs));
  ThreadPool pool(n_threads);
  LATTICE_TRY_VOID(RunTensorJobs(jobs, source, pool, options, writer));
  return writer.Finish();
}

TEST(TensorJobsTest, TheSameBytesForAnyNumberOfThreads) {
  const TestFolder folder;
  const auto source = OneTensor(folder, {300, 768}, Random(300 * 768, 3));
  const TensorView view = *source->Find("t");
  std::vector<TensorJob> jobs;
  for (const Dtype dtype : {Dtype::kQ4_0, Dtype::kQ8_0, Dtype::kQ4K, Dtype::kQ5K, Dtype::kQ6K,
                            Dtype::kF16, Dtype::kBf16, Dtype::kF32}) {
    jobs.push_back({.spec = {std::string(DtypeName(dtype)), dtype, view.shape}, .source = view});
  }
  ASSERT_TRUE(Write(jobs, *source, 1, folder.path() / "1.gguf"));
  const std::string one = ReadFile(folder.path() / "1.gguf", 1 << 24).value();
  for (const std::size_t n_threads : {2, 5}) {
    ASSERT_TRUE(Write(jobs, *source, n_threads, folder.path() / "n.gguf"));
    EXPECT_TRUE(ReadFile(folder.path() / "n.gguf", 1 << 24).value() == one) << n_threads;
  }
  const auto back = Checkpoint::Open(folder.path() / "1.gguf").value();
  EXPECT_EQ(back->Find("F32")->ToF32().value(), view.ToF32().value());
}

TEST(TensorJobsTest, RowsAndColumnsChangePlacesAndValuesChange) {
  const TestFolder folder;
  const auto source = OneTensor(folder, {2, 3}, {0, 1, 2, 3, 4, 5});
  const TensorView view = *source->Find("t");
  const std::vector<TensorJob> jobs = {
      {.spec = {"rows", Dtype::kF32, {2, 3}}, .source = view, .row_order = {1, 0}},
      {.spec = {"columns", Dtype::kF32, {2, 3}}, .source = view, .column_order = {2, 0, 1}},
      {.spec = {"vector", Dtype::kF32, {6}}, .source = view, .row_order = {5, 4, 3, 2, 1, 0}},
      {.spec = {"added", Dtype::kBf16, {6}}, .source = view, .added = 1},
      {.spec = {"decay", Dtype::kF32, {6}}, .source = view, .negated_exponential = true}};
  ASSERT_TRUE(Write(jobs, *source, 2, folder.path() / "out.gguf"));
  const auto back = Checkpoint::Open(folder.path() / "out.gguf").value();
  const auto values = [&](const char* name) { return back->Find(name)->ToF32().value(); };
  EXPECT_EQ(values("rows"), (std::vector<float>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(values("columns"), (std::vector<float>{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(values("vector"), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(values("added"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values("decay")[2], -std::exp(2.0f));
}

TEST(TensorJobsTest, WhatCannotBeStoredIsNamedAndNothingIsLeft) {
  const TestFolder folder;
  std::vector<float> values = Random(200 * 1024, 5);
  values[70000] = std::nanf("");
  values[150000] = std::numeric_limits<float>::infinity();
  const auto source = OneTensor(folder, {200, 1024}, values);
  const TensorView view = *source->Find("t");
  const auto file = folder.path() / "out.gguf";
  for (const Dtype dtype : {Dtype::kQ4_0, Dtype::kQ6K, Dtype::kBf16}) {
    const auto status =
        Write({{.spec = {"t", dtype, view.shape}, .source = view}}, *source, 3, file);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorruptData);
    EXPECT_NE(status.error().message.find("tensor 't': element 70000 is"), std::string::npos)
        << status.error().message;
  }
  // A copy is a copy.
  EXPECT_TRUE(Write({{.spec = {"t", Dtype::kF32, view.shape}, .source = view}}, *source, 1, file));
  std::filesystem::remove(file);
  std::size_t n_files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++n_files;
  }
  EXPECT_EQ(n_files, 1u);  // the source
}

TEST(TensorJobsTest, StopsWhenAsked) {
  const TestFolder folder;
  const auto source = OneTensor(folder, {4, 256}, Random(1024, 7));
  const TensorView view = *source->Find("t");
  std::stop_source stop;
  stop.request_stop();
  const auto status = Write({{.spec = {"t", Dtype::kQ8_0, view.shape}, .source = view}}, *source, 1,
                            folder.path() / "out.gguf", {.stop = stop.get_token(), .what = ""});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out.gguf"));
}

TEST(TensorJobsTest, ProgressEndsAtTheTotal) {
  const TestFolder folder;
  const auto source = OneTensor(folder, {5000, 1024}, Random(5000 * 1024, 9));
  const TensorView view = *source->Find("t");
  std::size_t last = 0, calls = 0;
  const TensorJobOptions options{.progress =
                                     [&](std::string_view, std::size_t done, std::size_t total) {
                                       EXPECT_GT(done, last);
                                       EXPECT_EQ(total, view.bytes.size());
                                       last = done;
                                       ++calls;
                                     },
                                 .what = "t"};
  ASSERT_TRUE(Write({{.spec = {"t", Dtype::kQ4_0, view.shape}, .source = view}}, *source, 2,
                    folder.path() / "out.gguf", options));
  EXPECT_EQ(last, view.bytes.size());
  EXPECT_GT(calls, 1u);
}

}  // namespace
}  // namespace lattice::weights
