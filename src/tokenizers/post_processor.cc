#include "tokenizers/post_processor.h"

#include <algorithm>
#include <string>

#include "tokenizers/component.h"

namespace lattice::tokenizers {
namespace {

using Part = PostProcessor::Part;

Result<std::vector<Part>> ReadParts(const JsonView& list, const JsonView& special_tokens, bool pair,
                                    std::size_t vocab_size) {
  std::vector<Part> parts;
  LATTICE_TRY(const std::vector<JsonView> items, list.Array());
  for (const JsonView& item : items) {
    const auto sequence = item.Find("Sequence");
    const auto special = item.Find("SpecialToken");
    if (!sequence && !special) {
      return item.Complain("expected {\"Sequence\": ...} or {\"SpecialToken\": ...}");
    }
    const JsonView& body = sequence ? *sequence : *special;
    LATTICE_TRY(const JsonView id_view, body.Get("id"));
    LATTICE_TRY(const std::string_view id, id_view.String());
    LATTICE_TRY(const std::int64_t type_id, body.IntOr("type_id", 0, 0, 255));
    Part part;
    part.type_id = static_cast<std::uint8_t>(type_id);
    if (sequence) {
      if (id != "A" && (id != "B" || !pair)) {
        return id_view.Complain(pair ? "expected \"A\" or \"B\"" : "expected \"A\"");
      }
      part.kind = id == "A" ? Part::Kind::kFirst : Part::Kind::kSecond;
      parts.push_back(part);
      continue;
    }
    LATTICE_TRY(const JsonView token, special_tokens.Get(id));
    LATTICE_TRY(const JsonView ids_view, token.Get("ids"));
    LATTICE_TRY(const std::vector<JsonView> ids, ids_view.Array());
    for (const JsonView& one : ids) {
      LATTICE_TRY(const std::int64_t number, one.Int(0, static_cast<std::int64_t>(vocab_size) - 1));
      part.id = static_cast<TokenId>(number);
      parts.push_back(part);
    }
  }
  return parts;
}

// ["[SEP]", 102]
Result<TokenId> ReadTokenPair(const JsonView& spec, std::string_view key, std::size_t vocab_size) {
  LATTICE_TRY(const JsonView pair, spec.Get(key));
  LATTICE_TRY(const std::vector<JsonView> items, pair.Array());
  if (items.size() != 2) return pair.Complain("expected a token and its id");
  LATTICE_TRY(const std::int64_t id, items[1].Int(0, static_cast<std::int64_t>(vocab_size) - 1));
  return static_cast<TokenId>(id);
}

Error Missing(const JsonView& spec, std::string_view what) {
  return Error{ErrorCode::kCorruptData, spec.where() + ": " + std::string(what) + " is missing"};
}

// Once and no more: the longest result is the texts' tokens and the added ones.
Status CheckOnce(const JsonView& spec, const std::vector<Part>& parts, Part::Kind kind) {
  const auto n = std::count_if(parts.begin(), parts.end(),
                               [&](const Part& part) { return part.kind == kind; });
  if (n == 1) return Ok();
  const std::string name = kind == Part::Kind::kFirst ? "sequence A" : "sequence B";
  if (n == 0) return Missing(spec, name);
  return Error{ErrorCode::kUnsupported,
               spec.where() + ": " + name + " stands " + std::to_string(n) + " times; known: once"};
}

}  // namespace

PostProcessor::PostProcessor()
    : single_({{Part::Kind::kFirst, 0, 0}}),
      pair_({{Part::Kind::kFirst, 0, 0}, {Part::Kind::kSecond, 1, 0}}) {}

Result<PostProcessor> PostProcessor::FromJson(const JsonView& spec, std::size_t vocab_size) {
  PostProcessor processor;
  LATTICE_TRY_VOID(processor.Read(spec, vocab_size));
  return processor;
}

PostProcessor PostProcessor::Around(std::optional<TokenId> before, std::optional<TokenId> after) {
  PostProcessor processor;
  if (before) {
    const Part part{Part::Kind::kToken, 0, *before};
    processor.single_.insert(processor.single_.begin(), part);
    processor.pair_.insert(processor.pair_.begin(), part);
  }
  if (after) {
    const auto second = processor.pair_.end() - 1;
    processor.pair_.insert(second, {Part::Kind::kToken, 0, *after});
    processor.pair_.push_back({Part::Kind::kToken, 1, *after});
    processor.single_.push_back({Part::Kind::kToken, 0, *after});
  }
  return processor;
}

std::size_t PostProcessor::n_added(bool pair) const {
  std::size_t n = 0;
  for (const Part& part : parts(pair)) n += part.kind == Part::Kind::kToken ? 1 : 0;
  return n;
}

Status PostProcessor::Read(const JsonView& spec, std::size_t vocab_size) {
  LATTICE_TRY(const std::string_view type,
              ComponentType(spec, "post-processor",
                            {"BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence",
                             "TemplateProcessing"}));
  if (type == "Sequence") {
    LATTICE_TRY(const JsonView list, spec.Get("processors"));
    LATTICE_TRY(const std::vector<JsonView> items, list.Array());
    for (const JsonView& item : items) LATTICE_TRY_VOID(Read(item, vocab_size));
    return Ok();
  }
  if (type == "TemplateProcessing") return ReadTemplate(spec, vocab_size);
  if (type == "ByteLevel") {
    LATTICE_TRY(const bool trims, spec.BoolOr("trim_offsets", true));
    LATTICE_TRY(const bool prefix, spec.BoolOr("add_prefix_space", true));
    if (trims) trims_.push_back(prefix);
    return Ok();
  }
  return ReadFixed(spec, type == "RobertaProcessing", vocab_size);
}

Status PostProcessor::ClaimTemplate(const JsonView& spec) {
  if (has_template_) {
    return Error{ErrorCode::kUnsupported,
                 spec.where() + ": a second post-processor that adds tokens"};
  }
  has_template_ = true;
  return Ok();
}

Status PostProcessor::ReadTemplate(const JsonView& spec, std::size_t vocab_size) {
  LATTICE_TRY_VOID(ClaimTemplate(spec));
  LATTICE_TRY(const JsonView single, spec.Get("single"));
  LATTICE_TRY(const JsonView pair, spec.Get("pair"));
  LATTICE_TRY(const JsonView special_tokens, spec.Get("special_tokens"));
  LATTICE_TRY(single_, ReadParts(single, special_tokens, /*pair=*/false, vocab_size));
  LATTICE_TRY(pair_, ReadParts(pair, special_tokens, /*pair=*/true, vocab_size));
  LATTICE_TRY_VOID(CheckOnce(single, single_, Part::Kind::kFirst));
  LATTICE_TRY_VOID(CheckOnce(pair, pair_, Part::Kind::kFirst));
  return CheckOnce(pair, pair_, Part::Kind::kSecond);
}

Status PostProcessor::ReadFixed(const JsonView& spec, bool roberta, std::size_t vocab_size) {
  LATTICE_TRY_VOID(ClaimTemplate(spec));
  LATTICE_TRY(const TokenId cls, ReadTokenPair(spec, "cls", vocab_size));
  LATTICE_TRY(const TokenId sep, ReadTokenPair(spec, "sep", vocab_size));
  const auto token = [](TokenId id, std::uint8_t type) {
    return Part{Part::Kind::kToken, type, id};
  };
  const std::uint8_t second_type = roberta ? 0 : 1;
  single_ = {token(cls, 0), {Part::Kind::kFirst, 0, 0}, token(sep, 0)};
  pair_ = single_;
  if (roberta) pair_.push_back(token(sep, 0));
  pair_.push_back({Part::Kind::kSecond, second_type, 0});
  pair_.push_back(token(sep, second_type));
  if (roberta) {
    LATTICE_TRY(const bool trims, spec.BoolOr("trim_offsets", true));
    LATTICE_TRY(const bool prefix, spec.BoolOr("add_prefix_space", true));
    if (trims) trims_.push_back(prefix);
  }
  return Ok();
}

}  // namespace lattice::tokenizers
