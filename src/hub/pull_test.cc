#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/test_folder.h"
#include "hub/hub.h"
#include "hub/staging.h"
#include "hub/test_hub.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = std::size_t{1} << 20;

class PullTest : public testing::Test {
 protected:
  Result<CachedModel> PullFrom(const TestHub& hub) { return PullFrom(hub.server().url()); }
  Result<CachedModel> PullFrom(const std::string& url) {
    HubOptions options = TestOptions(folder_.path(), url);
    options.token = token_;
    return Pull("someone/model", "", Source::kHub, options);
  }
  std::size_t n_models() const { return ModelCache(folder_.path()).List()->size(); }
  void ExpectWhole(const Result<CachedModel>& model) const {
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->revision, TestHub::kCommit);
    EXPECT_EQ(*ReadFile(model->folder / "model.safetensors", kMaxFile), TestHub::Weights());
    EXPECT_EQ(*ReadFile(model->folder / "1_Pooling/config.json", kMaxFile), "{}\n");
    EXPECT_EQ(n_models(), 1u);
  }

  TestFolder folder_;
  std::string token_;
};

/// Answers the first `n` requests for the weights with `response`, and counts them.
TestHub::Fault FirstWeights(int n, const TestResponse& response) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  return [=](const TestRequest& request) -> std::optional<TestResponse> {
    if (!request.target.ends_with("model.safetensors") || (*count)++ >= n) return std::nullopt;
    return response;
  };
}

TEST_F(PullTest, TakesTheNeededFilesOnlyAndRecordsThem) {
  const TestHub hub;
  HubOptions options = TestOptions(folder_.path(), hub.server().url());
  std::size_t last_done = 0, last_total = 0;
  options.progress = [&](std::string_view what, std::size_t done, std::size_t total) {
    EXPECT_EQ(what, "someone/model");
    EXPECT_GE(done, last_done);
    last_done = done;
    last_total = total;
  };
  const auto model = Pull("someone/model", "", Source::kAuto, options);
  ExpectWhole(model);
  EXPECT_EQ(model->requested_revision, "main");
  EXPECT_EQ(model->source, "hub " + hub.server().url());
  ASSERT_EQ(model->files.size(), 3u);
  EXPECT_EQ(model->files[2].path, "model.safetensors");
  EXPECT_EQ(model->files[2].sha256, TestHub::Sha256Of(TestHub::Weights()));
  EXPECT_EQ(last_done, TestHub::Weights().size() + 6);
  EXPECT_EQ(last_total, last_done);
  EXPECT_EQ(hub.server().requests().size(), 4u);
  EXPECT_TRUE(Pull("someone/model", "", Source::kAuto, options));
  EXPECT_EQ(hub.server().requests().size(), 5u);  // the listing again, no file
  EXPECT_TRUE(Pull("someone/model", TestHub::kCommit, Source::kAuto, options));
  EXPECT_EQ(hub.server().requests().size(), 5u);  // a commit cannot change
}

TEST_F(PullTest, ABrokenConnectionIsResumed) {
  const TestHub hub(FirstWeights(1, {.body = TestHub::Weights(), .sent_bytes = 70'000}));
  ExpectWhole(PullFrom(hub));
  const auto requests = hub.server().requests("model.safetensors");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].Header("range"), "bytes=70000-");
}

TEST_F(PullTest, AServerThatIgnoresRangesIsReadFromTheStart) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  const TestHub hub([count](const TestRequest& request) -> std::optional<TestResponse> {
    if (!request.target.ends_with("model.safetensors")) return std::nullopt;
    if ((*count)++ == 0) return TestResponse{.body = TestHub::Weights(), .sent_bytes = 70'000};
    return TestResponse{.body = TestHub::Weights()};
  });
  ExpectWhole(PullFrom(hub));
  EXPECT_EQ(*count, 2);
}

TEST_F(PullTest, AServerThatAlwaysBreaksOffAtTheSamePlaceIsGivenUp) {
  const TestHub hub([](const TestRequest& request) -> std::optional<TestResponse> {
    if (!request.target.ends_with("model.safetensors")) return std::nullopt;
    return TestResponse{.body = TestHub::Weights(), .sent_bytes = 100};
  });
  const auto model = PullFrom(hub);
  ASSERT_FALSE(model);
  EXPECT_LE(hub.server().requests("model.safetensors").size(), 6u);
  EXPECT_EQ(n_models(), 0u);
}

TEST_F(PullTest, WrongBytesNeverBecomeAModel) {
  std::string wrong = TestHub::Weights();
  wrong[1000] ^= 1;
  const TestHub hub(FirstWeights(1000, {.body = wrong}));
  const auto model = PullFrom(hub);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kCorruptData);
  EXPECT_NE(model.error().message.find("model.safetensors"), std::string::npos);
  EXPECT_NE(model.error().message.find("SHA-256"), std::string::npos);
  EXPECT_EQ(hub.server().requests("model.safetensors").size(), 2u);
  EXPECT_EQ(n_models(), 0u);
}

