#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lattice/embedding.h"
#include "lattice/version.h"

namespace lattice {
namespace {

const std::string kBert = std::string(LATTICE_FIXTURES) + "/bert";

TEST(MakeServiceTest, EmbedsFromAFolder) {
  EmbeddingServiceOptions options;
  options.offline = true;
  options.n_threads = 2;
  const auto service = MakeEmbeddingService(options);
  ASSERT_TRUE(service) << service.error().message;
  const auto vector = (*service)->EmbedOne("Hello, world!", kBert);
  ASSERT_TRUE(vector) << vector.error().message;
  EXPECT_EQ(vector->size(), 48u);
  EXPECT_TRUE((*service)->Unload(kBert));
}

TEST(MakeServiceTest, ThreadsPrecisionsAndInstructionSets) {
  EmbeddingServiceOptions options;
  options.offline = true;
  std::vector<float> want;
  for (const std::size_t n_threads : {1u, 3u}) {
    options.n_threads = n_threads;
    const auto vector = (*MakeEmbeddingService(options))->EmbedOne("Hello, world!", kBert);
    ASSERT_TRUE(vector);
    if (want.empty()) want = *vector;
    EXPECT_EQ(*vector, want);
  }
  options.instruction_set = "scalar";
  const auto scalar = (*MakeEmbeddingService(options))->EmbedOne("Hello, world!", kBert);
  ASSERT_TRUE(scalar) << scalar.error().message;
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR((*scalar)[i], want[i], 1e-5);
  options.instruction_set = "";
  options.precision = ComputePrecision::kInt8;
  const auto rough = (*MakeEmbeddingService(options))->EmbedOne("Hello, world!", kBert);
  ASSERT_TRUE(rough) << rough.error().message;
  EXPECT_NE(*rough, want);
}

TEST(MakeServiceTest, OptionsThatCannotBe) {
  EmbeddingServiceOptions options;
  options.n_threads = 1u << 20;
  EXPECT_EQ(MakeEmbeddingService(options).error().code, ErrorCode::kInvalidArgument);
  options.n_threads = 1;
  options.instruction_set = "mmx";
  EXPECT_EQ(MakeEmbeddingService(options).error().code, ErrorCode::kInvalidArgument);
}

TEST(MakeServiceTest, AModelThatIsNotThereIsNotFoundOffline) {
  EmbeddingServiceOptions options;
  options.offline = true;
  options.model_cache = std::filesystem::temp_directory_path() / "lattice-no-such-cache";
  const auto service = MakeEmbeddingService(options);
  ASSERT_TRUE(service);
  for (const char* name : {"", "BAAI/bge-small-en-v1.5", "/no/such/folder"}) {
    const auto result = (*service)->EmbedOne("x", name);
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound) << result.error().message;
  }
}

TEST(MakeServiceTest, AStopEndsTheSearchForAModel) {
  std::stop_source stop;
  EmbeddingServiceOptions options;
  options.model_cache = std::filesystem::temp_directory_path() / "lattice-no-such-cache";
  options.hub_endpoint = "http://127.0.0.1:9";
  options.stop = stop.get_token();
  const auto service = MakeEmbeddingService(options);
  ASSERT_TRUE(service);
  stop.request_stop();
  const auto result = (*service)->Describe("someone/model");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled) << result.error().message;
}

TEST(MakeServiceTest, VersionIsThatOfTheProject) { EXPECT_STREQ(Version(), LATTICE_VERSION); }

}  // namespace
}  // namespace lattice
