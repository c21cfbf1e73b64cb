#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sha256.h"
#include "lattice/check.h"
#include "transport/detector_state.h"

// The checksum is added here, or no input would pass it. What is read is written as it was.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  (void)lattice::transport::ReadState(given);
  std::vector<std::byte> bytes(given.begin(), given.end());
  lattice::Sha256 sha;
  sha.Update(given);
  for (const std::byte b : sha.Finish()) bytes.push_back(b);
  const auto state = lattice::transport::ReadState(bytes);
  if (!state) return 0;
  (void)state->Threshold();
  LATTICE_CHECK(lattice::transport::WriteState(*state) == bytes);
  return 0;
}
