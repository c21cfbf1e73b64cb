#include "hub/listing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/sha256.h"
#include "hub/file_paths.h"

namespace lattice::hub {
namespace {

constexpr std::size_t kMaxFiles = 20'000;

/// A name that no honest listing holds; a name that is merely odd is left alone, and not fetched.
bool IsHostile(std::string_view path) {
  const bool control = std::ranges::any_of(
      path, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7f; });
  return control || path.empty() || path.front() == '/' || path == ".." ||
         path.starts_with("../") || path.ends_with("/..") || path.find("/../") != path.npos;
}

/// "1_Pooling": how sentence-transformers names the folders of its modules.
bool IsModuleFolder(std::string_view part) {
  const std::size_t n_digits = std::min(part.find_first_not_of("0123456789"), part.size());
  return n_digits > 0 && n_digits + 1 < part.size() && part[n_digits] == '_';
}

struct SplitPath {
  std::string_view folder;  // empty, or a module folder
  std::string_view name;
};

std::optional<SplitPath> Split(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return SplitPath{{}, path};
  const SplitPath split{path.substr(0, slash), path.substr(slash + 1)};
  if (split.name.find('/') != path.npos || !IsModuleFolder(split.folder)) return std::nullopt;
  return split;
}

bool IsDescription(std::string_view name) {
  for (const std::string_view exact :
       {"modules.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json",
        "merges.txt", "generation_config.json", "preprocessor_config.json", "chat_template.json",
        "chat_template.jinja", "LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE"}) {
    if (name == exact) return true;
  }
  return (name.ends_with(".json") &&
          (name.starts_with("config") || name.starts_with("tokenizer"))) ||
         (name.starts_with("sentence_") && name.ends_with("_config.json")) ||
         name.ends_with(".model");
}

/// model-00001-of-00004.safetensors
bool IsShard(std::string_view name) {
  constexpr std::string_view kForm = "model-00001-of-00004.safetensors";
  if (name.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = kForm[i] >= '0' && kForm[i] <= '9';
    if (digit ? (name[i] < '0' || name[i] > '9') : name[i] != kForm[i]) return false;
  }
  return true;
}

using FilesByPath = std::map<std::string, HubFile, std::less<>>;

/// Whether a safetensors file (or index) is the one that its folder's module is loaded from: the
/// whole file, else the shards, else whatever there is.
bool IsWeights(const SplitPath& at, const FilesByPath& all) {
  const auto beside = [&](std::string_view name) {
    const std::string path =
        at.folder.empty() ? std::string(name) : std::string(at.folder) + "/" + std::string(name);
    return all.contains(path);
  };
  if (beside("model.safetensors")) return at.name == "model.safetensors";
  if (beside("model.safetensors.index.json")) {
    return at.name == "model.safetensors.index.json" || IsShard(at.name);
  }
  return at.name.ends_with(".safetensors");
}

Result<HubFile> ParseSibling(const JsonView& entry, std::string_view path) {
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 48;
  HubFile file;
  file.path = path;
  LATTICE_TRY(std::int64_t size, entry.IntOr("size", -1, 0, kMaxSize));
  if (const auto lfs = entry.Find("lfs"); lfs && lfs->IsObject()) {
    LATTICE_TRY(file.sha256, lfs->StringOr("sha256", ""));
    LATTICE_TRY(size, lfs->IntOr("size", size, 0, kMaxSize));
  }
  LATTICE_TRY(file.git_blob, entry.StringOr("blobId", ""));
  if (size < 0) return entry.Complain("no size of " + file.path);
  if (!file.sha256.empty() && !IsHex(file.sha256, 64)) {
    return entry.Complain("lfs.sha256 is not 64 hexadecimal digits");
  }
  if (file.sha256.empty() && !IsHex(file.git_blob, 40)) {
    return entry.Complain("no hash to check " + file.path + " with");
  }
  file.size = static_cast<std::uint64_t>(size);
  return file;
}

Result<FilesByPath> ParseSiblings(const JsonView& root) {
  LATTICE_TRY(const JsonView siblings, root.Get("siblings"));
  LATTICE_TRY(const std::vector<JsonView> entries, siblings.Array());
  if (entries.size() > kMaxFiles) {
    return siblings.Complain(std::to_string(entries.size()) + " files, above the limit of " +
                             std::to_string(kMaxFiles));
  }
  FilesByPath files;
  for (const JsonView& entry : entries) {
    LATTICE_TRY(const JsonView name, entry.Get("rfilename"));
    LATTICE_TRY(const std::string_view path, name.String());
    if (IsHostile(path)) return name.Complain("a file name that leaves the model's folder");
    if (!CheckFilePath(path)) continue;  // hidden files, spaces: nothing that a model needs
    const auto at = Split(path);
    const bool wanted = at && (IsDescription(at->name) || at->name.ends_with(".safetensors") ||
                               at->name == "model.safetensors.index.json" ||
                               (at->folder.empty() && at->name.ends_with(".gguf")));
    if (!wanted) continue;
    LATTICE_TRY(HubFile file, ParseSibling(entry, path));
    files.insert_or_assign(file.path, std::move(file));
  }
  return files;
}

Error NoWeights(const std::string& model, const std::vector<HubFile>& gguf_files) {
  std::string message = model + " has no weights as safetensors";
  if (gguf_files.empty()) {
    message +=
        ": other formats (.bin, .onnx, ...) are not read, since some can run code when "
        "loaded. Look for a revision or a copy of the model with safetensors";
  } else {
    message += " but " + std::to_string(gguf_files.size()) +
               " .gguf files; download the one you want and name that file";
  }
  return Error{ErrorCode::kUnsupported, message};
}

}  // namespace

std::uint64_t HubListing::size_bytes() const {
  std::uint64_t total = 0;  // at most kMaxFiles sizes, of 2^48 each: no overflow
  for (const HubFile& file : files) total += file.size;
  return total;
}

Result<HubListing> ParseListing(std::string_view json, const std::string& model) {
  LATTICE_TRY(const boost::json::value document, ParseJson(json));
  const JsonView root(document, "the hub's listing of " + model);
  HubListing listing;
  LATTICE_TRY(const JsonView sha, root.Get("sha"));
  LATTICE_TRY(listing.commit, sha.String());
  if (!IsHex(listing.commit, 40)) return sha.Complain("expected 40 hexadecimal digits");
  LATTICE_TRY(const FilesByPath all, ParseSiblings(root));

  std::vector<HubFile> gguf_files;
  std::vector<std::string> paths;
  bool has_weights = false;
  for (const auto& [path, file] : all) {
    if (path.ends_with(".gguf")) {
      gguf_files.push_back(file);
      continue;
    }
    const SplitPath at = *Split(path);
    const bool is_weights = IsWeights(at, all) && at.name.find(".safetensors") != at.name.npos;
    if (!is_weights && !IsDescription(at.name)) continue;
    has_weights = has_weights || is_weights;
    listing.files.push_back(file);
    paths.push_back(path);
  }
  if (!has_weights) {
    if (gguf_files.size() != 1) return NoWeights(model, gguf_files);
    paths.push_back(gguf_files[0].path);
    listing.files.push_back(std::move(gguf_files[0]));
  }
  LATTICE_TRY_VOID(CheckFilePaths(paths));
  return listing;
}

}  // namespace lattice::hub
