#include "hub/listing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lattice::hub {
namespace {

const std::string kSha = std::string(40, 'a');

/// A listing of files of one byte each, all with a git hash.
Result<HubListing> Parse(const std::vector<std::string>& names) {
  std::string json = R"({"sha":")" + kSha + R"(","siblings":[)";
  for (const std::string& name : names) {
    if (json.back() != '[') json += ',';
    json += R"({"rfilename":")" + name + R"(","size":1,"blobId":")" + std::string(40, 'b') + "\"}";
  }
  return ParseListing(json + "]}", "a/b");
}

std::vector<std::string> Chosen(const std::vector<std::string>& names) {
  const auto listing = Parse(names);
  EXPECT_TRUE(listing) << listing.error().message;
  std::vector<std::string> paths;
  if (listing) {
    for (const HubFile& file : listing->files) paths.push_back(file.path);
  }
  return paths;
}

using Names = std::vector<std::string>;

TEST(ListingTest, SentenceTransformersFolder) {
  EXPECT_EQ(
      Chosen({".gitattributes",
              "1_Pooling/config.json",
              "2_Dense/config.json",
              "2_Dense/model.safetensors",
              "2_Dense/pytorch_model.bin",
              "README.md",
              "config.json",
              "config_sentence_transformers.json",
              "model.safetensors",
              "modules.json",
              "onnx/model.onnx",
              "onnx/config.json",
              "openvino/openvino_model.xml",
              "pytorch_model.bin",
              "rust_model.ot",
              "sentence_bert_config.json",
              "sentencepiece.bpe.model",
              "special_tokens_map.json",
              "tf_model.h5",
              "tokenizer.json",
              "tokenizer_config.json",
              "train_script.py",
              "vocab.txt"}),
      (Names{"1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors",
             "config.json", "config_sentence_transformers.json", "model.safetensors",
             "modules.json", "sentence_bert_config.json", "sentencepiece.bpe.model",
             "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"}));
}

TEST(ListingTest, ShardsComeWithTheirIndex) {
  EXPECT_EQ(Chosen({"config.json", "consolidated.safetensors", "model-00001-of-00002.safetensors",
                    "model-00002-of-00002.safetensors", "model.fp16.safetensors",
                    "model.safetensors.index.json"}),
            (Names{"config.json", "model-00001-of-00002.safetensors",
                   "model-00002-of-00002.safetensors", "model.safetensors.index.json"}));
}

TEST(ListingTest, TheWholeFileIsPreferredToOthers) {
  EXPECT_EQ(Chosen({"config.json", "model.fp16.safetensors", "model.safetensors"}),
            (Names{"config.json", "model.safetensors"}));
}

TEST(ListingTest, OneGgufFileIsAModelAndManyAreAQuestion) {
  EXPECT_EQ(Chosen({"config.json", "x.gguf"}), (Names{"config.json", "x.gguf"}));
  const auto many = Parse({"x.gguf", "y.gguf"});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(many.error().message.find("2 .gguf files"), std::string::npos);
}

TEST(ListingTest, PicklesAloneAreRefused) {
  const auto listing = Parse({"config.json", "pytorch_model.bin"});
  ASSERT_FALSE(listing);
  EXPECT_EQ(listing.error().code, ErrorCode::kUnsupported);
}

TEST(ListingTest, NamesThatLeaveTheFolderAreRefused) {
  for (const char* bad : {"../config.json", "/etc/config.json", "a/../config.json", "..",
                          "1_Pooling/../../config.json", "a\\\\config.json", "config.json\\u0000x",
                          "config.json\\n", ""}) {
    const auto listing = Parse({"model.safetensors", bad});
    ASSERT_FALSE(listing) << bad;
    EXPECT_EQ(listing.error().code, ErrorCode::kCorruptData);
  }
}

TEST(ListingTest, NamesThatDifferInCaseOnlyAreRefused) {
  EXPECT_EQ(
      Parse({"model.safetensors", "config.json", "configA.json", "configa.json"}).error().code,
      ErrorCode::kCorruptData);
}

TEST(ListingTest, EveryFileNeedsASizeAndAHash) {
  const std::string head =
      R"({"sha":")" + kSha + R"(","siblings":[{"rfilename":"model.safetensors")";
  const std::string sha256 = std::string(64, 'c');
  for (const std::string& tail : {std::string("}]}"), R"(,"size":5}]})" + std::string(),
                                  R"(,"size":5,"blobId":"zz"}]})" + std::string(),
                                  R"(,"size":-5,"lfs":{"sha256":")" + sha256 + R"("}}]})",
                                  R"(,"size":5,"lfs":{"sha256":"short"}}]})" + std::string(),
                                  R"(,"size":9e99,"lfs":{"sha256":")" + sha256 + R"("}}]})"}) {
    const auto listing = ParseListing(head + tail, "a/b");
    ASSERT_FALSE(listing) << tail;
    EXPECT_EQ(listing.error().code, ErrorCode::kCorruptData);
  }
  const auto good =
      ParseListing(head + R"(,"lfs":{"size":5,"sha256":")" + sha256 + R"("}}]})", "a/b");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->files[0].sha256, sha256);
  EXPECT_EQ(good->size_bytes(), 5u);
}

TEST(ListingTest, TooManyFilesAreRefused) {
  EXPECT_EQ(Parse(Names(20'001, "x")).error().code, ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace lattice::hub
