#include "models/weight_file.h"

#include <cstring>
#include <system_error>
#include <utility>

namespace lattice::models {
namespace {

constexpr std::size_t RoundUp(std::size_t n) {
  return (n + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
}

void CopyTo(const std::string& from, std::byte* to) { std::memcpy(to, from.data(), from.size()); }

}  // namespace

std::unique_ptr<WeightFile> WeightFile::Open(Place place) {
  std::unique_ptr<WeightFile> file(new WeightFile(std::move(place)));
  if (file->place_.max_bytes == 0 || file->OpenMade()) return file;
  file->Create();
  return file;
}

WeightFile::~WeightFile() = default;

/// What is damaged or of another version is replaced by the new file in time.
bool WeightFile::OpenMade() {
  Result<MappedFile> mapped = MappedFile::Open(place_.file);
  if (!mapped) return false;
  auto pieces = ParseWeightFile(mapped->bytes(), place_.identity);
  if (!pieces) return false;
  made_ = std::move(*mapped);
  pieces_ = std::move(*pieces);
  use_ = Use::kRead;
  return true;
}

void WeightFile::Create() {
  pieces_.clear();
  Result<MappedOutput> output = MappedOutput::Create(place_.file, place_.max_bytes);
  if (!output) return GiveUp(output.error().message);
  if (const auto header = output->Extend(kWeightFileStart); !header) {
    return GiveUp(header.error().message);
  }
  output_ = std::move(*output);
  use_ = Use::kMade;
}

/// The pieces so far stay where they are: they are mapped.
void WeightFile::GiveUp(std::string why) {
  use_ = Use::kNone;
  why_not_ = std::move(why);
  if (output_) output_->Discard();
}

Result<std::span<std::byte>> WeightFile::NextOfFile(std::size_t size_bytes) {
  LATTICE_TRY(const std::span<std::byte> bytes, output_->Extend(RoundUp(size_bytes)));
  return bytes.first(size_bytes);
}

Result<kernels::WeightMemory::Piece> WeightFile::Take(std::size_t size_bytes, std::uint64_t tag) {
  if (use_ == Use::kRead) {
    if (n_taken_ < pieces_.size() && pieces_[n_taken_].tag == tag &&
        pieces_[n_taken_].size == size_bytes) {
      const auto bytes =
          made_->bytes().subspan(static_cast<std::size_t>(pieces_[n_taken_++].offset), size_bytes);
      // Not to be written to, as is_filled says.
      return Piece{{const_cast<std::byte*>(bytes.data()), bytes.size()}, true};
    }
    // Made for other kernels. Whoever has pieces of it keeps them; the next start makes it anew.
    std::error_code ignored;
    std::filesystem::remove(place_.file, ignored);
    if (n_taken_ == 0) {
      Create();
    } else {
      GiveUp(place_.file.string() + " holds other pieces");
    }
  }
  if (use_ == Use::kMade) {
    if (const auto bytes = NextOfFile(size_bytes)) {
      pieces_.push_back({tag, static_cast<std::uint64_t>(bytes->data() - output_->bytes().data()),
                         size_bytes, 0});
      return Piece{*bytes};
    } else {
      GiveUp(bytes.error().message);
    }
  }
  return process_.Take(size_bytes, tag);
}

Status WeightFile::Complete() {
  const std::span<std::byte> all = output_->bytes();
  for (WeightPiece& piece : pieces_) {
    piece.checksum = WeightChecksum(all.subspan(piece.offset, piece.size));
  }
  const WeightFileFrame frame = MakeWeightFileFrame(pieces_, all.size(), place_.identity);
  CopyTo(frame.header, all.data());
  LATTICE_TRY(const std::span<std::byte> table, output_->Extend(frame.table.size()));
  CopyTo(frame.table, table.data());
  return output_->Commit();
}

void WeightFile::Finish(std::function<void()> named) {
  if (use_ != Use::kMade) return;
  if (pieces_.empty()) return GiveUp("nothing had to be packed");
  finisher_ = std::jthread([this, named = std::move(named)] {
    if (Complete()) {
      named();
    } else {
      output_->Discard();
    }
  });
}

}  // namespace lattice::models