TEST_F(PullTest, SmallFilesAreCheckedWithGitsHash) {
  const TestHub hub([](const TestRequest& request) -> std::optional<TestResponse> {
    if (!request.target.ends_with("1_Pooling/config.json")) return std::nullopt;
    return TestResponse{.body = "[]\n"};
  });
  const auto model = PullFrom(hub);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kCorruptData);
  EXPECT_EQ(n_models(), 0u);
}

TEST_F(PullTest, AResumedFileIsHashedFromItsFirstByte) {
  const fs::path partial =
      folder_.path() / "someone--model" / (std::string(".partial-") + TestHub::kCommit);
  fs::create_directories(partial);
  std::ofstream(partial / "model.safetensors.part") << std::string(5000, 'x');
  std::ofstream(partial / "config.json") << "[]\n";  // named, of the right size, but wrong
  std::ofstream(partial / "leftover.json") << "{}";
  const TestHub hub;
  const auto model = PullFrom(hub);
  ExpectWhole(model);
  EXPECT_EQ(*ReadFile(model->folder / "config.json", kMaxFile), "{}\n");
  EXPECT_FALSE(fs::exists(model->folder / "leftover.json"));
  const auto requests = hub.server().requests("model.safetensors");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].Header("range"), "bytes=5000-");
  EXPECT_EQ(requests[1].Header("range"), "");
}

TEST_F(PullTest, ABodyLongerThanListedIsRefused) {
  const TestHub hub(FirstWeights(1000, {.body = TestHub::Weights() + "more"}));
  EXPECT_EQ(PullFrom(hub).error().code, ErrorCode::kCorruptData);
  EXPECT_EQ(n_models(), 0u);
}

TEST_F(PullTest, ABusyServerIsAskedAgain) {
  const TestHub hub(FirstWeights(3, {.status = 503}));
  ExpectWhole(PullFrom(hub));
  EXPECT_EQ(hub.server().requests("model.safetensors").size(), 4u);
}

TEST_F(PullTest, AServerThatStaysBusyIsGivenUp) {
  const TestHub hub(FirstWeights(1000, {.status = 500}));
  const auto model = PullFrom(hub);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(hub.server().requests("model.safetensors").size(), 5u);
}

TEST_F(PullTest, TheTokenDoesNotFollowARedirectToAnotherHost) {
  token_ = "hf_secret";
  const TestHttpServer other(
      [](const TestRequest& request) { return TestHub::File(request, TestHub::Weights()); });
  const std::string there = other.url() + "/blob";
  const TestHub hub(FirstWeights(1000, {.status = 302, .headers = {"Location: " + there}}));
  ExpectWhole(PullFrom(hub));
  for (const TestRequest& request : hub.server().requests()) {
    EXPECT_EQ(request.Header("authorization"), "Bearer hf_secret") << request.target;
  }
  const std::vector<TestRequest> there_asked = other.requests();
  ASSERT_EQ(there_asked.size(), 1u);
  for (const auto& [name, value] : there_asked[0].headers) {
    EXPECT_EQ(value.find("hf_secret"), std::string::npos) << name;
  }
}

TEST_F(PullTest, TheTokenStaysWithARedirectOnTheSameHost) {
  token_ = "hf_secret";
  const TestHub hub([](const TestRequest& request) -> std::optional<TestResponse> {
    if (request.target.ends_with("/blob")) return TestHub::File(request, TestHub::Weights());
    if (!request.target.ends_with("model.safetensors")) return std::nullopt;
    return TestResponse{.status = 307, .headers = {"Location: /blob"}};
  });
  ExpectWhole(PullFrom(hub));
  ASSERT_EQ(hub.server().requests("/blob").size(), 1u);
  EXPECT_EQ(hub.server().requests("/blob")[0].Header("authorization"), "Bearer hf_secret");
}

TEST_F(PullTest, ForbiddenRedirectsAreRefused) {
  for (const char* location : {"http://192.0.2.1/x", "file:///etc/passwd", "ftp://127.0.0.1/x",
                               "https://user:password@192.0.2.1/x", "/again/model.safetensors"}) {
    const TestHub hub([location](const TestRequest& request) -> std::optional<TestResponse> {
      if (!request.target.ends_with("model.safetensors")) return std::nullopt;
      return TestResponse{.status = 302, .headers = {std::string("Location: ") + location}};
    });
    const auto model = PullFrom(hub);
    ASSERT_FALSE(model) << location;
    EXPECT_EQ(model.error().code, ErrorCode::kInvalidArgument) << model.error().message;
    EXPECT_LT(hub.server().requests().size(), 20u);
  }
}

