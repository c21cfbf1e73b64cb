// Float weights quantised while they are loaded, and what later starts find of them.
#include <gtest/gtest.h>

#include "models/packed_weights.h"
#include "models/test_generator.h"
#include "models/test_gguf.h"
#include "models/weight_cache.h"
#include "numeric/narrow.h"
#include "weights/quantise_policy.h"
#include "weights/test_files.h"

namespace lattice::models {
namespace {

constexpr Dtype kTypes[] = {Dtype::kQ4_0, Dtype::kQ4_1, Dtype::kQ5_0, Dtype::kQ5_1,
                            Dtype::kQ8_0, Dtype::kQ4K,  Dtype::kQ5K,  Dtype::kQ6K};

GgufVersion Floats(const char* name) {
  GgufVersion version(name, EditableModel(name));
  version.pairs().SetFloat(version.Key("rope.freq_base"), 10000.0f);
  return version;
}

/// Each tensor as the rule says; returns whether there was one to quantise.
bool QuantiseByHand(const char* architecture, Dtype type, EditableModel& model) {
  weights::QuantisePolicy policy{.type = type};
  policy.tied_output = !model.tensors.contains("lm_head.weight");
  policy.n_blocks = static_cast<std::size_t>(model.config.at("num_hidden_layers").as_int64());
  bool any = false;
  for (auto& [name, tensor] : model.tensors) {
    const auto choice =
        weights::ChooseQuantisedType(policy, GgufTensorName(architecture, name), tensor.shape);
    if (!choice || !IsBlock(choice->type)) continue;
    const std::vector<float> values = model.Floats(name);
    tensor.dtype = choice->type;
    tensor.bytes.resize(StorageBytes(choice->type, values.size()));
    NarrowFromF32(choice->type, values, tensor.bytes);
    any = true;
  }
  return any;
}

struct Loaded {
  std::vector<float> logits;  ///< Of all rows.
  std::vector<float> some;    ///< Of a few vocabulary entries, last row.
};

Loaded Read(const std::filesystem::path& path, const LoadOptions& options) {
  ThreadPool pool(2);
  const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  const auto model = LoadModel(path, *backend, options);
  EXPECT_TRUE(model) << model.error().message;
  const auto store = SequenceStore::Make((*model)->state_shape(), *backend, {.max_tokens = 256});
  const auto sequence = (*store)->New();
  Ids ids;
  for (TokenId i = 0; i < 70; ++i) ids.push_back(i * 37 % 768);
  EXPECT_TRUE(sequence->Reserve(ids.size()));
  PackedTexts texts;
  texts.Add(ids);
  Sequence* const states[] = {sequence.get()};
  Batch batch = texts.batch();
  batch.states = states;
  Workspace workspace(*backend);
  const kernels::Buffer& hidden = (*model)->Forward(batch, workspace);
  Loaded loaded;
  const auto read = [&](std::span<const TokenId> wanted, std::vector<float>& values) {
    const kernels::Buffer& logits = (*model)->Logits(hidden, wanted, workspace);
    values.resize(logits.rows() * logits.cols());
    backend->Read(logits, values);
  };
  const TokenId wanted[] = {700, 3, 3, 41};
  read(wanted, loaded.some);
  read({}, loaded.logits);
  return loaded;
}

bool Same(const Loaded& a, const Loaded& b) {
  return !a.logits.empty() && SameBits(a.logits, b.logits) && SameBits(a.some, b.some);
}

// Files of packed weights leave a part of the disk free: a full disk has none, and shows nothing.
Status RoomToKeepWeights(const TestFolder& folder) {
  return WeightCache(folder.path() / "packed").MakeRoom(std::uint64_t{16} << 20);
}

class WeightTypeTest : public testing::TestWithParam<const char*> {};

TEST_P(WeightTypeTest, EqualsAFileOfThatTypeBitForBit) {
  const TestFolder folder;
  const auto floats = folder.path() / "floats.gguf", blocks = folder.path() / "blocks.gguf";
  Floats(GetParam()).Write(floats);
  const Loaded plain = Read(floats, {});
  const Status room = RoomToKeepWeights(folder);
  for (const Dtype type : kTypes) {
    for (const auto precision : {kernels::Precision::kInt8, kernels::Precision::kF32}) {
      SCOPED_TRACE(std::string(DtypeName(type)) + " " +
                   std::to_string(static_cast<int>(precision)));
      GgufVersion version = Floats(GetParam());
      ASSERT_TRUE(QuantiseByHand(GetParam(), type, version.model()));
      version.Write(blocks);
      const Loaded wanted = Read(blocks, {.precision = precision});
      const Loaded got = Read(floats, {.precision = precision, .weights = type});
      EXPECT_TRUE(Same(got, wanted));
      EXPECT_FALSE(Same(got, plain));
      if (precision != kernels::Precision::kInt8 || !room) continue;
      // And through a file of packed weights, made and found.
      const LoadOptions kept{
          .precision = precision, .weights = type, .weight_cache = folder.path() / "packed"};
      EXPECT_TRUE(Same(Read(floats, kept), wanted));
      const auto files = WeightCache(kept.weight_cache).List();
      ASSERT_FALSE(files.empty());
      EXPECT_TRUE(Same(Read(floats, kept), wanted));
      EXPECT_EQ(WeightCache(kept.weight_cache).List().size(), files.size());
    }
  }
  if (!room) GTEST_SKIP() << "files of packed weights: " << room.error().message;
}

TEST_P(WeightTypeTest, SmallModelsComputeInInt16WhenNotAsked) {
  const TestFolder folder;
  const auto file = folder.path() / "model.gguf";
  GgufVersion version = Floats(GetParam());
  ASSERT_TRUE(QuantiseByHand(GetParam(), Dtype::kQ5_0, version.model()));
  version.Write(file);
  const Loaded small = Read(file, {});
  EXPECT_TRUE(Same(small, Read(file, {.precision = kernels::Precision::kInt16})));
  EXPECT_FALSE(Same(small, Read(file, {.precision = kernels::Precision::kInt8})));
}

TEST_P(WeightTypeTest, AFileOfThatTypeIsTakenAndOneOfAnotherIsNot) {
  const TestFolder folder;
  const auto file = folder.path() / "model.gguf";
  GgufVersion version = Floats(GetParam());
  ASSERT_TRUE(QuantiseByHand(GetParam(), Dtype::kQ5_0, version.model()));
  version.Write(file);
  EXPECT_TRUE(Same(Read(file, {.weights = Dtype::kQ5_0}), Read(file, {})));
  ThreadPool pool(1);
  const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  const auto other = LoadModel(file, *backend, {.weights = Dtype::kQ4_0});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(other.error().message.find("already"), std::string::npos) << other.error().message;
}

INSTANTIATE_TEST_SUITE_P(TiedAndNot, WeightTypeTest, testing::Values("qwen3", "qwen2"));

TEST(PackedWeightsTest, StartsWithAFileOfPackedWeightsGiveTheSameBits) {
  const TestFolder folder;
  const auto file = folder.path() / "model.gguf", packed = folder.path() / "packed";
  GgufVersion version = Floats("qwen3");
  ASSERT_TRUE(QuantiseByHand("qwen3", Dtype::kQ4_0, version.model()));
  version.Write(file);
  if (const Status room = RoomToKeepWeights(folder); !room) GTEST_SKIP() << room.error().message;
  const LoadOptions kept{.weight_cache = packed};
  const Loaded wanted = Read(file, {});
  EXPECT_TRUE(Same(Read(file, kept), wanted));
  const auto made = WeightCache(packed).List();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_TRUE(Same(Read(file, kept), wanted));
  // A moved model finds its packed weights, one that was written anew does not, and a change of
  // what they were made of is seen.
  const auto moved = folder.path() / "moved.gguf";
  std::filesystem::rename(file, moved);
  EXPECT_TRUE(Same(Read(moved, kept), wanted));
  EXPECT_EQ(WeightCache(packed).List().size(), 1u);
  std::filesystem::last_write_time(
      moved, std::filesystem::last_write_time(moved) + std::chrono::seconds(1));
  EXPECT_TRUE(Same(Read(moved, kept), wanted));
  EXPECT_EQ(WeightCache(packed).List().size(), 2u);
}

TEST(PackedWeightsTest, DamagedFilesAreMadeAnew) {
  const TestFolder folder;
  const auto file = folder.path() / "model.gguf", packed = folder.path() / "packed";
  GgufVersion version = Floats("qwen3");
  ASSERT_TRUE(QuantiseByHand("qwen3", Dtype::kQ8_0, version.model()));
  version.Write(file);
  if (const Status room = RoomToKeepWeights(folder); !room) GTEST_SKIP() << room.error().message;
  const LoadOptions kept{.weight_cache = packed};
  const Loaded wanted = Read(file, kept);
  const auto made = WeightCache(packed).List().at(0).path;
  const auto size = std::filesystem::file_size(made);
  for (const std::size_t length : {std::size_t{0}, size / 2, size - 1}) {
    std::filesystem::resize_file(made, length);
    EXPECT_TRUE(Same(Read(file, kept), wanted));
    EXPECT_EQ(std::filesystem::file_size(made), size);
  }
}

TEST(PackedWeightsTest, WhoPacksOtherMatricesFindsNoPieceOfTheFile) {
  const TestFolder folder;
  const auto checkpoint =
      weights::Checkpoint::Open(std::filesystem::path(LATTICE_FIXTURES) / "qwen3").value();
  const auto matrix = [&](const char* part) {
    const auto* tensor =
        checkpoint->Find("model.layers.0.self_attn." + std::string(part) + ".weight");
    return kernels::HostTensor{tensor->dtype, tensor->shape[0], tensor->shape[1], tensor->bytes};
  };
  const auto found = [&](std::initializer_list<kernels::HostTensor> matrices) {
    const auto file = WeightFile::Open(folder.path() / "one.packed", {});
    std::size_t n_filled = 0;
    for (const kernels::HostTensor& one : matrices) {
      PiecesOf memory(*checkpoint, *file);
      memory.Add(one);
      n_filled += memory.Take(64, 1).value().is_filled;
    }
    file->Finish();
    return n_filled;
  };
  const kernels::HostTensor k = matrix("k_proj"), v = matrix("v_proj");  // of one shape
  EXPECT_EQ(found({k, v}), 0u);
  EXPECT_EQ(found({k, v}), 2u);
  EXPECT_EQ(found({v, k}), 0u);
  EXPECT_EQ(found({v, k}), 2u);
  std::vector<std::uint32_t> order(v.rows);
  for (std::uint32_t row = 0; row < v.rows; ++row) order[row] = row ^ 1;
  kernels::HostTensor turned = v;
  turned.row_order = order;
  EXPECT_EQ(found({turned}), 0u);
  EXPECT_EQ(found({turned}), 1u);
}

TEST(PackedWeightsTest, FloatsAreNotPacked) {
  const TestFolder folder;
  const auto file = folder.path() / "model.gguf", packed = folder.path() / "packed";
  Floats("qwen3").Write(file);
  Read(file, {.weight_cache = packed});
  EXPECT_TRUE(WeightCache(packed).List().empty());
}

}  // namespace
}  // namespace lattice::models
