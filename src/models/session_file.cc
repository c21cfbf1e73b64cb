#include "models/session_file.h"

#include <algorithm>
#include <limits>

#include "models/config.h"

namespace lattice::models {
namespace {

constexpr std::string_view kMagic = "LATTSEQ\n";
constexpr std::uint32_t kPlainVersion = 1, kVersion = 2;
constexpr std::string_view kListMagic = "LATTSEQS";
constexpr std::uint32_t kListVersion = 1;
constexpr std::size_t kMaxFingerprint = 256;
constexpr std::size_t kDigestBytes = sizeof(Sha256Digest);

void AppendNumber(std::uint64_t value, std::size_t n_bytes, std::string& to) {
  for (std::size_t i = 0; i < n_bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

Error Corrupt(std::string what) { return {ErrorCode::kCorruptData, std::move(what)}; }

/// Takes pieces off the front of a file.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> rest) : rest_(rest) {}

  std::size_t left() const { return rest_.size(); }
  Result<std::span<const std::byte>> Bytes(std::uint64_t n) {
    if (n > rest_.size()) {
      return Corrupt("cut off: " + std::to_string(n) + " bytes wanted, " +
                     std::to_string(rest_.size()) + " left");
    }
    const auto taken = rest_.first(static_cast<std::size_t>(n));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  Result<std::uint64_t> Number(std::size_t n_bytes) {
    LATTICE_TRY(const auto bytes, Bytes(n_bytes));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n_bytes; ++i) {
      value |= static_cast<std::uint64_t>(std::to_integer<std::uint8_t>(bytes[i])) << (8 * i);
    }
    return value;
  }

 private:
  std::span<const std::byte> rest_;
};

Status CheckDigest(std::span<const std::byte> file) {
  Sha256 sha;
  sha.Update(file.first(file.size() - kDigestBytes));
  const Sha256Digest digest = sha.Finish();
  if (std::ranges::equal(digest, file.last(kDigestBytes))) return Ok();
  return Corrupt("the checksum does not fit the content");
}

/// What version 2 has beside version 1.
Status ReadParts(Reader& reader, SessionHeader& header) {
  LATTICE_TRY(header.n_elsewhere, reader.Number(8));
  if (header.n_elsewhere > header.n_tokens || header.n_elsewhere % kernels::kPageTokens != 0) {
    return Corrupt(std::to_string(header.n_elsewhere) + " of " + std::to_string(header.n_tokens) +
                   " tokens elsewhere");
  }
  LATTICE_TRY(const std::uint64_t n_ids, reader.Number(8));
  if (n_ids == 0) return Ok();
  if (n_ids != header.n_tokens || n_ids > reader.left() / 4) {
    return Corrupt(std::to_string(n_ids) + " ids for " + std::to_string(header.n_tokens) +
                   " tokens");
  }
  header.ids.reserve(static_cast<std::size_t>(n_ids));
  for (std::uint64_t i = 0; i < n_ids; ++i) {
    LATTICE_TRY(const std::uint64_t id, reader.Number(4));
    if (id > std::numeric_limits<TokenId>::max()) return Corrupt("an id " + std::to_string(id));
    header.ids.push_back(static_cast<TokenId>(id));
  }
  return Ok();
}

Result<SessionHeader> ReadHeader(Reader& reader, std::uint64_t version) {
  SessionHeader header;
  LATTICE_TRY(const std::uint64_t kv_type, reader.Number(4));
  if (kv_type > static_cast<std::uint64_t>(kernels::KvType::kQ8)) {
    return Corrupt("unknown kind of keys and values " + std::to_string(kv_type));
  }
  header.kv_type = static_cast<kernels::KvType>(kv_type);
  LATTICE_TRY(header.n_tokens, reader.Number(8));
  if (version != kPlainVersion) LATTICE_TRY_VOID(ReadParts(reader, header));
  LATTICE_TRY(const std::uint64_t n_name, reader.Number(4));
  if (n_name > kMaxFingerprint) {
    return Corrupt("a fingerprint of " + std::to_string(n_name) + " bytes");
  }
  LATTICE_TRY(const auto name, reader.Bytes(n_name));
  header.fingerprint.assign(reinterpret_cast<const char*>(name.data()), name.size());
  LATTICE_TRY(const std::uint64_t n_layers, reader.Number(4));
  if (n_layers > kMaxLayers) return Corrupt(std::to_string(n_layers) + " layers");
  header.n_layers = static_cast<std::uint32_t>(n_layers);
  return header;
}

}  // namespace

Result<Session> ParseSession(std::span<const std::byte> file) {
  Reader start(file);
  auto magic = start.Bytes(kMagic.size());
  if (!magic || !std::ranges::equal(*magic, std::as_bytes(std::span(kMagic)))) {
    return Corrupt("not a saved sequence");
  }
  LATTICE_TRY(const std::uint64_t version, start.Number(4));
  if (version != kPlainVersion && version != kVersion) {
    return Error{ErrorCode::kUnsupported,
                 "version " + std::to_string(version) + " of saved sequences; known: 1 and 2"};
  }
  if (start.left() < kDigestBytes) return Corrupt("cut off before the checksum");
  LATTICE_TRY_VOID(CheckDigest(file));
  LATTICE_TRY(const auto body, start.Bytes(start.left() - kDigestBytes));
  Reader reader(body);
  Session session;
  LATTICE_TRY(session.header, ReadHeader(reader, version));
  for (std::uint32_t i = 0; i < session.header.n_layers; ++i) {
    LATTICE_TRY(const std::uint64_t n_bytes, reader.Number(8));
    LATTICE_TRY(const auto bytes, reader.Bytes(n_bytes));
    session.layers.push_back(bytes);
  }
  if (reader.left() == 0) return session;
  return Corrupt(std::to_string(reader.left()) + " bytes after the last layer");
}

Result<std::vector<std::span<const std::byte>>> SplitSessions(std::span<const std::byte> file) {
  Reader reader(file);
  auto magic = reader.Bytes(kListMagic.size());
  if (!magic || !std::ranges::equal(*magic, std::as_bytes(std::span(kListMagic)))) {
    return Corrupt("not a file of saved sequences");
  }
  LATTICE_TRY(const std::uint64_t version, reader.Number(4));
  if (version != kListVersion) {
    return Error{ErrorCode::kUnsupported,
                 "version " + std::to_string(version) + " of files of saved sequences; known: 1"};
  }
  std::vector<std::span<const std::byte>> sessions;
  while (reader.left() > 0) {
    LATTICE_TRY(const std::uint64_t n_bytes, reader.Number(8));
    LATTICE_TRY(sessions.emplace_back(), reader.Bytes(n_bytes));
  }
  return sessions;
}

Result<SessionWriter> SessionWriter::Begin(AtomicFile& file, const SessionHeader& header) {
  LATTICE_CHECK(header.fingerprint.size() <= kMaxFingerprint);
  LATTICE_CHECK(header.ids.empty() || header.ids.size() == header.n_tokens);
  const bool plain = header.n_elsewhere == 0 && header.ids.empty();
  SessionWriter writer(file);
  std::string start(kMagic);
  AppendNumber(plain ? kPlainVersion : kVersion, 4, start);
  AppendNumber(static_cast<std::uint64_t>(header.kv_type), 4, start);
  AppendNumber(header.n_tokens, 8, start);
  if (!plain) {
    AppendNumber(header.n_elsewhere, 8, start);
    AppendNumber(header.ids.size(), 8, start);
    for (const TokenId id : header.ids) AppendNumber(static_cast<std::uint64_t>(id), 4, start);
  }
  AppendNumber(header.fingerprint.size(), 4, start);
  start += header.fingerprint;
  AppendNumber(header.n_layers, 4, start);
  LATTICE_TRY_VOID(writer.Append(std::as_bytes(std::span(start))));
  return writer;
}

Status SessionWriter::BeginLayer(std::uint64_t n_bytes) {
  std::string number;
  AppendNumber(n_bytes, 8, number);
  return Append(std::as_bytes(std::span(number)));
}

Status SessionWriter::Append(std::span<const std::byte> bytes) {
  digest_.Update(bytes);
  n_bytes_ += bytes.size();
  return file_->Append(bytes);
}

Result<std::uint64_t> SessionWriter::Finish() {
  LATTICE_TRY_VOID(file_->Append(digest_.Finish()));
  return n_bytes_ + kDigestBytes;
}

Result<SessionsWriter> SessionsWriter::Create(const std::filesystem::path& file) {
  LATTICE_TRY(AtomicFile created, AtomicFile::Create(file));
  SessionsWriter writer(std::move(created));
  std::string start(kListMagic);
  AppendNumber(kListVersion, 4, start);
  LATTICE_TRY_VOID(writer.file_.Append(start));
  writer.n_bytes_ = start.size();
  return writer;
}

Status SessionsWriter::Add(FunctionRef<Result<std::uint64_t>(AtomicFile&)> write) {
  std::string number;
  AppendNumber(0, 8, number);
  LATTICE_TRY_VOID(file_.Append(number));
  LATTICE_TRY(const std::uint64_t n_bytes, write(file_));
  number.clear();
  AppendNumber(n_bytes, 8, number);
  LATTICE_TRY_VOID(file_.Overwrite(static_cast<std::size_t>(n_bytes_), number));
  n_bytes_ += number.size() + n_bytes;
  return Ok();
}

}  // namespace lattice::models
