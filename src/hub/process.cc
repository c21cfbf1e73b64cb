#include "hub/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

extern "C" char** environ;  // NOLINT: POSIX leaves the declaration to programs

namespace lattice::hub {
namespace {

constexpr std::size_t kMaxOutput = 8192;
constexpr int kPollMs = 100;

/// Both ends of a pipe, closed in the end.
struct Pipe {
  Pipe() {
    if (pipe2(fds.data(), O_CLOEXEC) != 0) fds = {-1, -1};
  }
  ~Pipe() {
    CloseWriteEnd();
    if (fds[0] >= 0) close(fds[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void CloseWriteEnd() {
    if (fds[1] >= 0) close(fds[1]);
    fds[1] = -1;
  }
  std::array<int, 2> fds{-1, -1};
};

/// Starts the program in a process group of its own, with default signal handling.
int Spawn(const std::vector<std::string>& arguments, int output, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int code = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

/// Reads until the program closes its output; false when stopped before.
bool ReadAll(int fd, const std::stop_token& stop, std::string& output) {
  std::array<char, 4096> buffer;
  for (;;) {
    if (stop.stop_requested()) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int n_ready = poll(&waiting, 1, kPollMs);
    if (n_ready == 0 || (n_ready < 0 && errno == EINTR)) continue;
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    output.append(buffer.data(), static_cast<std::size_t>(n));
    if (output.size() > kMaxOutput) output.erase(0, output.size() - kMaxOutput);
  }
}

int Wait(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Asks the process group to end, and makes it after two seconds.
void End(pid_t pid) {
  kill(-pid, SIGTERM);
  for (int i = 0; i < 20; ++i) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) != 0) {
      kill(-pid, SIGKILL);  // whatever it has left behind
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  }
  kill(-pid, SIGKILL);
  Wait(pid);
}

}  // namespace

Result<ProcessResult> RunProcess(const std::vector<std::string>& arguments,
                                 const std::stop_token& stop) {
  Pipe pipe;
  if (pipe.fds[0] < 0) return Error{ErrorCode::kResourceExhausted, "cannot make a pipe"};
  pid_t pid = -1;
  if (const int code = Spawn(arguments, pipe.fds[1], pid); code != 0) {
    return Error{code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
                 "cannot run " + arguments[0] + ": " + std::strerror(code)};
  }
  pipe.CloseWriteEnd();
  ProcessResult result;
  if (!ReadAll(pipe.fds[0], stop, result.output)) {
    End(pid);
    return Error{ErrorCode::kCancelled, arguments[0] + " was cancelled"};
  }
  result.exit_status = Wait(pid);
  return result;
}

}  // namespace lattice::hub
