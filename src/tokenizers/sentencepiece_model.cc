#include "tokenizers/sentencepiece_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "tokenizers/byte_token.h"
#include "tokenizers/proto_reader.h"

namespace lattice::tokenizers {
namespace {

using Type = SentencePieceModel::Type;
using Normalization = SentencePieceModel::Normalization;

Error Corrupt(std::string message) { return {ErrorCode::kCorruptData, std::move(message)}; }

bool ComesFromText(Type type) {
  return type == Type::kNormal || type == Type::kUserDefined || type == Type::kUnused;
}

/// Collects a file's messages, in whatever order they come, and checks them as a whole at the end.
class Reader {
 public:
  Status Read(std::string_view file) {
    ProtoReader reader(file, "SentencePiece model");
    while (!reader.at_end()) {
      LATTICE_TRY(const ProtoReader::Field field, reader.Next());
      switch (field.number) {
        case 1: {
          const std::string where = "piece " + std::to_string(model_.n_pieces());
          if (auto read = ReadPiece(field, where); !read) {
            return std::move(read).error().Within(where);
          }
          break;
        }
        case 2:
          if (auto read = ReadTrainer(field); !read) {
            return std::move(read).error().Within("trainer_spec");
          }
          break;
        case 3:
          if (auto read = ReadNormalizer(field, model_.normalization); !read) {
            return std::move(read).error().Within("normalizer_spec");
          }
          break;
        case 5:
          if (auto read = ReadNormalizer(field, model_.denormalization); !read) {
            return std::move(read).error().Within("denormalizer_spec");
          }
          break;
        default:  // Self tests and extensions.
          break;
      }
    }
    return Check();
  }

  SentencePieceModel Take() { return std::move(model_); }

 private:
  Status ReadPiece(const ProtoReader::Field& message, std::string_view where) {
    LATTICE_TRY(const std::string_view bytes, message.Bytes());
    std::string_view text;
    float score = 0;
    std::uint64_t type = 1;
    ProtoReader reader(bytes, where);
    while (!reader.at_end()) {
      LATTICE_TRY(const ProtoReader::Field field, reader.Next());
      if (field.number == 1) {
        LATTICE_TRY(text, field.Bytes());
      } else if (field.number == 2) {
        LATTICE_TRY(score, field.Float());
      } else if (field.number == 3) {
        LATTICE_TRY(type, field.Varint());
      }
    }
    if (text.empty()) return Corrupt("empty piece");
    if (!IsValidUtf8(text)) return Corrupt("not UTF-8");
    if (!std::isfinite(score)) return Corrupt("score is not finite");
    if (type < 1 || type > 6) return Corrupt("unknown type " + std::to_string(type));
    return AddPiece(text, score, static_cast<Type>(type));
  }

  Status AddPiece(std::string_view text, float score, Type type) {
    if (model_.n_pieces() > static_cast<std::size_t>(Vocabulary::kMaxId)) {
      return Corrupt("too many pieces");
    }
    const auto id = static_cast<TokenId>(model_.n_pieces());
    Vocabulary& vocabulary = ComesFromText(type) ? model_.from_text : model_.reserved;
    if (vocabulary.Find(text)) return Corrupt("'" + std::string(text) + "' is defined twice");
    LATTICE_TRY_VOID(vocabulary.Add(text, id));
    model_.types.push_back(type);
    model_.scores.push_back(score);
    if (type == Type::kUnknown) {
      if (model_.unk >= 0) return Corrupt("a second unknown piece");
      model_.unk = id;
    }
    return Ok();
  }

