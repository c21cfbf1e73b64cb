#include "tokenizers/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/unicode.h"

namespace lattice::tokenizers {
namespace {

constexpr std::size_t kMaxTokenBytes = 1024;
// How far beyond the model's vocabulary and its own number an added token's id may lie.
constexpr std::size_t kMaxIdGap = 65536;

// The last code point of a valid text that is not empty.
Utf8Step LastOf(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return DecodeUtf8(text.substr(begin));
}

bool TouchesWord(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0 && IsWordChar(LastOf(text.substr(0, begin)).scalar)) return true;
  return end < text.size() && IsWordChar(DecodeUtf8(text.substr(end)).scalar);
}

std::size_t SkipSpacesLeft(std::string_view text, std::size_t at, std::size_t stop) {
  while (at > stop) {
    const Utf8Step last = LastOf(text.substr(0, at));
    if (!IsSpace(last.scalar)) break;
    at -= last.n_bytes;
  }
  return std::max(at, stop);
}

std::size_t SkipSpacesRight(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const Utf8Step next = DecodeUtf8(text.substr(at));
    if (!IsSpace(next.scalar)) break;
    at += next.n_bytes;
  }
  return at;
}

Error TooLong(const std::string& where, std::size_t n_bytes) {
  return {ErrorCode::kCorruptData, where + ": " + std::to_string(n_bytes) + " bytes; the most is " +
                                       std::to_string(kMaxTokenBytes)};
}

Result<AddedToken> ReadToken(const JsonView& spec, std::size_t end_id) {
  AddedToken token;
  LATTICE_TRY(const JsonView id, spec.Get("id"));
  LATTICE_TRY(const std::int64_t number, id.Int(0, static_cast<std::int64_t>(end_id) - 1));
  token.id = static_cast<TokenId>(number);
  LATTICE_TRY(const JsonView content, spec.Get("content"));
  LATTICE_TRY(const std::string_view text, content.String());
  if (text.size() > kMaxTokenBytes) return TooLong(content.where(), text.size());
  token.content = text;
  LATTICE_TRY(token.special, spec.BoolOr("special", false));
  LATTICE_TRY(token.normalized, spec.BoolOr("normalized", !token.special));
  LATTICE_TRY(token.single_word, spec.BoolOr("single_word", false));
  LATTICE_TRY(token.lstrip, spec.BoolOr("lstrip", false));
  LATTICE_TRY(token.rstrip, spec.BoolOr("rstrip", false));
  return token;
}

}  // namespace

bool Touches(std::span<const Span> ranges, Span span) {
  const auto first = std::ranges::partition_point(
      ranges, [&](const Span& range) { return range.end <= span.begin; });
  return first != ranges.end() && first->begin < span.end;
}

void StringSet::Add(std::string_view text, std::uint32_t value) {
  if (!text.empty()) strings_.emplace_back(text, value);
}

void StringSet::Build() {
  if (strings_.empty()) return;
  std::stable_sort(strings_.begin(), strings_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  starts_.assign(256, false);
  for (const auto& entry : strings_) starts_[static_cast<unsigned char>(entry.first[0])] = true;
  // Breadth first; each node knows the range of sorted strings that share its path.
  struct Work {
    std::size_t node, first, last, depth;
  };
  nodes_.emplace_back();
  std::vector<Work> queue = {{0, 0, strings_.size(), 0}};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    auto [node, first, last, depth] = queue[i];
    for (; first < last && strings_[first].first.size() == depth; ++first) {
      nodes_[node].value = strings_[first].second;
    }
    nodes_[node].first_child = static_cast<std::uint32_t>(nodes_.size());
    while (first < last) {
      const char byte = strings_[first].first[depth];
      std::size_t end = first;
      while (end < last && strings_[end].first[depth] == byte) ++end;
      queue.push_back({nodes_.size(), first, end, depth + 1});
      nodes_.emplace_back().byte = static_cast<unsigned char>(byte);
      ++nodes_[node].n_children;
      first = end;
    }
  }
  strings_ = {};
}

const StringSet::Node* StringSet::Child(const Node& node, unsigned char byte) const {
  const Node* first = nodes_.data() + node.first_child;
  const Node* last = first + node.n_children;
  const Node* at = std::lower_bound(
      first, last, byte, [](const Node& child, unsigned char b) { return child.byte < b; });
  return at != last && at->byte == byte ? at : nullptr;
}

