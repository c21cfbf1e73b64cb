#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "server/http/api_error.h"
#include "server/http/exchange.h"
#include "server/openai/answer_shape.h"
#include "server/openai/metrics.h"
#include "server/openai/served_model.h"

namespace lattice::server {

/// What is to be generated for one request.
struct AnswerPlan {
  std::unique_ptr<AnswerShape> shape;
  std::vector<engine::GenerationRequest> requests;  ///< One for each choice; without callbacks.
  std::size_t n_per_prompt = 1;                     ///< Choices of one prompt follow each other.
  bool stream = false;
  bool judges_prompt = false;  ///< What the model says of the prompt's tokens is wanted, too,
  bool says_nothing = false;   ///< and what it goes on with is not.
  const char* prompt_field = "prompt";  ///< Named when it is too long.
};

/// One request while it is being answered: hands its prompts to the engine and what comes back to
/// the client. It lives until the engine has called back for the last time; when the client leaves,
/// everything it still asks for is cancelled.
class AnswerJob : public std::enable_shared_from_this<AnswerJob> {
 public:
  /// Answers `exchange`, at once with an error if the engine refuses. The metrics outlive the
  /// engine.
  static void Start(std::shared_ptr<Exchange> exchange, AnswerPlan plan, TextModelPtr model,
                    Metrics& metrics);

 private:
  AnswerJob(std::shared_ptr<Exchange> exchange, AnswerPlan plan, TextModelPtr model,
            Metrics& metrics);
  void Submit();
  void OnPromptToken(std::size_t choice, const decoding::LogProbabilities& said);
  void OnToken(std::size_t choice, const engine::GeneratedToken& token);
  void OnEnd(std::size_t choice, const engine::GenerationEnd& end);
  void Finish();
  void Emit(const std::string& piece);
  void StopAnswers();

  const TextModelPtr model_;
  const std::shared_ptr<Exchange> exchange_;
  Metrics& metrics_;
  std::mutex mutex_;  // guards what follows: the engine may call back while prompts are handed in
  AnswerPlan plan_;
  AnswerShape::Emit emit_;  // empty unless a stream
  TokenTotals totals_;
  std::size_t n_open_ = 0;  // choices that have not ended
  bool streaming_ = false;  // the head has gone out
  bool over_ = false;       // nothing more is to be said
  std::optional<ApiError> error_;
  std::vector<bool> satisfied_;          // choices that were told to say no more
  std::vector<std::stop_source> stops_;  // of each choice
  struct StopAll {
    std::vector<std::stop_source> sources;
    void operator()() {
      for (std::stop_source& source : sources) source.request_stop();
    }
  };
  std::stop_callback<StopAll> on_gone_;
};

}  // namespace lattice::server
