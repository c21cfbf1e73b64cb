#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "chat/reasoning.h"
#include "decoding/grammar_cache.h"
#include "decoding/grammar_mask.h"
#include "engine/generation.h"
#include "server/http/api_error.h"
#include "server/openai/field_reader.h"
#include "server/openai/served_model.h"

namespace lattice::server {

/// What a request wants its answers to be held to.
struct StructureField {
  decoding::GrammarText text;
  std::string param;  ///< The field that says so.
};

/// response_format, grammar, json_schema, guided_json, guided_regex, guided_choice, guided_grammar
/// and structured_outputs: at most one of them.
std::span<const std::string_view> StructureFieldNames();
std::optional<StructureField> ReadStructure(FieldReader& reader);

/// The same, compiled for a model; without an automaton: any text.
struct AnswerStructure {
  std::shared_ptr<grammar::Automaton> automaton;
  std::optional<decoding::ThinkingMarks> thinking;

  /// Holds an answer to it.
  void HoldTo(const ServedTextModel& model, engine::GenerationOptions& options) const;
};

/// For answers that begin as the prompt leaves them. 400 names the field: what cannot be compiled,
/// or a model whose thinking cannot be told from its answer.
///
/// markers   of the model's thinking; null: it does not think.
/// may_open  whether it may begin to think by itself.
ApiResult<AnswerStructure> PrepareStructure(const std::optional<StructureField>& field,
                                            const ServedTextModel& model,
                                            const chat::ReasoningMarkers* markers = nullptr,
                                            bool opens_reasoning = false, bool may_open = false);

}  // namespace lattice::server
