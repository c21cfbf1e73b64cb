#include "hub/model_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/test_folder.h"

namespace lattice::hub {
namespace {

TEST(ModelNamesTest, EveryAliasIsLowerCaseUniqueAndNamesAHubId) {
  std::set<std::string_view> seen;
  for (const Alias& alias : Aliases()) {
    EXPECT_TRUE(seen.insert(alias.name).second) << alias.name;
    const auto id = HubId::Parse(alias.hub_id);
    ASSERT_TRUE(id) << alias.hub_id;
    EXPECT_EQ(id->text(), alias.hub_id);
    for (const char c : alias.name) EXPECT_FALSE(c >= 'A' && c <= 'Z') << alias.name;
  }
  EXPECT_TRUE(seen.contains(kDefaultEmbeddingModel));
}

TEST(ModelNamesTest, HubIdsThatCouldLeaveAFolderOrNameAnOptionAreRefused) {
  for (const char* bad :
       {"",      "/",      "a",      "a/",    "/a",     "a/b/c",      "../b",   "a/..",
        "a/.b",  ".a/b",   "a/b..c", "-a/b",  "a/-b",   "a--x/b",     "a/b--c", "a b/c",
        "a/b\n", "a\\b/c", "a/b?x",  "a/b#c", "a/b%2e", "http://a/b", "ü/b"}) {
    const auto id = HubId::Parse(bad);
    ASSERT_FALSE(id) << bad;
    EXPECT_EQ(id.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(HubId::Parse("a/" + std::string(129, 'b')));
  EXPECT_TRUE(HubId::Parse("a/" + std::string(128, 'b')));
  EXPECT_EQ(HubId::Parse("BAAI/bge-small-en-v1.5")->folder_name(), "BAAI--bge-small-en-v1.5");
}

TEST(ModelNamesTest, Revisions) {
  for (const char* good :
       {"main", "v1.0", "refs/pr/1", "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"}) {
    EXPECT_TRUE(CheckRevision(good)) << good;
  }
  for (const char* bad : {"", "-x", "../x", "a..b", "a//b", "a/", "a b", "a?b", "a%2f", "/a"}) {
    EXPECT_FALSE(CheckRevision(bad)) << bad;
  }
}

TEST(ModelNamesTest, FolderBeforeAliasBeforeHubId) {
  const TestFolder folder;
  const auto path = ParseModelReference(folder.path().string());
  ASSERT_TRUE(path);
  EXPECT_EQ(std::get<std::filesystem::path>(*path), folder.path());
  const auto alias = ParseModelReference("BGE-Small-EN-v1.5");
  ASSERT_TRUE(alias);
  EXPECT_EQ(std::get<HubId>(*alias).text(), "BAAI/bge-small-en-v1.5");
  const auto id = ParseModelReference("someone/some-model");
  ASSERT_TRUE(id);
  EXPECT_EQ(std::get<HubId>(*id).text(), "someone/some-model");
}

TEST(ModelNamesTest, FilesOfOtherKindsAndMissingPathsAreNamed) {
  const TestFolder folder;
  std::ofstream(folder.path() / "model.gguf") << "GGUF";
  std::ofstream(folder.path() / "model.bin") << "x";
  EXPECT_TRUE(ParseModelReference((folder.path() / "model.gguf").string()));
  const auto bin = ParseModelReference((folder.path() / "model.bin").string());
  ASSERT_FALSE(bin);
  EXPECT_EQ(bin.error().code, ErrorCode::kInvalidArgument);
  for (const char* missing : {"./nowhere", "/nowhere/at/all", "nowhere.gguf", "a/b/x.gguf"}) {
    const auto result = ParseModelReference(missing);
    ASSERT_FALSE(result) << missing;
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
    EXPECT_NE(result.error().message.find(missing), std::string::npos);
  }
}

TEST(ModelNamesTest, AnUnknownNameGetsTheNearestAlias) {
  const auto result = ParseModelReference("bge-smal-en-v1.5");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_NE(result.error().message.find("did you mean 'bge-small-en-v1.5'"), std::string::npos);
  const auto far = ParseModelReference(std::string(100'000, 'x'));
  ASSERT_FALSE(far);
  EXPECT_LT(far.error().message.size(), 500u);
}

}  // namespace
}  // namespace lattice::hub
