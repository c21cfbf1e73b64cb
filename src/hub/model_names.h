#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "lattice/result.h"

namespace lattice::hub {

/// A short name that people type, and the model on the hub that it stands for.
struct Alias {
  std::string_view name;  ///< Lower case.
  std::string_view hub_id;
  std::string_view kind;  ///< "embedding", "reranker" or "chat".
};

std::span<const Alias> Aliases();

/// The models that are meant when none is named.
inline constexpr std::string_view kDefaultEmbeddingModel = "all-minilm-l6-v2";
inline constexpr std::string_view kDefaultChatModel = "smollm2-135m-instruct";

/// "owner/name" of a model repository. Both parts match [A-Za-z0-9][A-Za-z0-9._-]{0,127} without
/// ".." or "--", so that neither can leave a folder, name an option, or collide with another.
class HubId {
 public:
  /// kInvalidArgument, with the rule that was broken.
  static Result<HubId> Parse(std::string_view text);

  std::string text() const { return owner_ + "/" + name_; }
  const std::string& owner() const { return owner_; }
  const std::string& name() const { return name_; }
  /// "owner--name": the model's folder in the cache.
  std::string folder_name() const { return owner_ + "--" + name_; }

  bool operator==(const HubId&) const = default;

 private:
  HubId(std::string owner, std::string name) : owner_(std::move(owner)), name_(std::move(name)) {}
  std::string owner_, name_;
};

/// Checks a branch, tag or commit: [A-Za-z0-9][A-Za-z0-9._/-]{0,127}, no "..", no "//".
Status CheckRevision(std::string_view revision);

/// A model of the hub as people name it: an alias, in any case, or a hub id. kNotFound, with the
/// nearest alias, for anything else.
Result<HubId> ParseModelName(std::string_view text);

/// What a MODEL argument names: a path on this machine, or a model of the hub.
using ModelReference = std::variant<std::filesystem::path, HubId>;

/// In this order: an existing folder; an existing file (a .gguf file: others are refused); an
/// alias, in any case; a hub id. What looks like a path ("./x", "/x", "x.gguf") but is not there is
/// kNotFound; any other text is kNotFound with the nearest alias.
Result<ModelReference> ParseModelReference(std::string_view text);

}  // namespace lattice::hub
