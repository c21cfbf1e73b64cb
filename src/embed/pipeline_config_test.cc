#include "embed/pipeline_config.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_folder.h"
#include "embed/known_models.h"

namespace lattice::embed {
namespace {

constexpr char kModules[] = R"([
  {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
  {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
  {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
])";
constexpr char kMean[] = R"({"word_embedding_dimension": 48, "pooling_mode_mean_tokens": true})";

TEST(PipelineConfigTest, ModulesRunInTheOrderOfIdx) {
  const TestFolder folder;
  folder.Write("modules.json", kModules);
  folder.Write("1_Pooling/config.json", kMean);
  const auto config = ReadPipelineConfig(folder.path(), {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->from_files);
  EXPECT_EQ(config->transformer, folder.path() / "");
  EXPECT_EQ(config->pooling.modes, std::vector{Pooling::kMean});
  EXPECT_EQ(config->pooling.hidden, 48u);
  ASSERT_EQ(config->steps.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<NormalizeSpec>(config->steps[0]));
  EXPECT_EQ(config->max_tokens, 0u);
}

TEST(PipelineConfigTest, NewModuleNamesDenseLayersAndSubfolderOfTheTransformer) {
  const TestFolder folder;
  folder.Write("modules.json", R"([
    {"idx": 0, "path": "0_T", "type": "sentence_transformers.base.modules.transformer.Transformer"},
    {"idx": 1, "path": "1_P", "type": "sentence_transformers.sentence_transformer.modules.Pooling"},
    {"idx": 2, "path": "2_D", "type": "sentence_transformers.base.modules.dense.Dense"},
    {"idx": 3, "path": "3_N", "type": "sentence_transformers.models.Normalize"}])");
  folder.Write("1_P/config.json", R"({"embedding_dimension": 8, "pooling_mode": "lasttoken",
                                      "include_prompt": false})");
  folder.Write("2_D/config.json", R"({"in_features": 8, "out_features": 3, "bias": false,
      "activation_function": "torch.nn.modules.linear.Identity"})");
  folder.Write("0_T/sentence_bert_config.json", R"({"max_seq_length": 77, "do_lower_case": true})");
  const auto config = ReadPipelineConfig(folder.path(), {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->transformer, folder.path() / "0_T");
  EXPECT_EQ(config->pooling.modes, std::vector{Pooling::kLast});
  EXPECT_FALSE(config->pooling.include_prompt);
  EXPECT_EQ(config->pooling.hidden, 8u);
  EXPECT_EQ(config->max_tokens, 77u);
  EXPECT_TRUE(config->lower_case);
  ASSERT_EQ(config->steps.size(), 2u);
  const auto& dense = std::get<DenseSpec>(config->steps[0]);
  EXPECT_EQ(dense.folder, folder.path() / "2_D");
  EXPECT_EQ(dense.in_features, 8u);
  EXPECT_EQ(dense.out_features, 3u);
  EXPECT_FALSE(dense.bias);
  EXPECT_EQ(dense.activation, kernels::Activation::kNone);
}

TEST(PipelineConfigTest, PoolingInBothForms) {
  struct Case {
    const char* json;
    std::vector<Pooling> modes;
  };
  const Case cases[] = {
      {R"({})", {Pooling::kMean}},
      {R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})", {Pooling::kCls}},
      {R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true,
           "pooling_mode_max_tokens": true})",
       {Pooling::kCls, Pooling::kMax, Pooling::kMean}},
      {R"({"pooling_mode_mean_sqrt_len_tokens": true})", {Pooling::kMeanSqrtLength}},
      {R"({"pooling_mode_weightedmean_tokens": true, "pooling_mode_lasttoken": true})",
       {Pooling::kWeightedMean, Pooling::kLast}},
      {R"({"pooling_mode": "mean_sqrt_len_tokens"})", {Pooling::kMeanSqrtLength}},
      {R"({"pooling_mode": ["mean", "cls"]})", {Pooling::kMean, Pooling::kCls}},
      {R"({"pooling_mode": "max", "pooling_mode_cls_token": true})", {Pooling::kMax}},
      {R"({"pooling_mode_future_tokens": false})", {Pooling::kMean}},
      {R"({"pooling_mode": null, "pooling_mode_cls_token": true})", {Pooling::kCls}},
  };
  for (const Case& c : cases) {
    const auto spec = ParsePooling(c.json, "config.json");
    ASSERT_TRUE(spec) << c.json << spec.error().message;
    EXPECT_EQ(spec->modes, c.modes) << c.json;
  }
}

