#include "models/weight_file.h"

#include <exception>
#include <utility>

#include "base/atomic_file.h"

namespace lattice::models {
namespace {

/// Appends to a file, and knows how much.
class Output {
 public:
  explicit Output(AtomicFile& file) : file_(file) {}

  std::size_t n_bytes() const { return n_bytes_; }
  Status Append(std::span<const std::byte> bytes) {
    n_bytes_ += bytes.size();
    return file_.Append(bytes);
  }
  Status AppendZeros(std::size_t n) {
    const std::vector<std::byte> zeros(n);
    return Append(zeros);
  }

 private:
  AtomicFile& file_;
  std::size_t n_bytes_ = 0;
};

}  // namespace

std::unique_ptr<WeightFile> WeightFile::Open(std::filesystem::path file,
                                             const Sha256Digest& identity) {
  std::unique_ptr<WeightFile> opened(new WeightFile(std::move(file), identity));
  if (!opened->file_.empty()) opened->OpenMade();
  return opened;
}

WeightFile::~WeightFile() = default;

/// What is damaged or of another version is written anew in time.
void WeightFile::OpenMade() {
  Result<MappedFile> mapped = MappedFile::Open(file_);
  if (!mapped) return;
  auto pieces = ParseWeightFile(mapped->bytes(), identity_);
  if (!pieces) return;
  made_ = std::move(*mapped);
  pieces_ = std::move(*pieces);
  differs_ = false;
}

Result<kernels::WeightMemory::Piece> WeightFile::Take(std::size_t size_bytes, std::uint64_t tag) {
  if (!differs_ && n_taken_ < pieces_.size() && pieces_[n_taken_].tag == tag &&
      pieces_[n_taken_].size == size_bytes) {
    const auto bytes =
        made_->bytes().subspan(static_cast<std::size_t>(pieces_[n_taken_++].offset), size_bytes);
    filled_.push_back({tag, bytes});
    // Not to be written to, as is_filled says.
    return Piece{{const_cast<std::byte*>(bytes.data()), bytes.size()}, true};
  }
  differs_ = true;  // from here on: whoever has pieces of the file keeps them
  LATTICE_TRY(const Piece piece, process_.Take(size_bytes, tag));
  filled_.push_back({tag, piece.bytes});
  return piece;
}

Status WeightFile::Write() const {
  LATTICE_TRY(AtomicFile file, AtomicFile::Create(file_));
  Output output(file);
  LATTICE_TRY_VOID(output.AppendZeros(kWeightFileStart));
  std::vector<WeightPiece> pieces;
  for (const Filled& filled : filled_) {
    pieces.push_back(
        {filled.tag, output.n_bytes(), filled.bytes.size(), WeightChecksum(filled.bytes)});
    LATTICE_TRY_VOID(output.Append(filled.bytes));
    const std::size_t over = output.n_bytes() % kPieceAlignment;
    if (over != 0) LATTICE_TRY_VOID(output.AppendZeros(kPieceAlignment - over));
  }
  const WeightFileFrame frame = MakeWeightFileFrame(pieces, output.n_bytes(), identity_);
  LATTICE_TRY_VOID(output.Append(std::as_bytes(std::span(frame.table))));
  LATTICE_TRY_VOID(file.Overwrite(0, frame.header));
  return file.Commit();
}

void WeightFile::Finish() {
  if (file_.empty() || filled_.empty() || !differs_) return;
  writer_ = std::jthread([this] {
    try {
      static_cast<void>(Write());  // a disk that takes nothing costs the next start its time
    } catch (const std::exception&) {
    }
  });
}

}  // namespace lattice::models
