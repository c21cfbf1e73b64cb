#include "decoding/gguf_tokenizer_writer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/json.h"
#include "tokenizers/known_pre.h"
#include "tokenizers/vocabulary_data.h"

namespace lattice::decoding {
namespace {

using Type = tokenizers::VocabularyData::Type;

constexpr std::string_view kPrefix = "tokenizer.ggml.";
constexpr std::string_view kSpace = "\u2581";

std::string Key(std::string_view name) { return std::string(kPrefix) + std::string(name); }

struct Token {
  std::string text;
  std::int32_t type = Type::kNormal;
};

/// One a row of the embedding table, by id.
std::vector<Token> ReadTokens(const TokenizerSource& source) {
  std::vector<Token> tokens(source.vocab);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool known = i < source.tokenizer->vocab_size();
    const auto text = known ? source.tokenizer->TokenText(static_cast<TokenId>(i)) : std::nullopt;
    if (text) {
      tokens[i].text = *text;
    } else {
      tokens[i] = {"[PAD" + std::to_string(i) + "]", Type::kUnused};
    }
  }
  return tokens;
}

Status MarkAdded(const JsonView& json, std::vector<Token>& tokens) {
  const auto added = json.Find("added_tokens");
  if (!added) return Ok();
  LATTICE_TRY(const std::vector<JsonView> list, added->Array());
  for (const JsonView& one : list) {
    LATTICE_TRY(const JsonView place, one.Get("id"));
    LATTICE_TRY(const std::int64_t id, place.Int(0, std::int64_t{1} << 31));
    LATTICE_TRY(const bool special, one.BoolOr("special", false));
    if (static_cast<std::size_t>(id) >= tokens.size()) continue;  // it has no row
    tokens[static_cast<std::size_t>(id)].type = special ? Type::kControl : Type::kUserDefined;
  }
  return Ok();
}

/// "left right" or ["left", "right"].
Result<std::pair<std::string_view, std::string_view>> ReadMerge(const JsonView& merge) {
  if (merge.IsString()) {
    LATTICE_TRY(const std::string_view text, merge.String());
    const std::size_t space = text.find(' ', 1);
    if (space == text.npos) return merge.Complain("expected two tokens with a space between");
    return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  LATTICE_TRY(const std::vector<JsonView> parts, merge.Array());
  if (parts.size() != 2) return merge.Complain("expected two tokens");
  LATTICE_TRY(const std::string_view left, parts[0].String());
  LATTICE_TRY(const std::string_view right, parts[1].String());
  return std::pair(left, right);
}

Status WriteMerges(const std::vector<JsonView>& merges, weights::GgufPairs& pairs) {
  std::vector<std::string> lines;
  lines.reserve(merges.size());
  for (const JsonView& merge : merges) {
    LATTICE_TRY(const auto parts, ReadMerge(merge));
    lines.push_back(std::string(parts.first) + " " + std::string(parts.second));
  }
  pairs.SetStrings(Key("merges"), lines);
  return Ok();
}

/// Who merges by scores does what who merges by ranks does when the scores fall with the ranks.
Status WriteScores(const std::vector<JsonView>& merges, const std::vector<Token>& tokens,
                   weights::GgufPairs& pairs) {
  std::unordered_map<std::string, std::size_t> ranks;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    LATTICE_TRY(const auto parts, ReadMerge(merges[rank]));
    ranks.try_emplace(std::string(parts.first) + std::string(parts.second), rank);
  }
  std::vector<float> scores;
  scores.reserve(tokens.size());
  for (const Token& token : tokens) {
    const auto rank = ranks.find(token.text);
    scores.push_back(rank == ranks.end() ? 0.0f : -static_cast<float>(rank->second));
  }
  pairs.SetFloats(Key("scores"), scores);
  return Ok();
}

bool IsByteToken(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with(">");
}

/// Such files spell runs of spaces that are looked for as they stand in texts.
std::string WithPlainSpaces(std::string text) {
  for (std::size_t at = 0; (at = text.find(kSpace, at)) != text.npos; ++at) {
    text.replace(at, kSpace.size(), " ");
  }
  return text;
}

Status WriteScored(const TokenizerSource& source, const JsonView& model,
                   const std::vector<JsonView>& merges, std::vector<Token>& tokens,
                   weights::GgufPairs& pairs) {
  LATTICE_TRY(const std::string unknown, model.StringOr("unk_token", ""));
  LATTICE_TRY_VOID(WriteScores(merges, tokens, pairs));
  for (Token& token : tokens) {
    if (token.type == Type::kNormal && IsByteToken(token.text)) token.type = Type::kByte;
    if (!unknown.empty() && token.text == unknown) token.type = Type::kUnknown;
    if (token.type == Type::kUserDefined) token.text = WithPlainSpaces(std::move(token.text));
  }
  pairs.SetString(Key("model"), "llama");
  LATTICE_TRY(const auto letter, source.tokenizer->Encode("a", {.add_special_tokens = false}));
  const bool prefixed = !letter.ids.empty() &&
                        source.tokenizer->TokenText(letter.ids[0]).value_or("").starts_with(kSpace);
  pairs.SetBool(Key("add_space_prefix"), prefixed);
  return Ok();
}

Status WriteByteLevel(const JsonView& json, const std::vector<JsonView>& merges,
                      weights::GgufPairs& pairs) {
  LATTICE_TRY(const JsonView cutting, json.Get("pre_tokenizer"));
  const auto pre = tokenizers::NameOfPre(cutting);
  if (!pre) {
    return Error{ErrorCode::kUnsupported,
                 cutting.where() + ": words are cut in a way that has no name in GGUF files"};
  }
  pairs.SetString(Key("model"), "gpt2");
  pairs.SetString(Key("pre"), *pre);
  return WriteMerges(merges, pairs);
}

void WriteTokens(const std::vector<Token>& tokens, weights::GgufPairs& pairs) {
  std::vector<std::string> texts;
  std::vector<std::int32_t> types;
  for (const Token& token : tokens) {
    texts.push_back(token.text);
    types.push_back(token.type);
  }
  pairs.SetStrings(Key("tokens"), texts);
  pairs.SetInt32s(Key("token_type"), types);
}

class SpecialIds {
 public:
  SpecialIds(const TokenizerSource& source, weights::GgufPairs& pairs)
      : source_(source), pairs_(pairs) {}