  Status ReadTrainer(const ProtoReader::Field& message) {
    LATTICE_TRY(const std::string_view bytes, message.Bytes());
    ProtoReader reader(bytes, "trainer_spec");
    while (!reader.at_end()) {
      LATTICE_TRY(const ProtoReader::Field field, reader.Next());
      if (field.number == 3) {
        LATTICE_TRY(model_type_, field.Varint());
      } else if (field.number == 24) {
        LATTICE_TRY(model_.whitespace_is_suffix, field.Bool());
      } else if (field.number == 35) {
        LATTICE_TRY(model_.byte_fallback, field.Bool());
      } else if (field.number == 44) {
        LATTICE_TRY(const std::string_view surface, field.Bytes());
        model_.unk_surface = ToValidUtf8(surface);
      }
    }
    return Ok();
  }

  static Status ReadNormalizer(const ProtoReader::Field& message, Normalization& spec) {
    LATTICE_TRY(const std::string_view bytes, message.Bytes());
    ProtoReader reader(bytes, "normalizer_spec");
    while (!reader.at_end()) {
      LATTICE_TRY(const ProtoReader::Field field, reader.Next());
      if (field.number == 2) {
        LATTICE_TRY(const std::string_view blob, field.Bytes());
        spec.has_char_map = !blob.empty();
        if (blob.empty()) continue;
        LATTICE_TRY(spec.char_map, CharMapBlob::Parse(blob));
      } else if (field.number == 3) {
        LATTICE_TRY(spec.add_dummy_prefix, field.Bool());
      } else if (field.number == 4) {
        LATTICE_TRY(spec.remove_extra_whitespaces, field.Bool());
      } else if (field.number == 5) {
        LATTICE_TRY(spec.escape_whitespaces, field.Bool());
      }
    }
    return Ok();
  }

  Status Check() {
    if (model_type_ != 1 && model_type_ != 2) {
      const std::string_view name = model_type_ == 3   ? " (word)"
                                    : model_type_ == 4 ? " (char)"
                                                       : "";
      return Error{ErrorCode::kUnsupported, "trainer_spec.model_type " +
                                                std::to_string(model_type_) + std::string(name) +
                                                "; known: 1 (unigram), 2 (bpe)"};
    }
    model_.algorithm = static_cast<SentencePieceModel::Algorithm>(model_type_);
    if (model_.n_pieces() == 0) return Corrupt("no pieces");
    if (model_.unk < 0) return Corrupt("no unknown piece");
    if (model_.from_text.n_tokens() == 0) return Corrupt("no piece that stands for text");
    return CheckBytes();
  }

  Status CheckBytes() {
    std::size_t n_found = 0;
    for (std::size_t byte = 0; byte < model_.bytes.size(); ++byte) {
      const auto id = model_.reserved.Find(ByteTokenName(static_cast<std::uint8_t>(byte)));
      const bool found = id && model_.TypeOf(*id) == Type::kByte;
      model_.bytes[byte] = found ? *id : -1;
      n_found += found ? 1 : 0;
    }
    const auto n_bytes = static_cast<std::size_t>(std::ranges::count(model_.types, Type::kByte));
    if (n_found != n_bytes) return Corrupt("a byte piece is not spelled <0x00> to <0xFF>");
    if (!model_.byte_fallback && n_bytes > 0) return Corrupt("byte pieces without byte_fallback");
    if (model_.byte_fallback && n_bytes != 256) {
      return Corrupt("byte_fallback with " + std::to_string(n_bytes) + " of 256 byte pieces");
    }
    return Ok();
  }

  SentencePieceModel model_;
  std::uint64_t model_type_ = 1;
};

}  // namespace

Result<SentencePieceModel> SentencePieceModel::Parse(std::string_view file) {
  Reader reader;
  LATTICE_TRY_VOID(reader.Read(file));
  return reader.Take();
}

std::string_view SentencePieceModel::TextOf(TokenId id) const {
  const auto text = from_text.Text(id);
  return text ? *text : reserved.Text(id).value_or("");
}

std::optional<TokenId> SentencePieceModel::Find(std::string_view piece) const {
  if (const auto id = reserved.Find(piece)) return id;
  return from_text.Find(piece);
}

}  // namespace lattice::tokenizers
