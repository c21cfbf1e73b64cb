#include "models/packed_weights.h"

#include <functional>
#include <system_error>

#include "models/weight_cache.h"

namespace lattice::models {

std::uint64_t KeptBytes(const weights::TensorView& tensor, std::optional<Dtype> weights) {
  if (!weights || tensor.shape.size() < 2 || IsBlock(tensor.dtype)) return tensor.bytes.size();
  const BlockLayout layout = LayoutOf(*weights);
  return tensor.n_elements() / layout.elements * layout.bytes;
}

PackedPlace PlaceOfPacked(const ModelSource& source, const std::filesystem::path& weight_cache) {
  PackedPlace place;
  if (!source.stored) return place;
  for (const auto& [name, tensor] : source.checkpoint->tensors()) {
    if (IsBlock(tensor.dtype)) {
      const bool packed = source.backend->Packs(tensor.dtype, source.precision);
      if (packed) place.packed_bytes += tensor.bytes.size();
    } else if (source.quantise && tensor.shape.size() > 1) {
      place.packed_bytes += KeptBytes(tensor, source.quantise->type);
    }
  }
  if (place.packed_bytes == 0) return place;
  Sha256 sha;
  sha.Update(source.fingerprint);
  for (const MappedFile& file : source.checkpoint->files()) {
    sha.Update("\n" + std::to_string(file.bytes().size()) + " " +
               std::to_string(file.modified_ns()));
  }
  place.identity = sha.Finish();
  place.file = WeightCache(weight_cache).PathOf(ToHex(place.identity));
  return place;
}

void PiecesOf::Mix(std::uint64_t part) {
  for (unsigned byte = 0; byte < 8; ++byte) {
    source_ = (source_ ^ ((part >> (8 * byte)) & 0xFFu)) * 0x100000001b3u;
  }
}

void PiecesOf::Add(const kernels::HostTensor& matrix) {
  const std::less_equal<const std::byte*> reaches{};  // of pointers into different files
  const std::byte* const begin = matrix.bytes.data();
  std::uint64_t n_files = 0;
  for (const MappedFile& file : checkpoint_.files()) {
    const auto bytes = file.bytes();
    ++n_files;
    if (bytes.empty() || !reaches(bytes.data(), begin) ||
        reaches(bytes.data() + bytes.size(), begin)) {
      continue;
    }
    Mix(n_files);
    Mix(static_cast<std::uint64_t>(begin - bytes.data()));
  }
  Mix(matrix.bytes.size());
  Mix(matrix.row_order.size());
  for (const std::uint32_t row : matrix.row_order) Mix(row);
}

Result<kernels::WeightMemory::Piece> PiecesOf::Take(std::size_t size_bytes, std::uint64_t tag) {
  Mix(tag);
  return memory_.Take(size_bytes, source_);
}

std::shared_ptr<WeightFile> OpenPacked(const ModelSource& source,
                                       const std::filesystem::path& weight_cache) {
  if (weight_cache.empty()) return WeightFile::Open({}, {});
  const PackedPlace place = PlaceOfPacked(source, weight_cache);
  if (place.file.empty()) return WeightFile::Open({}, {});
  std::error_code ignored;
  if (std::filesystem::exists(place.file, ignored)) {
    WeightCache::Touch(place.file);
    return WeightFile::Open(place.file, place.identity);
  }
  const bool room = WeightCache(weight_cache).MakeRoom(place.packed_bytes).has_value();
  return room ? WeightFile::Open(place.file, place.identity) : WeightFile::Open({}, {});
}

}  // namespace lattice::models
