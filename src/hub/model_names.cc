#include "hub/model_names.h"

#include <algorithm>
#include <system_error>
#include <vector>

namespace lattice::hub {
namespace {

constexpr Alias kAliases[] = {
    {"all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2", "embedding"},
    {"all-minilm-l12-v2", "sentence-transformers/all-MiniLM-L12-v2", "embedding"},
    {"paraphrase-multilingual-minilm-l12-v2",
     "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "embedding"},
    {"multi-qa-minilm-l6-cos-v1", "sentence-transformers/multi-qa-MiniLM-L6-cos-v1", "embedding"},
    {"bge-small-en-v1.5", "BAAI/bge-small-en-v1.5", "embedding"},
    {"bge-base-en-v1.5", "BAAI/bge-base-en-v1.5", "embedding"},
    {"bge-large-en-v1.5", "BAAI/bge-large-en-v1.5", "embedding"},
    {"bge-m3", "BAAI/bge-m3", "embedding"},
    {"e5-small", "intfloat/e5-small", "embedding"},
    {"e5-base", "intfloat/e5-base", "embedding"},
    {"e5-large", "intfloat/e5-large", "embedding"},
    {"e5-small-v2", "intfloat/e5-small-v2", "embedding"},
    {"e5-base-v2", "intfloat/e5-base-v2", "embedding"},
    {"e5-large-v2", "intfloat/e5-large-v2", "embedding"},
    {"multilingual-e5-small", "intfloat/multilingual-e5-small", "embedding"},
    {"multilingual-e5-base", "intfloat/multilingual-e5-base", "embedding"},
    {"multilingual-e5-large", "intfloat/multilingual-e5-large", "embedding"},
    {"multilingual-e5-large-instruct", "intfloat/multilingual-e5-large-instruct", "embedding"},
    {"qwen3-embedding-0.6b", "Qwen/Qwen3-Embedding-0.6B", "embedding"},
    {"qwen3-embedding-4b", "Qwen/Qwen3-Embedding-4B", "embedding"},
    {"qwen3-embedding-8b", "Qwen/Qwen3-Embedding-8B", "embedding"},
    {"embeddinggemma-300m", "google/embeddinggemma-300m", "embedding"},
    {"gte-modernbert-base", "Alibaba-NLP/gte-modernbert-base", "embedding"},
    {"modernbert-embed-base", "nomic-ai/modernbert-embed-base", "embedding"},
    {"gte-small", "thenlper/gte-small", "embedding"},
    {"gte-base", "thenlper/gte-base", "embedding"},
    {"gte-large", "thenlper/gte-large", "embedding"},
    {"ms-marco-minilm-l6-v2", "cross-encoder/ms-marco-MiniLM-L6-v2", "reranker"},
    {"ms-marco-minilm-l12-v2", "cross-encoder/ms-marco-MiniLM-L12-v2", "reranker"},
    {"bge-reranker-base", "BAAI/bge-reranker-base", "reranker"},
    {"bge-reranker-large", "BAAI/bge-reranker-large", "reranker"},
    {"bge-reranker-v2-m3", "BAAI/bge-reranker-v2-m3", "reranker"},
    {"gte-reranker-modernbert-base", "Alibaba-NLP/gte-reranker-modernbert-base", "reranker"},
    {"qwen3-reranker-0.6b", "Qwen/Qwen3-Reranker-0.6B", "reranker"},
    {"qwen3-reranker-4b", "Qwen/Qwen3-Reranker-4B", "reranker"},
    {"qwen3-reranker-8b", "Qwen/Qwen3-Reranker-8B", "reranker"},
    {"smollm2-135m-instruct", "HuggingFaceTB/SmolLM2-135M-Instruct", "chat"},
    {"smollm2-360m-instruct", "HuggingFaceTB/SmolLM2-360M-Instruct", "chat"},
    {"smollm2-1.7b-instruct", "HuggingFaceTB/SmolLM2-1.7B-Instruct", "chat"},
    {"smollm3-3b", "HuggingFaceTB/SmolLM3-3B", "chat"},
    {"qwen3.5-0.8b", "Qwen/Qwen3.5-0.8B", "chat"},
    {"qwen3.5-2b", "Qwen/Qwen3.5-2B", "chat"},
    {"qwen3.5-4b", "Qwen/Qwen3.5-4B", "chat"},
    {"qwen3-0.6b", "Qwen/Qwen3-0.6B", "chat"},
    {"qwen3-1.7b", "Qwen/Qwen3-1.7B", "chat"},
    {"qwen2.5-0.5b-instruct", "Qwen/Qwen2.5-0.5B-Instruct", "chat"},
    {"llama-3.2-1b-instruct", "meta-llama/Llama-3.2-1B-Instruct", "chat"},
    {"llama-3.2-3b-instruct", "meta-llama/Llama-3.2-3B-Instruct", "chat"},
    {"gemma-3-270m-it", "google/gemma-3-270m-it", "chat"},
    {"gemma-3-1b-it", "google/gemma-3-1b-it", "chat"},
};

constexpr std::size_t kMaxComponent = 128;

bool IsAsciiAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsNameByte(char c) { return IsAsciiAlnum(c) || c == '.' || c == '_' || c == '-'; }

bool IsComponent(std::string_view part) {
  return !part.empty() && part.size() <= kMaxComponent && IsAsciiAlnum(part.front()) &&
         std::ranges::all_of(part, IsNameByte) && part.find("..") == part.npos &&
         part.find("--") == part.npos;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// Levenshtein distance; both texts are short.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// For an error message: what a long or binary argument may look like on a terminal.
std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, kMaxComponent));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return shown + (text.size() > kMaxComponent ? "..." : "");
}

Error UnknownModel(std::string_view text) {
  std::string message = "no model '" + Shown(text) + "'";
  if (text.size() <= kMaxComponent) {
    const auto nearest = std::ranges::min_element(
        kAliases, {}, [&](const Alias& alias) { return EditDistance(Lower(text), alias.name); });
    if (EditDistance(Lower(text), nearest->name) <= 1 + text.size() / 3) {
      message += "; did you mean '" + std::string(nearest->name) + "'?";
    }
  }
  if (!message.ends_with('?')) message += '.';
  message +=
      " A model is a folder, a .gguf file, a known name ('lattice models --known' lists "
      "them) or OWNER/NAME on the hub";
  return Error{ErrorCode::kNotFound, message};
}

bool LooksLikePath(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") ||
         text.starts_with("~") || text.ends_with('/') || text.ends_with(".gguf");
}

}  // namespace

