// What no tiny reference model has: other spellings of the same tensors, other dtypes, nested
// configs, and heads whose score is worked out here in double.
#include <gtest/gtest.h>

#include <random>

#include "models/row_plan.h"
#include "models/test_rewrite.h"
#include "numeric/float16.h"

namespace lattice::models {
namespace {

namespace json = boost::json;

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  std::vector<float> values(n);
  for (float& v : values) v = uniform(rng);
  return values;
}

PackedTexts SomeTexts(std::size_t vocab) {
  std::mt19937 rng(5);
  PackedTexts texts;
  for (const std::size_t n : {7u, 1u, 40u}) {
    std::vector<TokenId> text(n);
    for (TokenId& id : text) id = static_cast<TokenId>(rng() % vocab);
    texts.Add(text);
  }
  return texts;
}

std::vector<float> ForwardOf(const EditableModel& model) {
  const TestFolder folder;
  model.Write(folder);
  LoadedModel loaded(folder.path());
  return loaded.Forward(SomeTexts(loaded.model->info().vocab).batch());
}

void AddPrefix(EditableModel& model, const std::string& prefix) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.tensors) names.push_back(name);
  for (const auto& name : names) model.Rename(name, prefix + name);
}

TEST(VariantsTest, PrefixesAndOldNormNamesMeanTheSame) {
  const auto want = ForwardOf(EditableModel("bert"));
  EditableModel model("bert");
  AddPrefix(model, "bert.");
  std::vector<std::string> norms;
  for (const auto& [name, tensor] : model.tensors) {
    if (name.ends_with("LayerNorm.weight")) norms.push_back(name.substr(0, name.size() - 6));
  }
  ASSERT_EQ(norms.size(), 7u);
  for (const auto& norm : norms) {
    model.Rename(norm + "weight", norm + "gamma");
    model.Rename(norm + "bias", norm + "beta");
  }
  model.tensors.erase("bert.pooler.dense.weight");  // An encoder does not need it.
  model.Add("cls.predictions.bias", {3}, Random(3, 1));
  EXPECT_EQ(ForwardOf(model), want);
}

TEST(VariantsTest, DecoderPrefixMeansTheSame) {
  EditableModel model("qwen3_embedding");
  const auto want = ForwardOf(model);
  AddPrefix(model, "model.");
  EXPECT_EQ(ForwardOf(model), want);
}

TEST(VariantsTest, NestedTextConfigWithOlderKeysMeansTheSame) {
  EditableModel model("embeddinggemma");
  const auto want = ForwardOf(model);
  AddPrefix(model, "language_model.model.");
  json::object text = model.config;
  for (const char* key : {"architectures", "rope_parameters", "layer_types", "rms_norm_eps",
                          "hidden_activation", "max_position_embeddings"}) {
    text.erase(key);  // What equals the reference's default is left out by such files.
  }
  text["rope_theta"] = 1e6;
  model.config = {{"model_type", "gemma3"},
                  {"architectures", json::array{"Gemma3ForConditionalGeneration"}},
                  {"text_config", text}};
  EXPECT_EQ(ForwardOf(model), want);
}

TEST(VariantsTest, AHalvedWindowThatWasWrittenBackIsRecognised) {
  EditableModel model("embeddinggemma");
  ASSERT_EQ(model.config["sliding_window"], 32);
  const auto want = ForwardOf(model);
  model.config["sliding_window"] = 17;  // 32 / 2 + 1, as some versions of the reference save it
  EXPECT_EQ(ForwardOf(model), want);
  model.config["sliding_window"] = 30;
  EXPECT_NE(ForwardOf(model), want);
}

/// Weights stored in a narrow format give the bits of the same numbers stored as f32.
TEST(VariantsTest, NarrowWeightsAreReadExactly) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF16, Dtype::kF8E4M3}) {
    EditableModel narrow("qwen3_embedding"), wide("qwen3_embedding");
    for (auto& [name, tensor] : narrow.tensors) {
      const auto values = narrow.Floats(name);
      const std::size_t width = DtypeBytes(dtype);
      tensor.dtype = dtype;
      tensor.bytes.assign(values.size() * width, std::byte{0});
      for (std::size_t i = 0; i < values.size(); ++i) {
        // The upper byte of a half is an 8-bit number of some kind: any exact value will do here.
        const std::uint16_t bits =
            dtype == Dtype::kBf16 ? F32ToBf16(values[i]) : F32ToF16(values[i]);
        if (width == 1) tensor.bytes[i] = static_cast<std::byte>(bits >> 8 & 0xBF);
        if (width == 2) std::memcpy(&tensor.bytes[2 * i], &bits, 2);
      }
      const auto exact = narrow.Floats(name);
      wide.Add(name, tensor.shape, exact);
    }
    EXPECT_EQ(ForwardOf(narrow), ForwardOf(wide)) << DtypeName(dtype);
  }
}

