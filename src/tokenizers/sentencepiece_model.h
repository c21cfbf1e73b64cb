#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/char_map_blob.h"
#include "tokenizers/vocabulary.h"

namespace lattice::tokenizers {

/// What a SentencePiece file (a protocol buffer, ModelProto) says.
///
/// Source  SentencePiece, sentencepiece_model.proto and model_interface.cc.
struct SentencePieceModel {
  enum class Algorithm : std::uint8_t { kUnigram = 1, kBpe = 2 };
  enum class Type : std::uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
  };

  struct Normalization {
    CharMapBlob char_map;
    bool has_char_map = false;
    bool add_dummy_prefix = true;
    bool remove_extra_whitespaces = true;
    bool escape_whitespaces = true;
  };

  /// kCorruptData: the file breaks its format, or its own rules: no or two unknown pieces, empty or
  /// repeated pieces, byte pieces that are too few or not asked for, scores that are not finite.
  /// kUnsupported: a model of words or characters.
  static Result<SentencePieceModel> Parse(std::string_view file);

  std::size_t n_pieces() const { return types.size(); }
  Type TypeOf(TokenId id) const { return types[static_cast<std::size_t>(id)]; }
  float ScoreOf(TokenId id) const { return scores[static_cast<std::size_t>(id)]; }
  std::string_view TextOf(TokenId id) const;
  /// Pieces that never come from text hide those that do.
  std::optional<TokenId> Find(std::string_view piece) const;

  Algorithm algorithm = Algorithm::kUnigram;
  Vocabulary from_text;       ///< Normal, user-defined and unused pieces, by their ids.
  Vocabulary reserved;        ///< The others.
  std::vector<Type> types;    // by id
  std::vector<float> scores;  // by id
  TokenId unk = -1;
  std::array<TokenId, 256> bytes{};  ///< Meaningful under byte_fallback.
  bool byte_fallback = false;
  bool whitespace_is_suffix = false;
  std::string unk_surface = " \xE2\x81\x87 ";  ///< How decoding shows unknown text.
  Normalization normalization;
  Normalization denormalization;
};

}  // namespace lattice::tokenizers
