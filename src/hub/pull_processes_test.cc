// What happens to the cache when processes meet, or die. Each pull runs in a forked child; the
// server starts after the fork, in the parent, and its address goes through a pipe.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "base/test_folder.h"
#include "hub/hub.h"
#include "hub/test_hub.h"

namespace lattice::hub {
namespace {

/// A forked process that waits for an endpoint, pulls someone/model from it, and exits with 0 or 1.
class PullProcess {
 public:
  explicit PullProcess(const std::filesystem::path& cache) {
    LATTICE_CHECK(pipe(pipe_.data()) == 0);
    pid_ = fork();
    LATTICE_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      std::array<char, 256> url{};
      const ssize_t n = read(pipe_[0], url.data(), url.size() - 1);
      if (n <= 0) _exit(2);
      _exit(Pull("someone/model", "", Source::kHub, TestOptions(cache, url.data())) ? 0 : 1);
    }
  }
  void Start(const std::string& url) {
    LATTICE_CHECK(write(pipe_[1], url.data(), url.size()) == static_cast<ssize_t>(url.size()));
  }
  void Kill() { kill(pid_, SIGKILL); }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    close(pipe_[0]);
    close(pipe_[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  std::array<int, 2> pipe_{};
  pid_t pid_ = -1;
};

TEST(PullProcessesTest, AKilledPullLeavesNoModelAndIsResumed) {
  const TestFolder folder;
  PullProcess process(folder.path());
  {
    std::atomic<bool> reached = false;
    const TestHub hub([&](const TestRequest& request) -> std::optional<TestResponse> {
      if (!request.target.ends_with("model.safetensors")) return std::nullopt;
      reached = true;
      return TestResponse{.body = TestHub::Weights(), .stall_after = 150'000};
    });
    process.Start(hub.server().url());
    while (!reached) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // some bytes get to the disk
    process.Kill();
    EXPECT_EQ(process.Wait(), -SIGKILL);
  }
  EXPECT_TRUE(ModelCache(folder.path()).List()->empty());
  EXPECT_FALSE(ModelCache(folder.path()).Find(*HubId::Parse("someone/model")));
  const TestHub hub;
  const auto model =
      Pull("someone/model", "", Source::kHub, TestOptions(folder.path(), hub.server().url()));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->size_bytes(), TestHub::Weights().size() + 6);
  EXPECT_EQ(hub.server().requests("model.safetensors")[0].Header("range"), "bytes=150000-");
}

TEST(PullProcessesTest, TwoPullsAtOnceFetchEachFileOnce) {
  const TestFolder folder;
  PullProcess first(folder.path());
  PullProcess second(folder.path());
  const TestHub hub([](const TestRequest& request) -> std::optional<TestResponse> {
    if (request.target.ends_with("model.safetensors")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return std::nullopt;
  });
  first.Start(hub.server().url());
  second.Start(hub.server().url());
  EXPECT_EQ(first.Wait(), 0);
  EXPECT_EQ(second.Wait(), 0);
  EXPECT_EQ(hub.server().requests("model.safetensors").size(), 1u);
  EXPECT_EQ(hub.server().requests("main?blobs=true").size(), 2u);
  EXPECT_EQ(ModelCache(folder.path()).List()->size(), 1u);
}

}  // namespace
}  // namespace lattice::hub