TEST(PipelineConfigTest, DenseActivations) {
  using kernels::Activation;
  const std::pair<const char*, Activation> cases[] = {
      {"torch.nn.modules.activation.Tanh", Activation::kTanh},
      {"torch.nn.modules.linear.Identity", Activation::kNone},
      {"torch.nn.modules.activation.ReLU", Activation::kRelu},
      {"torch.nn.modules.activation.GELU", Activation::kGeluErf},
      {"torch.nn.modules.activation.SiLU", Activation::kSilu},
  };
  for (const auto& [name, activation] : cases) {
    const auto spec = ParseDense(
        std::string(R"({"in_features": 2, "out_features": 2, "activation_function": ")") + name +
            "\"}",
        "c");
    ASSERT_TRUE(spec) << name;
    EXPECT_EQ(spec->activation, activation) << name;
    EXPECT_TRUE(spec->bias);
  }
  const auto plain = ParseDense(R"({"in_features": 2, "out_features": 2})", "c");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->activation, Activation::kTanh);
}

TEST(PipelineConfigTest, PromptsByRole) {
  const auto prompts = ParsePrompts(R"({"prompts": {"query": "q: ", "passage": "p: ",
      "corpus": "c: ", "other": "o: "}, "default_prompt_name": "other",
      "similarity_fn_name": "dot"})",
                                    "f");
  ASSERT_TRUE(prompts) << prompts.error().message;
  EXPECT_EQ(prompts->ForRole(Role::kQuery), "q: ");
  EXPECT_EQ(prompts->ForRole(Role::kPassage), "p: ");
  EXPECT_EQ(prompts->ForRole(Role::kNone), "o: ");
  EXPECT_EQ(prompts->similarity, "dot");
  const auto documents = ParsePrompts(
      R"({"prompts": {"document": "d: ", "passage": "p: ", "": "x: "}, "default_prompt_name": null})",
      "f");
  ASSERT_TRUE(documents);
  EXPECT_EQ(documents->ForRole(Role::kPassage), "d: ");
  EXPECT_EQ(documents->ForRole(Role::kQuery), "");
  EXPECT_EQ(documents->ForRole(Role::kNone), "");
  EXPECT_EQ(documents->similarity, "cosine");
}

