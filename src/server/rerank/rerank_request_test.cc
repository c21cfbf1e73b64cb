#include "server/rerank/rerank_request.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace lattice::server {
namespace {

ApiResult<RerankBody> Read(const char* json, RerankDialect dialect = RerankDialect::kJina) {
  return ReadRerankBody(boost::json::parse(json).as_object(), dialect);
}

TEST(RerankRequestTest, DocumentsAreTextsOrObjectsWithOne) {
  const auto body = Read(R"({"query": "q", "documents": ["a", {"text": ""}], "top_n": 9})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->documents, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(body->top_n, 9u);
  EXPECT_TRUE(body->return_documents);
  EXPECT_TRUE(body->truncate);
}

TEST(RerankRequestTest, TextsMakeTheOtherShapeOfTheSamePath) {
  const auto body = Read(R"({"query": "q", "texts": ["a"], "raw_scores": true})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->dialect, RerankDialect::kTextEmbeddingsInference);
  EXPECT_TRUE(body->raw_scores);
  EXPECT_FALSE(body->return_documents);
  EXPECT_FALSE(body->truncate);
}

TEST(RerankRequestTest, ComplaintsNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"documents": ["a"]})", "query"},
      {R"({"query": "", "documents": ["a"]})", "query"},
      {R"({"query": "q"})", "documents"},
      {R"({"query": "q", "documents": []})", "documents"},
      {R"({"query": "q", "documents": [1]})", "documents"},
      {R"({"query": "q", "documents": "a"})", "documents"},
      {R"({"query": "q", "documents": ["a"], "top_n": 0})", "top_n"},
      {R"({"query": "q", "documents": ["a"], "texts": ["a"]})", "texts"},
      {R"({"query": "q", "texts": ["a"], "top_n": 1})", "top_n"},
      {R"({"query": "q", "texts": ["a"], "truncation_direction": "left"})", "truncation_direction"},
      {R"({"query": "q", "documents": ["a"], "colour": 1})", "colour"}};
  for (const auto& [json, field] : cases) {
    const auto body = Read(json);
    ASSERT_FALSE(body) << json;
    EXPECT_EQ(body.error().status, 400);
    EXPECT_EQ(body.error().param, field) << json;
  }
}

}  // namespace
}  // namespace lattice::server
