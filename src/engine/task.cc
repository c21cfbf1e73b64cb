#include "engine/task.h"

#include <algorithm>
#include <utility>

namespace lattice::engine {

Result<std::unique_ptr<Task>> Task::Make(const TextModel& model, GenerationRequest request) {
  LATTICE_TRY_VOID(CheckPrompt(model, request.prompt));
  auto task = std::make_unique<Task>();
  task->ids = std::move(request.prompt);
  task->n_prompt = task->ids.size();
  task->request = std::move(request);
  LATTICE_TRY(Answer answer, Answer::Begin(model, task->ids, task->request.options));
  task->answer.emplace(std::move(answer));
  return task;
}

void Task::AddPlace(std::size_t n_tokens) {
  const auto at = std::ranges::lower_bound(places, n_tokens);
  if (at == places.end() || *at != n_tokens) places.insert(at, n_tokens);
}

std::size_t Task::RowsToPlace(std::size_t n) const {
  const auto next = std::ranges::upper_bound(places, n_read());
  return next == places.end() ? n : std::min(n, *next - n_read());
}

bool Task::IsAtPlace() const { return std::ranges::binary_search(places, n_read()); }

std::vector<std::size_t> PlacesToKeep(std::size_t n_prompt, bool is_recurrent,
                                      std::vector<std::size_t> boundaries, std::size_t every) {
  if (!is_recurrent) return {n_prompt};  // can be cut anywhere
  constexpr std::size_t kChunk = kernels::kDeltaChunk;
  // One token of the same prompt must be left to read the next time, and a state at the end of a
  // chunk cannot go back.
  boundaries.push_back(n_prompt % kChunk == 0 ? n_prompt - 1 : n_prompt);
  for (std::size_t n = every; every != 0 && n < n_prompt; n += every) boundaries.push_back(n);
  std::ranges::sort(boundaries);
  std::vector<std::size_t> places;
  for (auto n = boundaries.rbegin(); n != boundaries.rend(); ++n) {
    if (*n == 0 || *n > n_prompt) continue;
    // The next one can go back to here.
    if (!places.empty() && places.back() - places.back() % kChunk <= *n) continue;
    places.push_back(*n);
  }
  std::ranges::reverse(places);
  return places;
}

}  // namespace lattice::engine