std::span<const Alias> Aliases() { return kAliases; }

Result<HubId> HubId::Parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos || !IsComponent(text.substr(0, slash)) ||
      !IsComponent(text.substr(slash + 1))) {
    return Error{ErrorCode::kInvalidArgument,
                 "'" + Shown(text) +
                     "' is not a hub id: OWNER/NAME, each of 1 to 128 letters, digits, '.', '_' or "
                     "'-', starting with a letter or digit, without '..' or '--'"};
  }
  return HubId(std::string(text.substr(0, slash)), std::string(text.substr(slash + 1)));
}

Status CheckRevision(std::string_view revision) {
  const bool good =
      !revision.empty() && revision.size() <= kMaxComponent && IsAsciiAlnum(revision.front()) &&
      revision.back() != '/' &&
      std::ranges::all_of(revision, [](char c) { return IsNameByte(c) || c == '/'; }) &&
      revision.find("..") == revision.npos && revision.find("//") == revision.npos;
  if (good) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               "'" + Shown(revision) +
                   "' is not a revision: a branch, tag or commit of letters, "
                   "digits, '.', '_', '-' and '/', without '..'"};
}

Result<HubId> ParseModelName(std::string_view text) {
  const auto alias = std::ranges::find(kAliases, Lower(text), &Alias::name);
  if (alias != std::end(kAliases)) return HubId::Parse(alias->hub_id);
  if (text.find('/') == text.npos) return UnknownModel(text);
  return HubId::Parse(text);
}

Result<ModelReference> ParseModelReference(std::string_view text) {
  if (text.find('\0') != text.npos) return UnknownModel(text);
  const std::filesystem::path path(text);
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (std::filesystem::is_directory(status)) return ModelReference(path);
  if (std::filesystem::is_regular_file(status)) {
    if (path.extension() == ".gguf") return ModelReference(path);
    return Error{ErrorCode::kInvalidArgument,
                 Shown(text) + " is a file that is no model: give the folder that it is in"};
  }
  if (LooksLikePath(text)) {
    return Error{ErrorCode::kNotFound, "there is no file or folder " + Shown(text)};
  }
  LATTICE_TRY(HubId id, ParseModelName(text));
  return ModelReference(std::move(id));
}

}  // namespace lattice::hub
