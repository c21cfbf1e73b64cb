// A folder written as a GGUF file computes what the folder does.
#include "models/gguf_export.h"

#include <gtest/gtest.h>

#include "models/test_generator.h"
#include "models/test_rewrite.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

namespace fs = std::filesystem;

Result<GgufExport> Export(const fs::path& folder, std::shared_ptr<const ModelFiles>& files) {
  LATTICE_TRY(files, ModelFiles::Open(folder));
  return ExportGguf(*files);
}

/// Writes all tensors as f32.
Status WriteFile(const fs::path& folder, const fs::path& file) {
  std::shared_ptr<const ModelFiles> files;
  LATTICE_TRY(GgufExport made, Export(folder, files));
  weights::ApplyPolicy({.type = Dtype::kF32}, made.plan);
  std::vector<weights::TensorSpec> specs;
  for (const weights::TensorJob& job : made.plan.jobs) specs.push_back(job.spec);
  LATTICE_TRY(auto writer, weights::GgufWriter::Create(file, made.plan.pairs, std::move(specs)));
  ThreadPool pool(2);
  LATTICE_TRY_VOID(
      weights::RunTensorJobs(made.plan.jobs, *files->checkpoint(), pool, {.what = ""}, writer));
  return writer.Finish();
}

std::vector<float> LogitsOf(const fs::path& path) {
  Generator generator(path);
  const auto sequence = generator.store->New();
  Ids ids;
  for (TokenId i = 0; i < 70; ++i) ids.push_back(i * 37 % 768);
  return generator.Read(*sequence, ids);
}

void ExpectTheSame(const fs::path& folder, float tolerance) {
  const TestFolder scratch;
  const Status written = WriteFile(folder, scratch.path() / "model.gguf");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_LE(Distance(LogitsOf(scratch.path() / "model.gguf"), LogitsOf(folder)), tolerance);
}

class GgufExportTest : public testing::TestWithParam<const char*> {};

TEST_P(GgufExportTest, MeansTheSame) {
  // f32 sums of the same numbers; frequencies divided in f32 are off by a rounding.
  ExpectTheSame(fs::path(LATTICE_FIXTURES) / GetParam(), 2e-5f);
}

INSTANTIATE_TEST_SUITE_P(Families, GgufExportTest,
                         testing::Values("llama", "qwen2", "qwen3", "qwen3_5", "qwen3_5_untied",
                                         "qwen3_5_moe"));

TEST(GgufExportTest, Gemma3MeansTheSame) {
  EditableModel model("gemma3");
  model.config["query_pre_attn_scalar"] = 32;  // the heads' size, which such files assume
  const TestFolder folder;
  model.Write(folder);
  ExpectTheSame(folder.path(), 2e-5f);
}

void ExpectRefused(const EditableModel& model, ErrorCode code, std::string_view part) {
  const TestFolder folder;
  model.Write(folder);
  std::shared_ptr<const ModelFiles> files;
  const auto made = Export(folder.path(), files);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, code);
  EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
}

TEST(GgufExportTest, RefusesWhatSuchFilesCannotSay) {
  ExpectRefused(EditableModel("gemma3"), ErrorCode::kUnsupported, "query_pre_attn_scalar");
  ExpectRefused(EditableModel("gemma4"), ErrorCode::kUnsupported,
                "'gemma4_text' cannot be written");
  ExpectRefused(EditableModel("bert"), ErrorCode::kUnsupported, "'bert' cannot be written");
  EditableModel hybrid("qwen3_5");
  hybrid.tensors["model.layers.0.surprise.weight"] = hybrid.tensors.begin()->second;
  ExpectRefused(hybrid, ErrorCode::kUnsupported, "surprise");
}

TEST(GgufExportTest, MissingAndMisshapenTensorsAreNamed) {
  EditableModel model("qwen3");
  model.tensors.erase("model.layers.1.mlp.up_proj.weight");
  ExpectRefused(model, ErrorCode::kNotFound, "blk.1.ffn_up.weight");
  model = EditableModel("qwen2");
  model.tensors.erase("lm_head.weight");
  ExpectRefused(model, ErrorCode::kNotFound, "output.weight");
  model = EditableModel("llama");
  auto& rows = model.tensors.at("model.layers.0.self_attn.q_proj.weight");
  std::swap(rows.shape[0], rows.shape[1]);
  rows.shape = {rows.shape[0] * rows.shape[1] / 8, 8};
  ExpectRefused(model, ErrorCode::kCorruptData, "blk.0.attn_q.weight");
}

}  // namespace
}  // namespace lattice::models
