#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "lattice/check.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {

/// An empty plain range changes nothing; one in the middle keeps the result sound.
inline void CheckPlainRange(const Tokenizer& tokenizer, std::string_view text,
                            const std::vector<TokenId>& ids) {
  const ByteRange none{text.size() / 2, text.size() / 2};
  const auto same =
      tokenizer.Encode(text, {.add_special_tokens = false, .plain_ranges = {&none, 1}});
  LATTICE_CHECK(!same.has_value() || same->ids == ids);
  const ByteRange part{text.size() / 3, text.size() - text.size() / 3};
  const auto plain = tokenizer.Encode(text, {.with_offsets = true, .plain_ranges = {&part, 1}});
  LATTICE_CHECK(!plain.has_value() || plain->offsets.size() == plain->ids.size());
}

/// What holds for every tokenizer and every text, well formed or not. Encoding may fail (a text
/// that the vocabulary cannot spell, a pattern that gives up), but what it returns must be sound.
inline void CheckTokenizer(const Tokenizer& tokenizer, std::string_view text) {
  const auto encoding = tokenizer.Encode(text, {.add_special_tokens = false, .with_offsets = true});
  if (!encoding) return;
  std::size_t n_chars = 0;
  for (std::string_view rest = text; !rest.empty(); ++n_chars) {
    rest.remove_prefix(DecodeUtf8(rest).n_bytes);
  }
  LATTICE_CHECK(encoding->offsets.size() == encoding->ids.size());
  LATTICE_CHECK(encoding->type_ids.size() == encoding->ids.size());
  LATTICE_CHECK(encoding->n_tokens_untruncated == encoding->ids.size());
  for (const Offset offset : encoding->offsets) {
    LATTICE_CHECK(offset.begin <= offset.end && offset.end <= n_chars);
  }
  for (const TokenId id : encoding->ids) {
    LATTICE_CHECK(id >= 0 && static_cast<std::size_t>(id) < tokenizer.vocab_size());
  }
  // Offsets do not change ids, and neither does what was encoded before.
  const auto again = tokenizer.Encode(text, {.add_special_tokens = false});
  LATTICE_CHECK(again.has_value() && again->ids == encoding->ids && again->offsets.empty());

  const std::size_t max_tokens = std::max<std::size_t>(1, encoding->ids.size() / 2);
  const auto cut = tokenizer.Encode(text, {.add_special_tokens = false, .max_tokens = max_tokens});
  LATTICE_CHECK(cut.has_value() && cut->ids.size() <= max_tokens);
  LATTICE_CHECK(std::equal(cut->ids.begin(), cut->ids.end(), encoding->ids.begin()));
  LATTICE_CHECK(cut->n_tokens_untruncated == encoding->ids.size());
  const auto pair = tokenizer.EncodePair(text, "b", {.with_offsets = true, .max_tokens = 16});
  LATTICE_CHECK(!pair.has_value() || pair->ids.size() <= 16);
  (void)tokenizer.Encode(text, {.special_as_text = true}).has_value();
  CheckPlainRange(tokenizer, text, encoding->ids);

  for (const bool skip : {false, true}) {
    const auto decoded = tokenizer.Decode(encoding->ids, skip);
    LATTICE_CHECK(!decoded.has_value() || IsValidUtf8(*decoded));
  }
}

}  // namespace lattice::tokenizers