std::optional<StringSet::Match> StringSet::Find(std::string_view text, std::size_t from,
                                                FunctionRef<bool(const Match&)> accepts) const {
  if (nodes_.empty()) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
    std::optional<Match> longest;
    const Node* node = nodes_.data();
    for (std::size_t at = begin; at < text.size(); ++at) {
      node = Child(*node, static_cast<unsigned char>(text[at]));
      if (node == nullptr) break;
      if (node->value == kNone) continue;
      const Match match{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at + 1),
                        node->value};
      if (accepts(match)) longest = match;
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

Result<AddedTokens> AddedTokens::FromJson(const JsonView& list, const TokenModel& model,
                                          const Normalizer* normalizer) {
  AddedTokens added;
  LATTICE_TRY(const std::vector<JsonView> items, list.Array());
  const std::size_t end_id = std::min<std::size_t>(model.vocab_size() + items.size() + kMaxIdGap,
                                                   static_cast<std::size_t>(INT32_MAX));
  for (const JsonView& item : items) {
    LATTICE_TRY(AddedToken token, ReadToken(item, end_id));
    if (token.content.empty()) continue;  // It would match everywhere.
    LATTICE_TRY_VOID(added.Add(std::move(token), item.where(), normalizer));
  }
  added.Build();
  return added;
}

Result<AddedTokens> AddedTokens::FromList(std::vector<AddedToken> tokens) {
  AddedTokens added;
  for (AddedToken& token : tokens) {
    const std::string where = "token " + std::to_string(token.id);
    if (token.content.size() > kMaxTokenBytes) return TooLong(where, token.content.size());
    token.normalized = false;
    if (added.Find(token.content) != nullptr) continue;
    LATTICE_TRY_VOID(added.Add(std::move(token), where, /*normalizer=*/nullptr));
  }
  added.Build();
  return added;
}

void AddedTokens::Build() {
  harmless_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    StringSet& set = tokens_[i].normalized ? in_normalized_ : in_raw_;
    set.Add(decoder_texts_[i], static_cast<std::uint32_t>(i));
    const std::string& content = tokens_[i].content;
    harmless_.push_back(!tokens_[i].special && SkipSpacesRight(content, 0) == content.size());
  }
  in_raw_.Build();
  in_normalized_.Build();
}

Status AddedTokens::Add(AddedToken token, std::string_view where, const Normalizer* normalizer) {
  const auto same_id = by_id_.find(token.id);
  const auto same_content = by_content_.find(token.content);
  if (same_id != by_id_.end() && tokens_[same_id->second].content != token.content) {
    return Error{ErrorCode::kCorruptData, std::string(where) + ": id " + std::to_string(token.id) +
                                              " belongs to '" + tokens_[same_id->second].content +
                                              "' already"};
  }
  if (same_content != by_content_.end() && tokens_[same_content->second].id != token.id) {
    return Error{ErrorCode::kCorruptData,
                 std::string(where) + ": '" + token.content + "' has the id " +
                     std::to_string(tokens_[same_content->second].id) + " already"};
  }
  std::string decoder_text = token.content;
  if (token.normalized && normalizer != nullptr) {
    AlignedText text;
    text.Assign(token.content, 0, /*track=*/false);
    LATTICE_TRY_VOID(normalizer->Apply(text));
    decoder_text = text.view();
  }
  end_id_ = std::max(end_id_, static_cast<std::size_t>(token.id) + 1);
  if (same_id != by_id_.end()) {  // Repeated: the later flags count.
    decoder_texts_[same_id->second] = std::move(decoder_text);
    tokens_[same_id->second] = std::move(token);
    return Ok();
  }
  by_id_.emplace(token.id, tokens_.size());
  by_content_.emplace(token.content, tokens_.size());
  decoder_texts_.push_back(std::move(decoder_text));
  tokens_.push_back(std::move(token));
  return Ok();
}

void AddedTokens::Cut(std::string_view text, bool normalized, bool special_as_text,
                      std::span<const Span> plain, std::vector<Section>& out) const {
  const StringSet& set = normalized ? in_normalized_ : in_raw_;
  std::size_t done = 0;
  std::size_t spaces_end = 0;  // of the last run that a token took with it: not walked again
  const auto put = [&](std::size_t begin, std::size_t end, const AddedToken* token) {
    if (begin < end) {
      out.push_back({{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)}, token});
    }
  };
  const auto accepts = [&](const StringSet::Match& match) {
    return plain.empty() || harmless_[match.value] || !Touches(plain, {match.begin, match.end});
  };
  for (auto match = set.Find(text, 0, accepts); match;
       match = set.Find(text, match->end, accepts)) {
    const AddedToken& token = tokens_[match->value];
    if (special_as_text && IsSpecial(token.content)) continue;
    if (token.single_word && TouchesWord(text, match->begin, match->end)) continue;
    std::size_t begin = match->begin, end = match->end;
    if (token.lstrip) begin = SkipSpacesLeft(text, begin, done);
    if (token.rstrip) end = spaces_end = SkipSpacesRight(text, std::max(end, spaces_end));
    put(done, begin, nullptr);
    put(begin, end, &token);
    done = end;
  }
  put(done, text.size(), nullptr);
}

const AddedToken* AddedTokens::Find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::Find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

std::string_view AddedTokens::DecoderText(const AddedToken& token) const {
  return decoder_texts_[static_cast<std::size_t>(&token - tokens_.data())];
}

bool AddedTokens::IsSpecial(std::string_view text) const {
  const AddedToken* token = Find(text);
  return token != nullptr && token->special;
}

}  // namespace lattice::tokenizers
