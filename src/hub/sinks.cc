#include "hub/sinks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "hub/file_hash.h"
#include "hub/folders.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

fs::path PartName(const fs::path& path) { return path.string() + ".part"; }

Error SystemError(const fs::path& path, const char* doing) {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return Error{full ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument,
               std::string("cannot ") + doing + " " + path.string() + ": " + std::strerror(errno)};
}

}  // namespace

Status MemorySink::Restart() {
  text_.clear();
  return Ok();
}

Status MemorySink::Append(std::string_view bytes) {
  if (bytes.size() > max_bytes_ - text_.size()) {
    return Error{ErrorCode::kCorruptData,
                 "the answer is longer than " + std::to_string(max_bytes_) + " bytes"};
  }
  text_.append(bytes);
  return Ok();
}

Result<FileSink> FileSink::Open(const fs::path& folder, const HubFile& file, std::stop_token stop) {
  const fs::path path = folder / file.path;
  const fs::path part = PartName(path);
  LATTICE_TRY_VOID(MakeFolders(path.parent_path()));
  std::error_code code;
  // A file that got its name before the model was whole is looked at again like an unfinished one.
  if (fs::symlink_status(path, code).type() == fs::file_type::regular) {
    fs::rename(path, part, code);
  }
  const int fd = open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return SystemError(part, "open");
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return Error{ErrorCode::kInvalidArgument, part.string() + " is not a regular file"};
  }
  return FileSink(fd, static_cast<std::uint64_t>(status.st_size), path, file, std::move(stop));
}

FileSink::FileSink(int fd, std::uint64_t size, fs::path path, HubFile file, std::stop_token stop)
    : fd_(fd),
      size_(size),
      path_(std::move(path)),
      file_(std::move(file)),
      stop_(std::move(stop)) {}

FileSink::FileSink(FileSink&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      stop_(std::move(other.stop_)),
      result_(std::move(other.result_)) {}

FileSink::~FileSink() {
  if (fd_ >= 0) close(fd_);
}

Error FileSink::Complain(const char* doing) const { return SystemError(PartName(path_), doing); }

Status FileSink::Restart() {
  if (ftruncate(fd_, 0) != 0) return Complain("empty");
  size_ = 0;
  return Ok();
}

Status FileSink::Append(std::string_view bytes) {
  if (bytes.size() > file_.size - size_) {
    return Error{ErrorCode::kCorruptData, "the server sends more than the " +
                                              std::to_string(file_.size) +
                                              " bytes of its own listing"};
  }
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Complain("write");
    size_ += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return Ok();
}

Status FileSink::Finish() {
  if (fsync(fd_) != 0) return Complain("sync");
  LATTICE_TRY(FileHashes hashes, HashFile(PartName(path_), stop_));
  const bool large = !file_.sha256.empty();
  const std::string& found = large ? hashes.sha256 : hashes.git_blob;
  const std::string& wanted = large ? file_.sha256 : file_.git_blob;
  if (hashes.size != file_.size || found != wanted) {
    return Error{ErrorCode::kCorruptData, std::string(large ? "SHA-256 is " : "git hash is ") +
                                              found + " instead of " + wanted + " (" +
                                              std::to_string(hashes.size) + " bytes)"};
  }
  if (rename(PartName(path_).c_str(), path_.c_str()) != 0) return Complain("rename");
  result_ = CachedFile{file_.path, hashes.size, std::move(hashes.sha256)};
  return Ok();
}

}  // namespace lattice::hub
