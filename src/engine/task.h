#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/token_id.h"
#include "engine/answer.h"
#include "engine/scheduler.h"
#include "engine/text_model.h"
#include "lattice/result.h"
#include "models/sequence.h"

namespace lattice::engine {

/// A request that was accepted, with all that changes while it is worked at.
struct Task {
  /// kInvalidArgument for an option or an id.
  static Result<std::unique_ptr<Task>> Make(const TextModel& model, GenerationRequest request);

  std::uint64_t number = 0;      ///< Of its arrival: the lower, the older.
  GenerationRequest request;     ///< Its prompt has moved to ids.
  std::optional<Answer> answer;  ///< Always there; refers to request.
  std::vector<TokenId> ids;      ///< The prompt, then the answer.
  std::size_t n_prompt = 0;
  std::vector<std::size_t> places;  ///< Rising: beginnings of ids to be kept when they are read.

  std::unique_ptr<models::Sequence> sequence;  ///< Has read a beginning of ids; null: not at work.
  bool is_answering = false;                   ///< The first token has been drawn.
  std::size_t n_rows = 0;                      ///< To be read in the step at hand.
  std::size_t n_forced = 0;                    ///< Tokens at the end of ids that nobody drew.
  std::size_t n_prompt_rows = 0;               ///< Read of the prompt, without what was kept.
  std::size_t n_told = 0;                      ///< Tokens of the prompt by on_prompt_token.
  bool has_ended = false;
  std::optional<Error> error;  ///< Why it ended, if that was no end of its own.

  std::size_t n_read() const { return sequence == nullptr ? 0 : sequence->n_tokens(); }
  std::size_t n_left() const { return ids.size() - n_read(); }
  /// More to read than one token and what is certain to follow it: these are read at once, whether
  /// the token was drawn or ends the prompt.
  bool is_reading() const { return n_left() > 1 + n_forced; }

  /// Tokens of the prompt that on_prompt_token still waits for.
  std::size_t n_to_tell() const { return request.on_prompt_token ? n_prompt - 1 - n_told : 0; }

  /// A step's reading stops there, and what has been read is kept.
  void AddPlace(std::size_t n_tokens);
  /// How many of n rows can be read before the next place.
  std::size_t RowsToPlace(std::size_t n) const;
  /// What has been read is to be kept.
  bool IsAtPlace() const;
};

/// Where a prompt's reading is worth keeping.
///
/// every  tokens from one place to the next in a long prompt; 0: none for its length.
std::vector<std::size_t> PlacesToKeep(std::size_t n_prompt, bool is_recurrent,
                                      std::vector<std::size_t> boundaries, std::size_t every);

}  // namespace lattice::engine
