#include "transport/detector_state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "base/checked_math.h"
#include "base/sha256.h"

namespace lattice::transport {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kMagic[8] = {'L', 'A', 'T', 'D', 'R', 'I', 'F', 'T'};
constexpr std::uint32_t kVersion = 1;

struct Header {
  char magic[8];
  std::uint32_t version, ground;
  std::uint64_t dims, window, n_records, max_iterations, n_reference, n_scores, n_waiting,
      self_iterations;
  double epsilon, tolerance, scaling, false_alarms, self_value;
};
static_assert(sizeof(Header) == 8 + 2 * 4 + 8 * 8 + 5 * 8);

Error Corrupt(std::string_view what) {
  return Error{ErrorCode::kCorruptData, "saved drift detector: " + std::string(what)};
}

Sha256Digest DigestOf(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Finish();
}

template <typename T>
void Append(std::span<const T> values, std::vector<std::byte>& out) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <typename T>
std::vector<T> Take(std::size_t n, std::span<const std::byte>& bytes) {
  std::vector<T> out(n);
  if (n > 0) std::memcpy(out.data(), bytes.data(), n * sizeof(T));
  bytes = bytes.subspan(n * sizeof(T));
  return out;
}

template <typename T>
bool AreFinite(std::span<const T> x) {
  return std::ranges::all_of(x, [](T v) { return std::isfinite(v); });
}

bool IsInRange(const Header& h) {
  return h.ground <= 1 && h.dims > 0 && h.window > 0 && h.n_reference > 0 && h.n_scores > 0 &&
         h.n_waiting < h.window && h.n_waiting <= h.n_records && h.max_iterations > 0 &&
         h.epsilon > 0 && std::isfinite(h.epsilon) && h.tolerance > 0 && h.scaling > 0 &&
         h.scaling <= 1 && h.false_alarms > 0 && h.false_alarms < 1 && std::isfinite(h.self_value);
}

// Of everything behind the header; absent where it leaves the range.
std::optional<std::size_t> BodyBytes(const Header& h) {
  const auto rows = CheckedAdd(h.n_reference, h.n_waiting);
  const auto floats = rows ? CheckedMul(*rows, h.dims) : rows;
  const auto float_bytes = floats ? CheckedMul(*floats, sizeof(float)) : floats;
  const auto doubles = CheckedAdd(h.n_reference, h.n_scores);
  const auto double_bytes = doubles ? CheckedMul(*doubles, sizeof(double)) : doubles;
  if (!float_bytes || !double_bytes) return std::nullopt;
  return CheckedAdd(*float_bytes, *double_bytes);
}

}  // namespace

double DetectorState::Threshold() const {
  const auto n = static_cast<double>(scores.size());
  const double rank = std::ceil((n + 1) * (1 - false_alarms));
  return scores[static_cast<std::size_t>(std::clamp(rank, 1.0, n)) - 1];
}

std::vector<std::byte> WriteState(const DetectorState& s) {
  Header h{};
  std::ranges::copy(kMagic, h.magic);
  h.version = kVersion;
  h.ground = static_cast<std::uint32_t>(s.ground);
  h.dims = s.dims;
  h.window = s.window;
  h.n_records = s.n_records;
  h.max_iterations = s.sinkhorn.max_iterations;
  h.n_reference = s.reference.size() / s.dims;
  h.n_scores = s.scores.size();
  h.n_waiting = s.waiting.size() / s.dims;
  h.self_iterations = s.self.iterations;
  h.epsilon = s.sinkhorn.epsilon;
  h.tolerance = s.sinkhorn.tolerance;
  h.scaling = s.sinkhorn.scaling;
  h.false_alarms = s.false_alarms;
  h.self_value = s.self.value;
  std::vector<std::byte> out;
  Append(std::span<const Header>(&h, 1), out);
  Append(std::span<const float>(s.reference), out);
  Append(std::span<const float>(s.waiting), out);
  Append(std::span<const double>(s.self.potential), out);
  Append(std::span<const double>(s.scores), out);
  const Sha256Digest digest = DigestOf(out);
  Append(std::span<const std::byte>(digest), out);
  return out;
}

Result<DetectorState> ReadState(std::span<const std::byte> bytes) {
  Header h{};
  if (bytes.size() < sizeof(Header) + sizeof(Sha256Digest)) return Corrupt("too short");
  std::memcpy(&h, bytes.data(), sizeof(Header));
  if (!std::ranges::equal(h.magic, kMagic)) return Corrupt("not one");
  if (h.version != kVersion) {
    return Error{ErrorCode::kUnsupported,
                 "saved drift detector: version " + std::to_string(h.version)};
  }
  if (!IsInRange(h)) return Corrupt("a value out of range");
  std::span<const std::byte> body = bytes.subspan(sizeof(Header));
  const auto n_body = BodyBytes(h);
  if (!n_body || body.size() - sizeof(Sha256Digest) != *n_body) return Corrupt("another length");
  const Sha256Digest digest = DigestOf(bytes.first(bytes.size() - sizeof(Sha256Digest)));
  if (!std::ranges::equal(digest, bytes.last(sizeof(Sha256Digest)))) return Corrupt("checksum");
  DetectorState s;
  s.ground = static_cast<Ground>(h.ground);
  s.dims = h.dims;
  s.window = h.window;
  s.n_records = h.n_records;
  s.false_alarms = h.false_alarms;
  s.sinkhorn.epsilon = h.epsilon;
  s.sinkhorn.tolerance = h.tolerance;
  s.sinkhorn.scaling = h.scaling;
  s.sinkhorn.max_iterations = h.max_iterations;
  s.reference = Take<float>(h.n_reference * h.dims, body);
  s.waiting = Take<float>(h.n_waiting * h.dims, body);
  s.self.potential = Take<double>(h.n_reference, body);
  s.scores = Take<double>(h.n_scores, body);
  s.self.epsilon = h.epsilon;
  s.self.value = h.self_value;
  s.self.iterations = h.self_iterations;
  s.self.converged = true;
  if (!AreFinite<float>(s.reference) || !AreFinite<float>(s.waiting) ||
      !AreFinite<double>(s.self.potential) || !AreFinite<double>(s.scores) ||
      !std::ranges::is_sorted(s.scores)) {
    return Corrupt("a value out of range");
  }
  return s;
}

}  // namespace lattice::transport