TEST_F(PullTest, RefusalsSayWhatToDo) {
  const struct {
    int status;
    ErrorCode code;
    const char* says;
  } cases[] = {{401, ErrorCode::kInvalidArgument, "HF_TOKEN"},
               {403, ErrorCode::kInvalidArgument, "licence"},
               {404, ErrorCode::kNotFound, "Check the name"},
               {410, ErrorCode::kInvalidArgument, "410"}};
  for (const auto& c : cases) {
    const TestHub hub([&](const TestRequest&) {
      return TestResponse{.status = c.status, .headers = {"X-Error-Message: gone\tfishing"}};
    });
    const auto model = PullFrom(hub);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, c.code);
    EXPECT_NE(model.error().message.find(c.says), std::string::npos) << model.error().message;
    EXPECT_NE(model.error().message.find("gone fishing"), std::string::npos);
    EXPECT_EQ(hub.server().requests().size(), 1u);
  }
}

TEST_F(PullTest, HostileListingsAreRefused) {
  for (const std::string& body : {std::string("not json"), std::string("{}"),
                                  std::string(R"({"sha":"../../x","siblings":[]})"),
                                  R"({"sha":")" + std::string(TestHub::kCommit) +
                                      R"(","siblings":[{"rfilename":"../config.json","size":1}]})",
                                  std::string(std::size_t{9} << 20, ' ')}) {
    const TestHub hub([&](const TestRequest&) { return TestResponse{.body = body}; });
    const auto model = PullFrom(hub);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::kCorruptData) << model.error().message;
    EXPECT_EQ(n_models(), 0u);
  }
}

TEST_F(PullTest, AnotherCommitThanThePinnedOneIsRefused) {
  const TestHub hub([](const TestRequest& request) -> std::optional<TestResponse> {
    if (!request.target.starts_with("/api/")) return std::nullopt;
    return TestResponse{.body = TestHub::Listing()};
  });
  const HubOptions options = TestOptions(folder_.path(), hub.server().url());
  const auto other = Pull("someone/model", std::string(40, 'f'), Source::kHub, options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kCorruptData) << other.error().message;
  EXPECT_EQ(n_models(), 0u);
  ExpectWhole(Pull("someone/model", TestHub::kCommit, Source::kHub, options));
}

TEST_F(PullTest, CancellingKeepsWhatArrivedForTheNextPull) {
  {
    const TestHub hub(FirstWeights(1000, {.body = TestHub::Weights(), .stall_after = 70'000}));
    HubOptions options = TestOptions(folder_.path(), hub.server().url());
    std::stop_source stop;
    options.stop = stop.get_token();
    options.progress = [&](std::string_view, std::size_t done, std::size_t) {
      if (done >= 70'000) stop.request_stop();
    };
    const auto model = Pull("someone/model", "", Source::kHub, options);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(n_models(), 0u);
  }
  const TestHub hub;
  ExpectWhole(PullFrom(hub));
  const std::string range = hub.server().requests("model.safetensors")[0].Header("range");
  EXPECT_TRUE(range.starts_with("bytes=") && range.ends_with("-")) << range;
}

TEST_F(PullTest, AStalledServerIsAskedAgain) {
  const TestHub hub(FirstWeights(1, {.body = TestHub::Weights(), .stall_after = 70'000}));
  HubOptions options = TestOptions(folder_.path(), hub.server().url());
  options.stall_limit = std::chrono::seconds(1);
  ExpectWhole(Pull("someone/model", "", Source::kHub, options));
}

TEST_F(PullTest, OfflineOnlyLooksIntoTheCache) {
  const TestHub hub;
  HubOptions options = TestOptions(folder_.path(), hub.server().url());
  options.offline = true;
  EXPECT_EQ(Pull("someone/model", "", Source::kAuto, options).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Resolve("someone/model", options).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(hub.server().requests().empty());
  ExpectWhole(PullFrom(hub));
  ExpectWhole(Pull("someone/model", "", Source::kAuto, options));
  EXPECT_EQ(Resolve("someone/model", options)->revision, TestHub::kCommit);
  EXPECT_EQ(hub.server().requests().size(), 4u);
}

TEST_F(PullTest, WithoutAHubAnEarlierCopyStands) {
  std::string url;
  {
    const TestHub hub;
    url = hub.server().url();
    ExpectWhole(PullFrom(hub));
  }
  ExpectWhole(PullFrom(url));
  const TestFolder empty;
  const auto model = Pull("someone/model", "", Source::kAuto, TestOptions(empty.path(), url));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kNotFound);
  EXPECT_NE(model.error().message.find("folder"), std::string::npos);
}

TEST_F(PullTest, ADamagedModelIsPulledAgain) {
  const TestHub hub;
  const auto first = PullFrom(hub);
  ExpectWhole(first);
  fs::resize_file(first->folder / "model.safetensors", 10);
  ExpectWhole(PullFrom(hub));
}

TEST_F(PullTest, AFullDiskIsNoticedBeforeTheDownload) {
  const ModelCache cache(folder_.path());
  const auto staging = Staging::Open(cache, *HubId::Parse("a/b"), "main");
  ASSERT_TRUE(staging);
  EXPECT_TRUE(staging->CheckSpace(1));
  EXPECT_EQ(staging->CheckSpace(std::uint64_t{1} << 62).error().code,
            ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace lattice::hub
