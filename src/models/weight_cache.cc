#include "models/weight_cache.h"

#include <algorithm>
#include <system_error>

#include "base/atomic_file.h"
#include "base/disk_space.h"

namespace lattice::models {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".packed";

}  // namespace

fs::path WeightCache::PathOf(const std::string& identity) const {
  return folder_ / (identity.substr(0, 32) + kSuffix);
}

std::vector<WeightCache::File> WeightCache::List() const {
  std::vector<File> files;
  std::error_code code;
  fs::directory_iterator at(folder_, code);
  for (; !code && at != fs::directory_iterator(); at.increment(code)) {
    std::error_code gone;
    if (at->path().extension() != kSuffix || !at->is_regular_file(gone)) continue;
    File file{at->path(), at->file_size(gone), {}};
    if (!gone) file.used = at->last_write_time(gone);
    if (!gone) files.push_back(std::move(file));
  }
  std::ranges::sort(files, std::ranges::greater{}, &File::used);
  return files;
}

std::uint64_t WeightCache::SizeBytes() const {
  std::uint64_t sum = 0;
  for (const File& file : List()) sum += file.size;
  return sum;
}

Status WeightCache::MakeRoom(std::uint64_t n_bytes) const {
  std::error_code code;
  fs::create_directories(folder_, code);
  if (code) {
    return Error{ErrorCode::kResourceExhausted, folder_.string() + ": " + code.message()};
  }
  LATTICE_TRY(DiskSpace disk, DiskSpaceOf(folder_));
  RemoveAbandonedFiles(folder_);
  std::vector<File> files = List();
  std::uint64_t used = 0;
  for (const File& file : files) used += file.size;
  const std::uint64_t kept_free =
      std::min<std::uint64_t>(disk.capacity / 100 * limits_.free_percent, limits_.free_bytes);
  const auto fits = [&] {
    return n_bytes <= limits_.most_bytes && used <= limits_.most_bytes - n_bytes &&
           disk.Fits(n_bytes, kept_free);
  };
  // What room there would be without any file says whether it is worth removing one.
  const bool can_fit = n_bytes <= limits_.most_bytes &&
                       DiskSpace{disk.capacity, disk.available + used}.Fits(n_bytes, kept_free);
  while (can_fit && !fits() && !files.empty()) {
    std::error_code gone;
    fs::remove(files.back().path, gone);
    used -= files.back().size;
    disk.available += files.back().size;
    files.pop_back();
  }
  if (fits()) return Ok();
  return Error{ErrorCode::kResourceExhausted,
               "no room for " + std::to_string(n_bytes) + " bytes in " + folder_.string() + ": " +
                   std::to_string(limits_.most_bytes) + " may be used, and " +
                   std::to_string(disk.available) + " are free, of which " +
                   std::to_string(kept_free) + " stay so"};
}

std::uint64_t WeightCache::Clear() const {
  RemoveAbandonedFiles(folder_);
  std::uint64_t freed = 0;
  for (const File& file : List()) {
    std::error_code code;
    if (fs::remove(file.path, code)) freed += file.size;
  }
  return freed;
}

void WeightCache::Touch(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

}  // namespace lattice::models
