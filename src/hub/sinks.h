#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

#include "hub/fetcher.h"
#include "hub/listing.h"
#include "hub/model_cache.h"

namespace lattice::hub {

/// Keeps a short body in memory; a longer one than `max_bytes` is kCorruptData.
class MemorySink final : public BodySink {
 public:
  explicit MemorySink(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::uint64_t size() const override { return text_.size(); }
  std::optional<std::uint64_t> expected_size() const override { return std::nullopt; }
  Status Restart() override;
  Status Append(std::string_view bytes) override;
  Status Finish() override { return Ok(); }

  const std::string& text() const { return text_; }

 private:
  std::size_t max_bytes_;
  std::string text_;
};

/// Keeps one file of a model in FOLDER/PATH.part, which an earlier process may have begun, and
/// gives it its name once size and hash are right.
class FileSink final : public BodySink {
 public:
  /// Opens what is there already; its bytes count only when the hash has seen them.
  static Result<FileSink> Open(const std::filesystem::path& folder, const HubFile& file,
                               std::stop_token stop);
  FileSink(FileSink&& other) noexcept;
  FileSink& operator=(FileSink&&) = delete;
  ~FileSink() override;

  std::uint64_t size() const override { return size_; }
  std::optional<std::uint64_t> expected_size() const override { return file_.size; }
  Status Restart() override;
  Status Append(std::string_view bytes) override;
  Status Finish() override;

  /// After Finish.
  const CachedFile& result() const { return result_; }

 private:
  FileSink(int fd, std::uint64_t size, std::filesystem::path path, HubFile file,
           std::stop_token stop);
  Error Complain(const char* doing) const;

  int fd_;
  std::uint64_t size_;
  std::filesystem::path path_;  // without ".part"
  HubFile file_;
  std::stop_token stop_;
  CachedFile result_;
};

}  // namespace lattice::hub
