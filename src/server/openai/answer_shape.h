#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/scheduler.h"

namespace lattice::server {

/// What all answers to one request have used. A prompt counts once for all choices made of it.
struct TokenTotals {
  std::size_t n_prompt = 0;
  std::size_t n_cached = 0;  ///< Of the prompts.
  std::size_t n_generated = 0;
  std::size_t n_reasoning = 0;  ///< Of those generated.
};

/// Who answers what when: what stands at the head of every object of an answer.
struct AnswerHead {
  std::string id;
  std::int64_t created = 0;  ///< Unix time.
  std::string model;
  bool include_usage = false;  ///< Of a stream, at its end.
};

/// Turns tokens into the objects of a dialect, for a stream or as a whole. A stream's texts joined
/// are the whole's. Used by one thread at a time.
class AnswerShape {
 public:
  /// Takes one JSON object of a stream.
  using Emit = std::function<void(std::string event)>;

  virtual ~AnswerShape() = default;

  /// `emit` is empty when the answer is given as a whole.
  virtual void Begin(const Emit& emit) = 0;
  virtual void Take(std::size_t choice, const engine::GeneratedToken& token, const Emit& emit) = 0;
  /// Exactly once for each choice that did not break off.
  virtual void End(std::size_t choice, const engine::GenerationEnd& end, const Emit& emit) = 0;
  /// Tokens of thinking in all choices.
  virtual std::size_t n_reasoning() const = 0;

  virtual std::string UsageEvent(const TokenTotals& totals) const = 0;
  virtual std::string Whole(const TokenTotals& totals) const = 0;
};

}  // namespace lattice::server
