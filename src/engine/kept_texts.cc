#include "engine/kept_texts.h"

#include <optional>
#include <string>
#include <utility>

#include "base/mapped_file.h"
#include "engine/common_beginning.h"
#include "kernels/api/state.h"
#include "models/session_file.h"

namespace lattice::engine {
namespace {

/// The text that was brought back last, from which the next one takes its first pages.
struct Beginning {
  std::vector<TokenId> ids;
  std::unique_ptr<models::Sequence> sequence;
};

Result<std::unique_ptr<models::Sequence>> Restore(const models::Session& session,
                                                  models::SequenceStore& store,
                                                  const Beginning& before) {
  if (session.header.ids.empty()) {
    return Error{ErrorCode::kCorruptData, "a saved text does not tell its tokens"};
  }
  if (CommonBeginning(before.ids, session.header.ids) < session.header.n_elsewhere) {
    return Error{ErrorCode::kCorruptData, "a saved text lacks its beginning"};
  }
  return store.Restore(session, before.sequence.get());
}

}  // namespace

Status SaveTexts(const std::filesystem::path& file, std::span<const KeptText> texts) {
  LATTICE_TRY(auto writer, models::SessionsWriter::Create(file));
  std::span<const TokenId> before;
  for (const KeptText& text : texts) {
    const std::size_t n_common = CommonBeginning(before, text.ids);
    const std::size_t n_elsewhere = n_common - n_common % kernels::kPageTokens;
    LATTICE_TRY_VOID(writer.Add(
        [&](AtomicFile& to) { return text.sequence->Append(to, text.ids, n_elsewhere); }));
    before = text.ids;
  }
  return writer.Finish();
}

Status LoadTexts(const std::filesystem::path& file, models::SequenceStore& store, KeepText keep,
                 const LogSink& log) {
  LATTICE_TRY(const MappedFile mapped, MappedFile::Open(file));
  auto split = models::SplitSessions(mapped.bytes());
  if (!split) return std::move(split).error().Within(file.string());
  std::size_t n_left_out = 0;
  std::optional<Error> reason;
  const auto leave_out = [&](const Error& error) {
    ++n_left_out;
    if (!reason) reason = error;
  };
  Beginning before;
  for (const auto& bytes : *split) {
    auto session = models::ParseSession(bytes);
    if (!session) {
      leave_out(session.error());
      continue;
    }
    auto sequence = Restore(*session, store, before);
    auto copy = sequence ? (*sequence)->Fork() : sequence.error();
    if (!copy) {
      leave_out(copy.error());
      continue;
    }
    before = {session->header.ids, std::move(copy).value()};
    keep(std::move(session->header.ids), std::move(sequence).value());
    mapped.Release(bytes);
  }
  if (reason && log) {
    log(LogLevel::kWarning, file.string() + ": " + std::to_string(n_left_out) + " of " +
                                std::to_string(split->size()) +
                                " texts are not brought back: " + reason->message);
  }
  return Ok();
}

}  // namespace lattice::engine