TEST(PipelineConfigTest, LongestTextComesFromTheFirstFileThatSaysIt) {
  const TestFolder folder;
  folder.Write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  auto config = ReadPipelineConfig(folder.path(), {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_GT(config->max_tokens, 1u << 30);  // The model's positions will limit it.
  folder.Write("tokenizer_config.json", R"({"model_max_length": 512})");
  EXPECT_EQ(ReadPipelineConfig(folder.path(), {})->max_tokens, 512u);
  folder.Write("sentence_xlm-roberta_config.json", R"({"max_seq_length": 100})");
  EXPECT_EQ(ReadPipelineConfig(folder.path(), {})->max_tokens, 100u);
  folder.Write("sentence_bert_config.json", R"({"max_seq_length": null, "do_lower_case": true})");
  config = ReadPipelineConfig(folder.path(), {});
  EXPECT_EQ(config->max_tokens, 512u);
  EXPECT_TRUE(config->lower_case);
}

TEST(PipelineConfigTest, BareCheckpoints) {
  const TestFolder folder;
  folder.Write("config.json", R"({"model_type": "bert"})");
  auto config = ReadPipelineConfig(folder.path(), {"someone/unknown"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->pooling.modes, std::vector{Pooling::kMean});
  EXPECT_TRUE(config->steps.empty());
  EXPECT_FALSE(config->from_files);

  config = ReadPipelineConfig(folder.path(), {"", "BAAI/bge-small-en-v1.5"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->pooling.modes, std::vector{Pooling::kCls});
  EXPECT_EQ(config->steps.size(), 1u);
  EXPECT_EQ(config->max_tokens, 512u);
  EXPECT_EQ(config->prompts.ForRole(Role::kQuery),
            "Represent this sentence for searching relevant passages: ");
  EXPECT_EQ(config->prompts.ForRole(Role::kPassage), "");
  EXPECT_EQ(config->prompts.ForRole(Role::kNone), "");

  folder.Write("config.json", R"({"model_type": "qwen3"})");
  config = ReadPipelineConfig(folder.path(), {});
  EXPECT_EQ(config->pooling.modes, std::vector{Pooling::kLast});
  EXPECT_TRUE(config->append_token.empty());
  config = ReadPipelineConfig(folder.path(), {"Qwen/Qwen3-Embedding-0.6B"});
  EXPECT_EQ(config->append_token, "<|endoftext|>");
  EXPECT_TRUE(config->prompts.ForRole(Role::kQuery).ends_with("answer the query\nQuery:"));
}

TEST(PipelineConfigTest, FilesWinOverTheTableAndTheTableFillsGaps) {
  const TestFolder folder;
  folder.Write("modules.json", kModules);
  folder.Write("1_Pooling/config.json", kMean);
  auto config = ReadPipelineConfig(folder.path(), {"intfloat/multilingual-e5-small"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->pooling.modes, std::vector{Pooling::kMean});
  EXPECT_EQ(config->prompts.ForRole(Role::kQuery), "query: ");
  EXPECT_EQ(config->prompts.ForRole(Role::kPassage), "passage: ");
  folder.Write("config_sentence_transformers.json", R"({"prompts": {"query": "Q "}})");
  config = ReadPipelineConfig(folder.path(), {"intfloat/multilingual-e5-small"});
  EXPECT_EQ(config->prompts.ForRole(Role::kQuery), "Q ");
  EXPECT_EQ(config->prompts.ForRole(Role::kPassage), "");
}

TEST(PipelineConfigTest, AnEmbeddingGemmaWithoutItsDenseLayersIsIncomplete) {
  const TestFolder folder;
  const auto config = ReadPipelineConfig(folder.path(), {"google/embeddinggemma-300m"});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
  EXPECT_NE(config.error().message.find("2_Dense"), std::string::npos);
}

TEST(PipelineConfigTest, ScoringModulesMakeAReranker) {
  const TestFolder folder;
  folder.Write("modules.json", R"([
    {"idx": 0, "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
    {"idx": 1, "path": "1", "type": "sentence_transformers.cross_encoder.modules.LogitScore"}])");
  const auto config = ReadPipelineConfig(folder.path(), {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->is_reranker);
}

struct BadFile {
  const char* name;
  const char* text;
  ErrorCode code;
  const char* says;
};

TEST(PipelineConfigTest, BadFilesAreRefusedByName) {
  constexpr auto kCorrupt = ErrorCode::kCorruptData;
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  const BadFile cases[] = {
      {"modules.json", "", kCorrupt, "modules.json"},
      {"modules.json", "{}", kCorrupt, "expected an array"},
      {"modules.json", "[]", kCorrupt, "0 modules"},
      {"modules.json", "[1]", kCorrupt, "[0]"},
      {"modules.json", R"([{"idx": 0, "path": ""}])", kCorrupt, "type"},
      {"modules.json", R"([{"path": "", "type": "a.Transformer"}])", kCorrupt, "idx"},
      {"modules.json", R"([{"idx": -1, "path": "", "type": "a.Transformer"}])", kCorrupt, "idx"},
      {"modules.json", R"([{"idx": 0, "path": 3, "type": "a.Transformer"}])", kCorrupt, "path"},
      {"modules.json", R"([{"idx": 0, "path": "../x", "type": "a.Transformer"}])", kCorrupt,
       "inside"},
      {"modules.json", R"([{"idx": 0, "path": "a/../../x", "type": "a.Transformer"}])", kCorrupt,
       "inside"},
      {"modules.json", R"([{"idx": 0, "path": "/etc", "type": "a.Transformer"}])", kCorrupt,
       "inside"},
      {"modules.json", R"([{"idx": 0, "path": "", "type": "a.CLIPModel"}])", kUnsupported,
       "Transformer, Pooling, Dense, Normalize"},
      {"modules.json", R"([{"idx": 0, "path": "", "type": "a.Transformer"}])", kUnsupported,
       "expected Transformer, Pooling"},
      {"modules.json", R"([{"idx": 0, "path": "1_Pooling", "type": "a.Pooling"},
                           {"idx": 1, "path": "", "type": "a.Transformer"}])",
       kUnsupported, "expected Transformer, Pooling"},
      {"modules.json", R"([{"idx": 0, "path": "", "type": "a.Transformer"},
                           {"idx": 1, "path": "absent", "type": "a.Pooling"}])",
       ErrorCode::kNotFound, "absent"},
      {"1_Pooling/config.json", "[]", kCorrupt, "expected an object"},
      {"1_Pooling/config.json", R"({"pooling_mode": "attention"})", kUnsupported,
       "cls, max, mean, mean_sqrt_len_tokens, weightedmean, lasttoken"},
      {"1_Pooling/config.json", R"({"pooling_mode": ["cls", "splade"]})", kUnsupported, "splade"},
      {"1_Pooling/config.json", R"({"pooling_mode": []})", kCorrupt, "0 entries"},
      {"1_Pooling/config.json", R"({"pooling_mode": 3})", kCorrupt, "pooling_mode"},
      {"1_Pooling/config.json", R"({"pooling_mode_best_tokens": true})", kUnsupported,
       "pooling_mode_best_tokens"},
      {"1_Pooling/config.json", R"({"pooling_mode_cls_token": "yes"})", kCorrupt, "boolean"},
      {"1_Pooling/config.json", R"({"word_embedding_dimension": -5})", kCorrupt, "-5"},
      {"1_Pooling/config.json", R"({"word_embedding_dimension": 1e12})", kCorrupt, "outside"},
      {"1_Pooling/config.json", R"({"include_prompt": 1})", kCorrupt, "include_prompt"},
      {"sentence_bert_config.json", R"({"max_seq_length": 0})", kCorrupt, "max_seq_length"},
      {"sentence_bert_config.json", R"({"max_seq_length": "512"})", kCorrupt, "max_seq_length"},
      {"sentence_bert_config.json", R"({"do_lower_case": 0})", kCorrupt, "do_lower_case"},
      {"tokenizer_config.json", R"({"model_max_length": "long"})", kCorrupt, "model_max_length"},
      {"config_sentence_transformers.json", R"({"prompts": []})", kCorrupt, "prompts"},
      {"config_sentence_transformers.json", R"({"prompts": {"query": 5}})", kCorrupt, "query"},
      {"config_sentence_transformers.json", R"({"default_prompt_name": "x"})", kCorrupt,
       "default_prompt_name"},
      {"config_sentence_transformers.json", R"({"similarity_fn_name": "hamming"})", kUnsupported,
       "cosine, dot, euclidean, manhattan"},
  };
  for (const BadFile& bad : cases) {
    const TestFolder folder;
    folder.Write("modules.json", kModules);
    folder.Write("1_Pooling/config.json", kMean);
    folder.Write(bad.name, bad.text);
    const auto config = ReadPipelineConfig(folder.path(), {});
    ASSERT_FALSE(config) << bad.name << " " << bad.text;
    EXPECT_EQ(config.error().code, bad.code) << bad.text << config.error().message;
    EXPECT_NE(config.error().message.find(bad.says), std::string::npos) << config.error().message;
    EXPECT_LT(config.error().message.size(), 1000u);
  }
}

TEST(PipelineConfigTest, BadDenseFilesAreRefused) {
  const std::pair<const char*, ErrorCode> cases[] = {
      {"{}", ErrorCode::kCorruptData},
      {R"({"in_features": 2})", ErrorCode::kCorruptData},
      {R"({"in_features": 0, "out_features": 2})", ErrorCode::kCorruptData},
      {R"({"in_features": 2, "out_features": 1e300})", ErrorCode::kCorruptData},
      {R"({"in_features": 2, "out_features": 2.5})", ErrorCode::kCorruptData},
      {R"({"in_features": 2, "out_features": 2, "bias": 1})", ErrorCode::kCorruptData},
      {R"({"in_features": 2, "out_features": 2, "use_residual": true})", ErrorCode::kUnsupported},
      {R"({"in_features": 2, "out_features": 2, "module_input_name": "token_embeddings"})",
       ErrorCode::kUnsupported},
      {R"({"in_features": 2, "out_features": 2, "activation_function": "os.system"})",
       ErrorCode::kUnsupported},
  };
  for (const auto& [text, code] : cases) {
    const auto spec = ParseDense(text, "2_Dense/config.json");
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, code) << text;
    EXPECT_TRUE(spec.error().message.starts_with("2_Dense/config.json")) << spec.error().message;
  }
}

TEST(KnownModelsTest, NamesAreMatchedHoweverTheyAreWritten) {
  EXPECT_EQ(NormalizeModelName("BAAI/bge-small-en-v1.5"), "bge-small-en-v1.5");
  EXPECT_EQ(NormalizeModelName("/data/All_MiniLM_L6_v2/"), "all-minilm-l6-v2");
  EXPECT_EQ(NormalizeModelName("/c/hub/models--BAAI--bge-m3/snapshots/0123abc"), "bge-m3");
  EXPECT_EQ(NormalizeModelName(""), "");
  EXPECT_EQ(NormalizeModelName("///"), "");
  const auto name_of = [](std::string_view name) {
    const KnownModel* known = FindKnownModel(name);
    return known == nullptr ? std::string_view("none") : known->name;
  };
  EXPECT_EQ(name_of("e5-small-v2"), "e5-small-v2");
  EXPECT_EQ(name_of("e5-small"), "e5-small");
  EXPECT_EQ(name_of("multilingual-e5-large-instruct"), "multilingual-e5-large-instruct");
  EXPECT_EQ(name_of("bge-m3-int8"), "bge-m3");
  EXPECT_EQ(name_of("bge-m30"), "none");
  EXPECT_EQ(name_of("qwen3-embedding"), "none");
  EXPECT_EQ(name_of(""), "none");
}

}  // namespace
}  // namespace lattice::embed
