#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "lattice/result.h"
#include "models/decoder_config.h"

namespace lattice::models {

// Fields that several decoder families spell alike.

/// The object that describes the text model, and whether it stands inside another.
struct TextConfig {
  JsonView json;
  bool nested = false;
};
Result<TextConfig> FindTextConfig(const JsonView& config);

/// Whole groups of query heads and heads of an even size.
Status CheckHeads(const JsonView& config, const HeadShape& heads);

/// A key that must be there, as a number above 0 or as null: 0.
Result<float> ReadSoftCap(const JsonView& config, std::string_view key);

/// `width` keys, the query's own included, as kernels::PagedAttentionArgs counts them.
Result<std::uint32_t> CausalWindow(const JsonView& config, std::size_t width);

/// Lowers info.max_tokens to what the tables allow.
void LimitPositions(DecoderConfig& decoder);

/// Class names that begin with `stem`: the bare model, the generator, the classifier.
struct DecoderClass {
  bool generates = false;
  bool classifies = false;
};
Result<DecoderClass> ReadDecoderClass(const JsonView& config, std::string_view stem);

/// One pair a file.
Result<DecoderConfig> ReadPlainDecoder(const JsonView& outer, const TextConfig& text,
                                       std::string_view type);
Result<DecoderConfig> ReadGemma2(const JsonView& config);
Result<DecoderConfig> ReadGemma3(const JsonView& outer, const TextConfig& text);

}  // namespace lattice::models