  std::optional<TokenId> Find(std::string_view name) const {
    for (const auto& [key, text] : source_.special_tokens) {
      if (key != name) continue;
      const auto id = source_.tokenizer->Find(text);
      if (id && static_cast<std::size_t>(*id) < source_.vocab) return id;
    }
    return std::nullopt;
  }
  void Set(std::string_view key, std::optional<TokenId> id) {
    if (id) pairs_.SetUint32(Key(key), static_cast<std::uint32_t>(*id));
  }

 private:
  const TokenizerSource& source_;
  weights::GgufPairs& pairs_;
};

Status WriteSpecialIds(const TokenizerSource& source, weights::GgufPairs& pairs) {
  SpecialIds ids(source, pairs);
  const auto bos = ids.Find("bos_token");
  auto eos = ids.Find("eos_token");
  if (!eos && !source.stop_ids.empty()) eos = source.stop_ids[0];
  ids.Set("bos_token_id", bos);
  ids.Set("eos_token_id", eos);
  ids.Set("unknown_token_id", ids.Find("unk_token"));
  ids.Set("padding_token_id", ids.Find("pad_token"));
  constexpr std::array kFurther = {"eot_token_id", "eom_token_id"};
  std::size_t n_further = 0;
  for (const TokenId id : source.stop_ids) {
    const bool has_row = static_cast<std::size_t>(id) < source.vocab;
    if (has_row && id != eos && n_further < kFurther.size()) ids.Set(kFurther[n_further++], id);
  }
  LATTICE_TRY(const auto text, source.tokenizer->Encode("a", {}));
  pairs.SetBool(Key("add_bos_token"), bos && !text.ids.empty() && text.ids.front() == *bos);
  pairs.SetBool(Key("add_eos_token"), eos && !text.ids.empty() && text.ids.back() == *eos);
  return Ok();
}

}  // namespace

Status WriteGgufTokenizer(const TokenizerSource& source, weights::GgufPairs& pairs) {
  LATTICE_TRY(const boost::json::value value, ParseJson(source.json));
  const JsonView json(value, "tokenizer.json");
  LATTICE_TRY(const JsonView model, json.Get("model"));
  LATTICE_TRY(const std::string type, model.StringOr("type", "BPE"));
  if (type != "BPE") {
    return Error{ErrorCode::kUnsupported,
                 model.where() + ": a tokenizer of type " + type + " cannot be written; BPE can"};
  }
  LATTICE_TRY(const JsonView merge_list, model.Get("merges"));
  LATTICE_TRY(const std::vector<JsonView> merges, merge_list.Array());
  std::vector<Token> tokens = ReadTokens(source);
  LATTICE_TRY_VOID(MarkAdded(json, tokens));
  LATTICE_TRY(const bool by_bytes, model.BoolOr("byte_fallback", false));
  LATTICE_TRY_VOID(by_bytes ? WriteScored(source, model, merges, tokens, pairs)
                            : WriteByteLevel(json, merges, pairs));
  WriteTokens(tokens, pairs);
  return WriteSpecialIds(source, pairs);
}

}  // namespace lattice::decoding
