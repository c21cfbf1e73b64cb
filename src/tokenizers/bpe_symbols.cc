#include "tokenizers/bpe_symbols.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/byte_token.h"

namespace lattice::tokenizers {
BpeSymbols::BpeSymbols(const Vocabulary& vocabulary, BpeSpelling spelling)
    : spelling_(std::move(spelling)), pages_(std::size_t{1} << kPageBits, -1) {
  if (!spelling_.unk_token.empty()) unk_ = vocabulary.Find(spelling_.unk_token);
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<std::uint8_t>(byte);
    byte_tokens_[byte] = vocabulary.Find(ByteTokenName(b)).value_or(-1);
    std::string spelled;
    AppendUtf8(ByteAlphabet::ScalarOf(b), spelled);
    raw_bytes_[byte] = vocabulary.Find(spelled).value_or(-1);
  }
  stands_for_unknown_.resize(vocabulary.size());
  const auto mark = [this](TokenId id) {
    if (id >= 0) stands_for_unknown_[static_cast<std::size_t>(id)] = true;
  };
  mark(unk_.value_or(-1));
  if (spelling_.byte_fallback) std::ranges::for_each(byte_tokens_, mark);
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const auto text = vocabulary.Text(id);
    if (!text || text->empty()) continue;
    const Utf8Step step = DecodeUtf8(*text);
    if (!step.valid || step.n_bytes != text->size() || vocabulary.Find(*text) != id) continue;
    auto& page = page_of_[step.scalar >> kPageBits];
    if (page == 0) {
      page = static_cast<std::uint16_t>(pages_.size() >> kPageBits);
      pages_.resize(pages_.size() + (std::size_t{1} << kPageBits), -1);
    }
    pages_[std::size_t{page} << kPageBits | (step.scalar & ((1u << kPageBits) - 1))] = id;
  }
}

std::string BpeSymbols::AffixedSpelling(std::string_view character, bool is_first,
                                        bool is_last) const {
  std::string spelled;
  if (!is_first) spelled += spelling_.prefix;
  if (spelling_.input == BpeInput::kRawBytes) {
    AppendUtf8(ByteAlphabet::ScalarOf(static_cast<std::uint8_t>(character[0])), spelled);
  } else {
    spelled += character;
  }
  if (is_last) spelled += spelling_.suffix;
  return spelled;
}

Status BpeSymbols::Split(const Vocabulary& vocabulary, std::string_view text, Span word,
                         std::vector<Piece>& symbols) const {
  symbols.clear();
  const bool is_raw = spelling_.input == BpeInput::kRawBytes;
  const bool has_affixes = !spelling_.prefix.empty() || !spelling_.suffix.empty();
  bool after_unk = false;  // The last symbol is an unknown one.
  std::uint32_t end = word.begin;
  for (std::uint32_t begin = word.begin; begin < word.end; begin = end) {
    const auto lead = static_cast<std::uint8_t>(text[begin]);
    TokenId id = -1;
    if (is_raw) {
      end = begin + 1;
      id = raw_bytes_[lead];
    } else if (lead < 0x80) {
      end = begin + 1;
      id = IdOf(lead);
    } else {
      const Utf8Step step = DecodeUtf8(text.substr(begin, word.end - begin));
      end = begin + step.n_bytes;
      id = IdOf(step.scalar);
    }
    const std::string_view character = text.substr(begin, end - begin);
    const auto spell = [&] {
      return AffixedSpelling(character, begin == word.begin, end == word.end);
    };
    if (has_affixes) id = vocabulary.Find(spell()).value_or(-1);
    if (id >= 0) {
      symbols.push_back({id, begin, end});
      after_unk = false;
      continue;
    }
    if (spelling_.byte_fallback) {
      const std::string spelled = spell();
      const auto token_of = [&](char byte) {
        return byte_tokens_[static_cast<std::uint8_t>(byte)];
      };
      if (std::ranges::all_of(spelled, [&](char byte) { return token_of(byte) >= 0; })) {
        for (std::uint32_t i = 0; i < spelled.size(); ++i) {
          // Each byte token covers its own byte, unless prefix, suffix or alphabet made more of
          // them.
          const bool same = spelled.size() == character.size();
          symbols.push_back(
              {token_of(spelled[i]), same ? begin + i : begin, same ? begin + i + 1 : end});
        }
        after_unk = false;
        continue;
      }
    }
    if (spelling_.unk_token.empty()) continue;
    if (!unk_) {
      return Error{ErrorCode::kInvalidArgument, "unk_token '" + spelling_.unk_token +
                                                    "' is not in the vocabulary, and '" +
                                                    std::string(character) + "' needs it"};
    }
    if (after_unk && spelling_.fuse_unk) {
      symbols.back().end = end;
    } else {
      symbols.push_back({*unk_, begin, end});
    }
    after_unk = true;
  }
  return Ok();
}

}  // namespace lattice::tokenizers
