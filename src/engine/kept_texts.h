#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/log.h"
#include "base/token_id.h"
#include "lattice/result.h"
#include "models/sequence.h"

namespace lattice::engine {

/// A text, and what has read exactly its tokens.
struct KeptText {
  std::vector<TokenId> ids;
  const models::Sequence* sequence = nullptr;
};

/// Writes texts to one file, which appears whole or not at all: each with its tokens, its recurrent
/// states, and those pages that the text before it does not have too.
///
/// texts  in rising order of their tokens, so that the one before has the longest beginning in
///        common.
Status SaveTexts(const std::filesystem::path& file, std::span<const KeptText> texts);

using KeepText =
    FunctionRef<void(std::vector<TokenId> ids, std::unique_ptr<models::Sequence> sequence)>;

/// Gives what such a file holds to `keep`, as much as there is room for. Texts that were changed,
/// that lack their beginning, or are another model's are left out, and the log hears the first
/// reason. Errors  of the file as a whole.
Status LoadTexts(const std::filesystem::path& file, models::SequenceStore& store, KeepText keep,
                 const LogSink& log);

}  // namespace lattice::engine
