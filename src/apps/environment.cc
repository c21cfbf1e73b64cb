#include "apps/environment.h"

#include <cstdlib>
#include <string_view>

#include "hub/model_cache.h"

namespace lattice::apps {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<bool> Switch(const char* name) {
  const std::string value = Variable(name);
  for (const char* off : {"", "0", "false", "no", "off"}) {
    if (value == off) return false;
  }
  for (const char* on : {"1", "true", "yes", "on"}) {
    if (value == on) return true;
  }
  return Error{ErrorCode::kInvalidArgument,
               std::string(name) + " must be 1 or 0, not '" + value + "'"};
}

std::filesystem::path CacheFolder() {
  const std::string home = Variable("HOME");
  const std::string named = Variable("LATTICE_MODEL_CACHE");
  if (!named.empty()) {
    const bool in_home = named.starts_with("~/") && !home.empty();
    return in_home ? std::filesystem::path(home) / named.substr(2) : std::filesystem::path(named);
  }
  if (!home.empty()) return std::filesystem::path(home) / ".lattice" / "models";
  return hub::DefaultCacheFolder();
}

}  // namespace

Result<Environment> ReadEnvironment() {
  Environment environment;
  environment.model_cache = CacheFolder();
  const std::string keep = Variable("LATTICE_WEIGHT_CACHE");
  if (!keep.empty() && keep != "auto" && keep != "off") {
    return Error{ErrorCode::kInvalidArgument,
                 "LATTICE_WEIGHT_CACHE must be auto or off, not '" + keep + "'"};
  }
  environment.keep_packed = keep != "off";
  LATTICE_TRY(environment.offline, Switch("LATTICE_OFFLINE"));
  environment.hub_endpoint = Variable("HF_ENDPOINT");
  environment.hub_token = Variable("HF_TOKEN");
  environment.api_keys = Variable("LATTICE_API_KEYS");
  return environment;
}

}  // namespace lattice::apps
