// The pipeline around a transformer, on a plain stand-in whose hidden states are known by hand.
#include "embed/embedding_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "embed/test_fakes.h"
#include "weights/safetensors_writer.h"

namespace lattice::embed {
namespace {

struct Plain {
  explicit Plain(std::size_t max_batch_tokens = 0)
      : engine(1, max_batch_tokens), model(std::make_shared<PlainModel>(*engine.backend)) {}

  Result<std::shared_ptr<EmbeddingModel>> Make() {
    EmbeddingModelInfo info;
    info.name = "plain";
    return EmbeddingModel::Make(config, tokenizer, model, ScoreActivation::kSigmoid, info,
                                engine.engine);
  }
  Result<Embeddings> Embed(const std::vector<std::string>& texts,
                           const EmbedRequest& request = {}) {
    auto made = Make();
    if (!made) return std::move(made).error();
    return (*made)->Embed(texts, request);
  }

  TestEngine engine;
  std::shared_ptr<PlainModel> model;
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer = std::make_shared<ByteTokenizer>(false);
  PipelineConfig config;
};

std::vector<float> Row(const Result<Embeddings>& result, std::size_t i) {
  if (!result || i >= result->size()) return {};
  const auto row = (*result)[i];
  return {row.begin(), row.end()};
}

TEST(EmbeddingModelTest, MeanOfAllTokensInInputOrder) {
  Plain plain(4);
  const auto result = plain.Embed({"ab", "c", "aaaaaaa", "ab"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->dimensions, 4u);
  EXPECT_EQ(Row(result, 0), (std::vector<float>{97.5f, 0.5f, 1, 0}));
  EXPECT_EQ(Row(result, 1), (std::vector<float>{99, 0, 1, 0}));
  EXPECT_EQ(Row(result, 2), (std::vector<float>{97, 3, 1, 0}));
  EXPECT_EQ(Row(result, 3), Row(result, 0));
  EXPECT_EQ(result->usage[2].n_tokens, 7u);
  // 7 tokens alone, though above the budget; 2 + 2 together; 1.
  EXPECT_EQ(plain.model->n_rows_given(), (std::vector<std::size_t>{7, 4, 1}));
}

TEST(EmbeddingModelTest, OnlyTheRowsThatCountAreAskedFor) {
  for (const Pooling pooling : {Pooling::kCls, Pooling::kLast}) {
    Plain plain;
    plain.config.pooling.modes = {pooling};
    const auto result = plain.Embed({"abc", "de"});
    ASSERT_TRUE(result);
    EXPECT_EQ(plain.model->n_rows_given(), std::vector<std::size_t>{2});
    EXPECT_EQ(Row(result, 0), pooling == Pooling::kCls ? (std::vector<float>{97, 0, 1, 0})
                                                       : (std::vector<float>{99, 2, 1, 0}));
    EXPECT_EQ(Row(result, 1), pooling == Pooling::kCls ? (std::vector<float>{100, 0, 1, 0})
                                                       : (std::vector<float>{101, 1, 1, 0}));
  }
}

TEST(EmbeddingModelTest, ConcatenatedPoolings) {
  Plain plain;
  plain.config.pooling.modes = {Pooling::kLast, Pooling::kMean};
  const auto result = plain.Embed({"ac"});
  ASSERT_TRUE(result);
  EXPECT_EQ(Row(result, 0), (std::vector<float>{99, 1, 1, 0, 98, 0.5f, 1, 0}));
  EmbedRequest request;
  request.pooling = Pooling::kCls;
  EXPECT_EQ(Row(plain.Embed({"ac"}, request), 0), (std::vector<float>{97, 0, 1, 0}));
}

TEST(EmbeddingModelTest, DimensionsAreCutBeforeNormalising) {
  Plain plain;
  plain.config.steps.emplace_back(NormalizeSpec{});
  EmbedRequest request;
  request.dimensions = 2;
  auto result = plain.Embed({"\x03\x03\x03\x03\x03\x03\x03\x03\x03"}, request);  // 3 and 4
  ASSERT_TRUE(result);
  EXPECT_EQ(result->dimensions, 2u);
  EXPECT_EQ(Row(result, 0), (std::vector<float>{0.6f, 0.8f}));
  request.normalize = false;
  EXPECT_EQ(Row(plain.Embed({"\x03"}, request), 0), (std::vector<float>{3, 0}));
  request.dimensions = 4;
  EXPECT_TRUE(plain.Embed({"a"}, request));
  request.dimensions = 5;
  result = plain.Embed({"a"}, request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, "5 dimensions asked for, plain has 4");
}

TEST(EmbeddingModelTest, RolesPutTheirPromptInFront) {
  Plain plain;
  plain.config.pooling.modes = {Pooling::kCls};
  plain.config.prompts.by_name = {{"query", "Q:"}, {"document", "D:"}};
  EmbedRequest request;
  EXPECT_EQ(Row(plain.Embed({"x"}, request), 0)[0], 'x');
  request.role = Role::kQuery;
  const auto query = plain.Embed({"x"}, request);
  EXPECT_EQ(Row(query, 0)[0], 'Q');
  EXPECT_EQ(query->usage[0].n_tokens, 3u);
  request.role = Role::kPassage;
  EXPECT_EQ(Row(plain.Embed({"x"}, request), 0)[0], 'D');
  request.prompt = "";
  EXPECT_EQ(Row(plain.Embed({"x"}, request), 0)[0], 'x');
  request.prompt = "my ";
  EXPECT_EQ(Row(plain.Embed({"x"}, request), 0)[0], 'm');
  const auto made = plain.Make();
  ASSERT_TRUE(made);
  EXPECT_EQ((*made)->info().query_prompt, "Q:");
  EXPECT_EQ((*made)->info().passage_prompt, "D:");
}

TEST(EmbeddingModelTest, APromptThatIsNotPooled) {
  Plain plain;
  plain.tokenizer = std::make_shared<ByteTokenizer>(true);
  plain.config.pooling.include_prompt = false;
  EmbedRequest request;
  request.prompt = "pp";
  // [256 p p] are left out; x and 257 count.
  EXPECT_EQ(Row(plain.Embed({"x"}, request), 0),
            (std::vector<float>{('x' + 257) / 2.0f, 3.5f, 1, 0}));
  plain.config.pooling.modes = {Pooling::kCls};
  EXPECT_EQ(Row(plain.Embed({"x"}, request), 0), (std::vector<float>{'x', 3, 1, 0}));
  request.prompt = "";
  EXPECT_EQ(Row(plain.Embed({"x"}, request), 0), (std::vector<float>{256, 0, 1, 0}));
  // A prompt as long as the longest text leaves nothing to pool.
  request.prompt = std::string(100, 'p');
  for (const Pooling pooling : {Pooling::kCls, Pooling::kLast, Pooling::kMean}) {
    plain.config.pooling.modes = {pooling};
    EXPECT_EQ(Row(plain.Embed({"x"}, request), 0), (std::vector<float>{0, 0, 0, 0}));
  }
}

TEST(EmbeddingModelTest, ATextWithoutTokensIsZero) {
  Plain plain;
  plain.config.steps.emplace_back(NormalizeSpec{});
  const auto result = plain.Embed({"", "a", ""});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(Row(result, 0), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(result->usage[0].n_tokens, 0u);
  EXPECT_EQ(result->usage[1].n_tokens, 1u);
  EXPECT_EQ(plain.Embed({})->size(), 0u);
  EXPECT_EQ(plain.Embed({})->dimensions, 4u);
}

TEST(EmbeddingModelTest, LongTextsAreCutAndItIsReported) {
  Plain plain;
  plain.tokenizer = std::make_shared<ByteTokenizer>(true);
  auto result = plain.Embed({std::string(1 << 20, 'a'), "b"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->usage[0].n_tokens, 64u);
  EXPECT_EQ(result->usage[0].n_tokens_untruncated, (1u << 20) + 2);
  EXPECT_TRUE(result->usage[0].truncated());
  EXPECT_FALSE(result->usage[1].truncated());
  plain.config.max_tokens = 10;
  EXPECT_EQ(plain.Embed({std::string(1 << 20, 'a')})->usage[0].n_tokens, 10u);
  // A file may promise more than the positions give.
  plain.config.max_tokens = 514;
  EXPECT_EQ(plain.Embed({std::string(1 << 20, 'a')})->usage[0].n_tokens, 64u);
  EXPECT_EQ((*plain.Make())->info().max_tokens, 64u);
}

TEST(EmbeddingModelTest, TheTokenThatMustEndEveryTextSurvivesTheCut) {
  Plain plain;
  plain.config.pooling.modes = {Pooling::kLast};
  plain.config.append_token = "<|endoftext|>";
  ASSERT_FALSE(plain.Make());  // The tokenizer does not have it.
  plain.tokenizer = std::make_shared<ByteTokenizer>(
      false, std::map<std::string, TokenId, std::less<>>{{"<|endoftext|>", 290}});
  auto result = plain.Embed({"ab", "", std::string(100, 'x')});
  ASSERT_TRUE(result);
  EXPECT_EQ(Row(result, 0), (std::vector<float>{290, 2, 1, 0}));
  EXPECT_EQ(Row(result, 1), (std::vector<float>{290, 0, 1, 0}));
  EXPECT_EQ(Row(result, 2), (std::vector<float>{290, 63, 1, 0}));
  EXPECT_EQ(result->usage[2].n_tokens, 64u);
  EXPECT_EQ(result->usage[2].n_tokens_untruncated, 101u);
  plain.config.max_tokens = 1;
  EXPECT_EQ(Row(plain.Embed({"ab"}), 0), (std::vector<float>{290, 0, 1, 0}));
  // Where the template ends in it already, nothing is added.
  plain.config.max_tokens = 0;
  plain.tokenizer = std::make_shared<ByteTokenizer>(
      true, std::map<std::string, TokenId, std::less<>>{{"<|endoftext|>", 257}});
  EXPECT_EQ(Row(plain.Embed({"ab"}), 0), (std::vector<float>{257, 3, 1, 0}));
}

TEST(EmbeddingModelTest, LowerCaseWhereTheFilesAskForIt) {
  Plain plain;
  plain.config.pooling.modes = {Pooling::kCls};
  EXPECT_EQ(Row(plain.Embed({"A"}), 0)[0], 'A');
  plain.config.lower_case = true;
  EXPECT_EQ(Row(plain.Embed({"A"}), 0)[0], 'a');
  EXPECT_EQ(LowerCase("ÀÉẞ ΑΣ Ж z\xFF"), "àéß ασ ж z\uFFFD");
  EXPECT_EQ(LowerCase("İ"), "i\u0307");
}

TEST(EmbeddingModelTest, ANonFiniteVectorIsAnErrorThatNamesTheText) {
  Plain plain;
  for (const bool normalize : {false, true}) {
    EmbedRequest request;
    request.normalize = normalize;
    const auto result = plain.Embed({"good", "fine", "bad!", "good"}, request);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kCorruptData);
    EXPECT_EQ(result.error().message, "text 2: plain gives a vector that is not finite");
    // Also when the part that was asked for is finite.
    request.pooling = Pooling::kLast;
    EXPECT_TRUE(plain.Embed({"!a"}, request));
  }
}

TEST(EmbeddingModelTest, AnIdThatTheModelDoesNotHaveIsRefused) {
  Plain plain;
  plain.model->mutable_info().vocab = 100;
  EXPECT_TRUE(plain.Embed({"abc"}));
  const auto result = plain.Embed({"abc", "xyz"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCorruptData);
  EXPECT_EQ(result.error().message, "text 1: the tokenizer gives id 120, the model has 100");
}

TEST(EmbeddingModelTest, CancelledWithinOneBatch) {
  Plain plain(10);
  std::stop_source source;
  EmbedRequest request;
  request.stop = source.get_token();
  std::size_t n_done = 0;
  request.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 100u);
    n_done = done;
    if (done >= 5) source.request_stop();
  };
  const auto result = plain.Embed(std::vector<std::string>(100, "abcdefghij"), request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(n_done, 5u);
  EXPECT_EQ(plain.model->n_rows_given().size(), 5u);
}

// A dense layer [out, 4] in a folder of its own.
void WriteDense(const TestFolder& folder, const std::string& name, std::vector<float> weight,
                std::vector<float> bias, std::size_t in) {
  std::filesystem::create_directories(folder.path() / name);
  std::vector<weights::TensorSpec> specs = {
      {"linear.weight", Dtype::kF32, {weight.size() / in, in}}};
  if (!bias.empty()) specs.push_back({"linear.bias", Dtype::kF32, {bias.size()}});
  auto writer =
      weights::SafetensorsWriter::Create(folder.path() / name / "model.safetensors", specs);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Append(std::span<const float>(weight)));
  if (!bias.empty()) {
    ASSERT_TRUE(writer->Append(std::span<const float>(bias)));
  }
  ASSERT_TRUE(writer->Finish());
}

TEST(EmbeddingModelTest, DenseLayersByHand) {
  const TestFolder folder;
  WriteDense(folder, "2", {0.01f, 0, 0, 0, 0, 1, 1, 0}, {0.5f, -1}, 4);
  WriteDense(folder, "3", {1, 1, 2, 0, 0, 2}, {}, 2);
  Plain plain;
  plain.config.steps.emplace_back(
      DenseSpec{folder.path() / "2", 4, 2, true, kernels::Activation::kTanh});
  plain.config.steps.emplace_back(
      DenseSpec{folder.path() / "3", 2, 3, false, kernels::Activation::kNone});
  const auto result = plain.Embed({"d"});  // {100, 0, 1, 0} -> tanh {1.5, 0}
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->dimensions, 3u);
  const double t = std::tanh(1.5);
  EXPECT_NEAR(Row(result, 0)[0], t, 1e-6);
  EXPECT_NEAR(Row(result, 0)[1], 2 * t, 1e-6);
  EXPECT_NEAR(Row(result, 0)[2], 0, 1e-6);
  EXPECT_EQ((*plain.Make())->info().dimensions, 3u);

  EmbedRequest request;
  request.dimensions = 1;
  request.normalize = true;
  EXPECT_EQ(Row(plain.Embed({"d"}, request), 0), std::vector<float>{1});
  // A single other pooling has the same width; two at once do not fit.
  request.pooling = Pooling::kLast;
  EXPECT_TRUE(plain.Embed({"d"}, request));
  plain.config.pooling.modes = {Pooling::kCls, Pooling::kMean};
  EXPECT_EQ(plain.Make().error().code, ErrorCode::kCorruptData);
}

TEST(EmbeddingModelTest, BrokenDenseLayersAreRefused) {
  const TestFolder folder;
  WriteDense(folder, "2", {1, 0, 0, 0, 0, 1, 0, 0}, {}, 4);
  const DenseSpec cases[] = {
      {folder.path() / "2", 5, 2, false, kernels::Activation::kNone},   // input of another width
      {folder.path() / "2", 4, 3, false, kernels::Activation::kNone},   // shape differs
      {folder.path() / "2", 4, 2, true, kernels::Activation::kNone},    // no bias there
      {folder.path() / "no", 4, 2, false, kernels::Activation::kNone},  // no file
  };
  for (const DenseSpec& dense : cases) {
    Plain plain;
    plain.config.steps.emplace_back(dense);
    const auto made = plain.Make();
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find(dense.folder.string()), std::string::npos)
        << made.error().message;
  }
  Plain plain;
  plain.config.pooling.hidden = 5;
  EXPECT_EQ(plain.Make().error().code, ErrorCode::kCorruptData);
}

TEST(EmbeddingModelTest, WhatIsNoRerankerSaysSo) {
  Plain plain;
  RerankRequest request;
  const std::vector<std::string> documents = {"d"};
  auto scores = (*plain.Make())->Rerank(documents, request);
  ASSERT_FALSE(scores);
  EXPECT_EQ(scores.error().code, ErrorCode::kUnsupported);
  plain.model->mutable_info().n_labels = 3;
  scores = (*plain.Make())->Rerank(documents, request);
  ASSERT_FALSE(scores);
  EXPECT_EQ(scores.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(scores.error().message.find("3 labels"), std::string::npos);
  plain.model->mutable_info().n_labels = 0;
  plain.model->mutable_info().has_lm_head = true;
  plain.config.from_files = true;  // an embedding model of a decoder that kept its head
  scores = (*plain.Make())->Rerank(documents, request);
  ASSERT_FALSE(scores);
  EXPECT_EQ(scores.error().message, "plain is an embedding model, no reranker");
  plain.config.is_reranker = true;
  EXPECT_EQ(plain.Embed({"x"}).error().code, ErrorCode::kUnsupported);
}

TEST(EmbeddingModelTest, CrossEncoderScoresInInputOrder) {
  Plain plain(8);
  plain.model->mutable_info().n_labels = 1;
  const auto made = plain.Make();
  ASSERT_TRUE(made);
  RerankRequest request;
  request.query = "q";
  const std::vector<std::string> documents = {"abcd", "", "ab"};
  const auto scores = (*made)->Rerank(documents, request);
  ASSERT_TRUE(scores) << scores.error().message;
  ASSERT_EQ(scores->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    float sum = 'q' + '|';
    for (const char c : documents[i]) sum += static_cast<float>(c);
    EXPECT_EQ((*scores)[i].logit, sum / 1000);
    EXPECT_NEAR((*scores)[i].score, 1 / (1 + std::exp(-sum / 1000)), 1e-6);
    EXPECT_EQ((*scores)[i].usage.n_tokens, documents[i].size() + 2);
  }
  request.max_tokens = 3;
  EXPECT_TRUE((*(*made)->Rerank(documents, request))[0].usage.truncated());
  EXPECT_EQ((*made)->Rerank({}, request)->size(), 0u);
}

// The text of byte ids.
std::string TextOf(const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) text.push_back(static_cast<char>(id));
  return text;
}

constexpr char kBefore[] =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n";
constexpr char kAfter[] = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

TEST(EmbeddingModelTest, DecoderScoresYesAgainstNoAfterItsPrompt) {
  Plain plain;
  plain.model->mutable_info().causal = true;
  plain.model->mutable_info().has_lm_head = true;
  plain.model->mutable_info().max_tokens = 1000;
  RerankRequest request;
  request.query = "why";
  const std::vector<std::string> documents = {"because"};
  EXPECT_FALSE((*plain.Make())->Rerank(documents, request));  // no words to score with
  plain.tokenizer = std::make_shared<ByteTokenizer>(
      true, std::map<std::string, TokenId, std::less<>>{{"yes", 40}, {"no", 38}});
  const auto made = plain.Make();
  ASSERT_TRUE(made);
  auto scores = (*made)->Rerank(documents, request);
  ASSERT_TRUE(scores) << scores.error().message;
  const std::string whole =
      std::string(kBefore) +
      "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
      "<Query>: why\n<Document>: because" +
      kAfter;
  EXPECT_EQ(TextOf(plain.model->last_ids()), whole);
  EXPECT_EQ((*scores)[0].logit, 2.0f * static_cast<float>(whole.size() - 1));
  EXPECT_EQ((*scores)[0].score, 1.0f);
  EXPECT_EQ((*scores)[0].usage.n_tokens, whole.size());
  EXPECT_EQ(plain.model->n_rows_given().back(), 1u);

  request.instruction = "Be strict";
  request.max_tokens = sizeof(kBefore) - 1 + sizeof(kAfter) - 1 + 20;
  scores = (*made)->Rerank(documents, request);
  ASSERT_TRUE(scores);
  EXPECT_EQ(TextOf(plain.model->last_ids()),
            std::string(kBefore) + "<Instruct>: Be stric" + kAfter);
  EXPECT_TRUE((*scores)[0].usage.truncated());
  request.max_tokens -= 20;
  scores = (*made)->Rerank(documents, request);
  ASSERT_FALSE(scores);
  EXPECT_EQ(scores.error().code, ErrorCode::kInvalidArgument);
}

TEST(EmbeddingModelTest, ADecoderWithOneLabelUsesThePromptToo) {
  Plain plain;
  plain.model->mutable_info().causal = true;
  plain.model->mutable_info().n_labels = 1;
  plain.model->mutable_info().max_tokens = 1000;
  RerankRequest request;
  request.query = "q";
  ASSERT_TRUE((*plain.Make())->Rerank(std::vector<std::string>{"d"}, request));
  EXPECT_TRUE(TextOf(plain.model->last_ids()).starts_with("<|im_start|>system\nJudge"));
}

TEST(RerankerTest, ActivationsOfConfigFiles) {
  const auto parse = [](const char* text) { return ParseScoreActivation(text, "config.json"); };
  EXPECT_EQ(*parse("{}"), ScoreActivation::kSigmoid);
  EXPECT_EQ(*parse(R"({"sbert_ce_default_activation_function":
                       "torch.nn.modules.linear.Identity"})"),
            ScoreActivation::kIdentity);
  EXPECT_EQ(*parse(R"({"sentence_transformers": {"activation_fn":
                       "torch.nn.modules.activation.Sigmoid", "version": "4"}})"),
            ScoreActivation::kSigmoid);
  EXPECT_EQ(*parse(R"({"sbert_ce_default_activation_function": "x.Sigmoid",
                       "sentence_transformers": {"activation_fn": "x.Identity"}})"),
            ScoreActivation::kIdentity);
  EXPECT_EQ(parse("[").error().code, ErrorCode::kCorruptData);
  EXPECT_EQ(parse(R"({"sentence_transformers": {"activation_fn": 3}})").error().code,
            ErrorCode::kCorruptData);
  const auto unknown = parse(R"({"sbert_ce_default_activation_function": "x.Softplus"})");
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(unknown.error().message.find("Identity, Sigmoid"), std::string::npos);
}

}  // namespace
}  // namespace lattice::embed