/// y = W x in double; W [n, x.size()].
std::vector<double> Product(const std::vector<float>& w, const std::vector<double>& x) {
  std::vector<double> y(w.size() / x.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    y[i / x.size()] += static_cast<double>(w[i]) * x[i % x.size()];
  }
  return y;
}

std::vector<double> Row(const std::vector<float>& states, std::size_t row, std::size_t hidden) {
  const auto begin = states.begin() + static_cast<std::ptrdiff_t>(row * hidden);
  return {begin, begin + static_cast<std::ptrdiff_t>(hidden)};
}

TEST(VariantsTest, DecoderClassifierScoresTheLastRow) {
  EditableModel model("qwen3_embedding");
  AddPrefix(model, "model.");
  const auto score = Random(2 * 64, 3);
  model.Add("score.weight", {2, 64}, score);
  const auto states = ForwardOf(model);
  model.config["architectures"] = json::array{"Qwen3ForSequenceClassification"};  // two labels
  const TestFolder folder;
  model.Write(folder);
  LoadedModel loaded(folder.path());
  const PackedTexts texts = SomeTexts(768);
  const auto got = loaded.Classify(texts.batch());
  ASSERT_EQ(got.size(), 6u);
  for (std::size_t t = 0; t < 3; ++t) {
    const auto want = Product(score, Row(states, texts.sequences[t].end - 1, 64));
    EXPECT_NEAR(got[2 * t], want[0], 2e-5);
    EXPECT_NEAR(got[2 * t + 1], want[1], 2e-5);
  }
}

/// classifier(LN(gelu(dense pooled))).
std::vector<double> ModernHead(const EditableModel& model, const std::vector<double>& pooled) {
  auto h = Product(model.Floats("head.dense.weight"), pooled);
  double mean = 0, variance = 0;
  for (double& v : h) v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  for (const double v : h) mean += v / 48;
  for (const double v : h) variance += (v - mean) * (v - mean) / 48;
  const auto gain = model.Floats("head.norm.weight");
  for (std::size_t c = 0; c < 48; ++c) {
    h[c] = (h[c] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gain[c]);
  }
  auto y = Product(model.Floats("classifier.weight"), h);
  const auto bias = model.Floats("classifier.bias");
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(bias[i]);
  return y;
}

TEST(VariantsTest, ModernBertClassifierScoresTheFirstRowOrTheMean) {
  EditableModel model("modernbert");
  AddPrefix(model, "model.");
  const auto states = ForwardOf(model);
  model.Add("head.dense.weight", {48, 48}, Random(48 * 48, 6));
  model.Add("head.norm.weight", {48}, Random(48, 7));
  model.Add("classifier.weight", {3, 48}, Random(3 * 48, 8));
  model.Add("classifier.bias", {3}, Random(3, 9));
  model.config["architectures"] = json::array{"ModernBertForSequenceClassification"};
  model.config["id2label"] = json::object{{"0", "a"}, {"1", "b"}, {"2", "c"}};
  const PackedTexts texts = SomeTexts(768);
  for (const char* pooling : {"cls", "mean"}) {
    model.config["classifier_pooling"] = pooling;
    const TestFolder folder;
    model.Write(folder);
    LoadedModel loaded(folder.path());
    const auto got = loaded.Classify(texts.batch());
    ASSERT_EQ(got.size(), 9u);
    for (std::size_t t = 0; t < 3; ++t) {
      const auto [begin, end] = texts.sequences[t];
      std::vector<double> pooled = Row(states, begin, 48);
      if (std::string_view(pooling) == "mean") {
        for (std::size_t r = begin + 1; r < end; ++r) {
          for (std::size_t c = 0; c < 48; ++c) pooled[c] += Row(states, r, 48)[c];
        }
        for (double& v : pooled) v /= end - begin;
      }
      const auto want = ModernHead(model, pooled);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[3 * t + i], want[i], 2e-5) << pooling;
    }
  }
}

TEST(VariantsTest, RobertaPaddingInsideATextTakesNoPosition) {
  LoadedModel loaded(std::filesystem::path(LATTICE_FIXTURES) / "xlm_roberta");
  EXPECT_EQ(loaded.model->info().max_tokens, 128u);  // 130 positions, two of them never used
  PackedTexts longest;
  longest.Add(std::vector<TokenId>(128, 5));
  EXPECT_EQ(loaded.Forward(longest.batch()).size(), 128u * 48);
  RowPlan plan;
  PackedTexts text;
  text.Add(std::vector<TokenId>{0, 7, 1, 8, 2});
  PlanPositionRows(text.batch(), TokenId{1}, plan);
  EXPECT_EQ(plan.position_rows, (std::vector<std::int32_t>{2, 3, 1, 4, 5}));
  PlanPositionRows(text.batch(), std::nullopt, plan);
  EXPECT_EQ(plan.position_rows, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace lattice::models
