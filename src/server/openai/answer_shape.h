#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/scheduler.h"
#include "server/http/api_error.h"

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

/// Takes a piece of a stream as it travels.
using EmitPiece = std::function<void(const std::string& piece)>;

/// How a dialect streams and fails: by default as OpenAI's API does.
class Dialect {
 public:
  virtual ~Dialect() = default;

  virtual std::string content_type() const { return "text/event-stream; charset=utf-8"; }
  /// Besides those of every answer.
  virtual HeaderList headers() const { return {}; }
  /// Fills silence; empty: nothing does.
  virtual std::string idle_piece() const { return ": ping\n\n"; }
  /// Instead of an answer.
  virtual HttpResponse Failure(const ApiError& error) const { return ErrorResponse(error); }
  /// The last piece of a stream that breaks off.
  virtual std::string FailurePiece(const ApiError& error) const;
};

/// Turns tokens into the objects of a dialect, for a stream or as a whole. A stream's texts joined
/// are the whole's. Used by one thread at a time.
class AnswerShape {
 public:
  using Emit = EmitPiece;

  virtual ~AnswerShape() = default;

  virtual const Dialect& dialect() const = 0;

  /// `emit` is empty when the answer is given as a whole.
  virtual void Begin(const Emit& emit) = 0;
  /// Of the prompt's tokens but the first, if the plan asks for them.
  virtual void TakePromptToken(std::size_t, const decoding::LogProbabilities&) {}
  /// False: this choice has said all that was asked for, and nothing more is taken for it.
  virtual bool Take(std::size_t choice, const engine::GeneratedToken& token, const Emit& emit) = 0;
  /// Exactly once for each choice that did not break off.
  virtual void End(std::size_t choice, const engine::GenerationEnd& end, const Emit& emit) = 0;
  /// Tokens of thinking in all choices.
  virtual std::size_t n_reasoning() const = 0;

  /// The last pieces of a stream.
  virtual void Close(const TokenTotals& totals, const Emit& emit) = 0;
  virtual std::string Whole(const TokenTotals& totals) const = 0;
};

/// A server-sent event without name.
std::string DataEvent(const std::string& json);
/// With a name.
std::string NamedEvent(const std::string& name, const std::string& json);

}  // namespace lattice::server
