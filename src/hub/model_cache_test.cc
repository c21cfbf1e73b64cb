#include "hub/model_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/mapped_file.h"
#include "base/test_folder.h"
#include "hub/model_lock.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

void WriteText(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

HubId Id(std::string_view text) { return *HubId::Parse(text); }

/// Puts a small whole model into a cache.
CachedModel PutModel(const fs::path& root, const HubId& id, const std::string& revision,
                     std::int64_t pulled_at) {
  CachedModel model;
  model.hub_id = id.text();
  model.revision = revision;
  model.requested_revision = "main";
  model.source = "hub test";
  model.pulled_at = pulled_at;
  model.files = {{"1_Pooling/config.json", 2, std::string(64, 'a')},
                 {"model.safetensors", 5, std::string(64, 'b')}};
  model.folder = root / id.folder_name() / revision;
  WriteText(model.folder / "1_Pooling/config.json", "{}");
  WriteText(model.folder / "model.safetensors", "12345");
  WriteText(model.folder / "manifest.json", ManifestText(model));
  return model;
}

TEST(ModelCacheTest, FindsTheNewestCopyOrTheNamedRevision) {
  const TestFolder root;
  const ModelCache cache(root.path());
  const HubId id = Id("a/b");
  EXPECT_EQ(cache.Find(id).error().code, ErrorCode::kNotFound);
  PutModel(root.path(), id, "old", 1);
  PutModel(root.path(), id, "new", 2);
  PutModel(root.path(), Id("c/d"), "other", 3);
  EXPECT_EQ(cache.Find(id)->revision, "new");
  EXPECT_EQ(cache.Find(id, "old")->revision, "old");
  EXPECT_EQ(cache.Find(id, "main")->revision, "new");
  EXPECT_FALSE(cache.Find(id, "none"));
  EXPECT_EQ(cache.Find(id)->size_bytes(), 7u);
  EXPECT_EQ(cache.Find(id)->files[1].sha256, std::string(64, 'b'));
  const auto all = cache.List();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].revision, "new");
  EXPECT_EQ((*all)[2].hub_id, "c/d");
}

TEST(ModelCacheTest, WhatIsNotWholeIsNotThere) {
  const TestFolder root;
  const ModelCache cache(root.path());
  const HubId id = Id("a/b");
  const CachedModel model = PutModel(root.path(), id, "rev", 1);
  fs::rename(model.folder / "manifest.json", model.folder / "elsewhere");
  EXPECT_FALSE(cache.Find(id));
  fs::rename(model.folder / "elsewhere", model.folder / "manifest.json");
  ASSERT_TRUE(cache.Find(id));
  fs::resize_file(model.folder / "model.safetensors", 4);
  EXPECT_FALSE(cache.Find(id));
  EXPECT_NE(ReadManifest(model.folder).error().message.find("4 bytes instead of 5"),
            std::string::npos);
  fs::remove(model.folder / "model.safetensors");
  EXPECT_FALSE(cache.Find(id));
  fs::rename(model.folder, model.folder.parent_path() / ".partial-rev");
  EXPECT_TRUE(cache.List()->empty());
}

TEST(ModelCacheTest, DamagedManifestsAreErrorsNotCrashes) {
  const TestFolder root;
  for (const char* text :
       {"", "{", "[]", "{}", R"({"lattice_manifest":2})",
        R"({"lattice_manifest":1,"hub_id":"../x","files":[]})",
        R"({"lattice_manifest":1,"hub_id":"a/b","files":[{"path":"../x","size":1,"sha256":""}]})",
        R"({"lattice_manifest":1,"hub_id":"a/b","files":[{"path":"x","size":-1,"sha256":""}]})",
        R"({"lattice_manifest":1,"hub_id":"a/b","files":[{"path":"x","size":1,"sha256":"zz"}]})",
        R"({"lattice_manifest":1,"hub_id":"a/b","files":{}})"}) {
    WriteText(root.path() / "manifest.json", text);
    EXPECT_FALSE(ReadManifest(root.path())) << text;
  }
}

TEST(ModelCacheTest, RemoveTakesOneRevisionOrAllAndCountsBytes) {
  const TestFolder root;
  const ModelCache cache(root.path());
  const HubId id = Id("a/b");
  PutModel(root.path(), id, "one", 1);
  PutModel(root.path(), id, "two", 2);
  ASSERT_TRUE(cache.Remove(id, "one"));
  EXPECT_FALSE(cache.Find(id, "one"));
  EXPECT_TRUE(cache.Find(id, "two"));
  WriteText(root.path() / "a--b/.partial-x/f.part", "123");
  const auto freed = cache.Remove(id);
  ASSERT_TRUE(freed);
  EXPECT_GT(*freed, 10u);
  EXPECT_FALSE(fs::exists(root.path() / "a--b"));
  EXPECT_EQ(cache.Remove(id).error().code, ErrorCode::kNotFound);
}

TEST(ModelCacheTest, ALoadedModelOutlivesItsRemoval) {
  const TestFolder root;
  const ModelCache cache(root.path());
  const CachedModel model = PutModel(root.path(), Id("a/b"), "rev", 1);
  const auto mapped = MappedFile::Open(model.folder / "model.safetensors");
  ASSERT_TRUE(mapped);
  ASSERT_TRUE(cache.Remove(Id("a/b")));
  EXPECT_EQ(std::to_integer<char>(mapped->bytes()[4]), '5');
}

TEST(ModelCacheTest, RemoveDoesNotDisturbAnotherProcessesPull) {
  const TestFolder root;
  const ModelCache cache(root.path());
  const HubId id = Id("a/b");
  PutModel(root.path(), id, "rev", 1);
  {
    const auto lock = ModelLock::TryAcquire(cache.ModelFolder(id));
    ASSERT_TRUE(lock);
    EXPECT_EQ(cache.Remove(id).error().code, ErrorCode::kResourceExhausted);
    EXPECT_TRUE(cache.Find(id));
  }
  EXPECT_TRUE(cache.Remove(id));
}

TEST(ModelLockTest, WaitingEndsWithTheHolderOrWithCancellation) {
  const TestFolder root;
  std::stop_source stop;
  bool told = false;
  {
    const auto held = ModelLock::TryAcquire(root.path() / "m");
    ASSERT_TRUE(held);
    const auto result = ModelLock::Acquire(root.path() / "m", stop.get_token(), [&] {
      told = true;
      stop.request_stop();
    });
    EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(ModelLock::Acquire(root.path() / "m", {}, [] { FAIL(); }));
}

}  // namespace
}  // namespace lattice::hub
