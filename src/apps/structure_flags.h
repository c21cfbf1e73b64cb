#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoding/grammar_cache.h"
#include "engine/generation.h"
#include "engine/text_model.h"
#include "grammar/automaton.h"
#include "lattice/result.h"

namespace lattice::apps {

/// What an answer is to be held to; at most one form.
struct StructureFlags {
  std::string schema;   ///< A file.
  std::string grammar;  ///< A file.
  std::string regex;
  std::uint32_t schema_space = 0;
};

/// Adds --schema, --schema-space, --grammar and --regex.
void DeclareStructureFlags(CLI::App& arguments, StructureFlags& flags);

/// Reads the file and checks what it says, before a model is loaded for it. Absent: any text.
Result<std::optional<decoding::GrammarText>> ReadStructure(const StructureFlags& flags);

/// For the model's vocabulary; null: any text.
Result<std::shared_ptr<grammar::Automaton>> PrepareStructure(
    const std::optional<decoding::GrammarText>& text, const engine::TextModel& model);

/// The tokens that may end an answer.
std::vector<TokenId> EndTokens(const engine::GenerationOptions& options,
                               const engine::TextModel& model);

}  // namespace lattice::apps
