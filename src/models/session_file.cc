#include "models/session_file.h"

#include <algorithm>

#include "models/config.h"

namespace lattice::models {
namespace {

constexpr std::string_view kMagic = "LATTSEQ\n";
constexpr std::uint32_t kVersion = 1;
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

Result<SessionHeader> ReadHeader(Reader& reader) {
  SessionHeader header;
  LATTICE_TRY(const std::uint64_t kv_type, reader.Number(4));
  if (kv_type > static_cast<std::uint64_t>(kernels::KvType::kQ8)) {
    return Corrupt("unknown kind of keys and values " + std::to_string(kv_type));
  }
  header.kv_type = static_cast<kernels::KvType>(kv_type);
  LATTICE_TRY(header.n_tokens, reader.Number(8));
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
  if (version != kVersion) {
    return Error{ErrorCode::kUnsupported,
                 "version " + std::to_string(version) +
                     " of saved sequences; known: " + std::to_string(kVersion)};
  }
  if (start.left() < kDigestBytes) return Corrupt("cut off before the checksum");
  LATTICE_TRY_VOID(CheckDigest(file));
  LATTICE_TRY(const auto body, start.Bytes(start.left() - kDigestBytes));
  Reader reader(body);
  Session session;
  LATTICE_TRY(session.header, ReadHeader(reader));
  for (std::uint32_t i = 0; i < session.header.n_layers; ++i) {
    LATTICE_TRY(const std::uint64_t n_bytes, reader.Number(8));
    LATTICE_TRY(const auto bytes, reader.Bytes(n_bytes));
    session.layers.push_back(bytes);
  }
  if (reader.left() == 0) return session;
  return Corrupt(std::to_string(reader.left()) + " bytes after the last layer");
}

Result<SessionWriter> SessionWriter::Create(const std::filesystem::path& file,
                                            const SessionHeader& header) {
  LATTICE_CHECK(header.fingerprint.size() <= kMaxFingerprint);
  LATTICE_TRY(AtomicFile created, AtomicFile::Create(file));
  SessionWriter writer(std::move(created));
  std::string start(kMagic);
  AppendNumber(kVersion, 4, start);
  AppendNumber(static_cast<std::uint64_t>(header.kv_type), 4, start);
  AppendNumber(header.n_tokens, 8, start);
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
  return file_.Append(bytes);
}

Status SessionWriter::Finish() {
  LATTICE_TRY_VOID(file_.Append(digest_.Finish()));
  return file_.Commit();
}

}  // namespace lattice::models
