#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lattice/check.h"
#include "lattice/fann.h"

// Whatever is accepted must be true: the numbers are finite, and writing gives the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using lattice::fann::FileVersion;
  const auto file = std::as_bytes(std::span(data, size));
  const auto network = lattice::fann::ParseNetwork(file);
  if (!network) {
    LATTICE_CHECK(!network.error().message.empty());
    return 0;
  }
  LATTICE_CHECK(network->Parameters().size() == network->n_parameters());
  for (const float x : network->Parameters()) LATTICE_CHECK(std::isfinite(x));
  const auto version = static_cast<FileVersion>(data[4]);
  const auto again = lattice::fann::Serialise(*network, version);
  LATTICE_CHECK(again.has_value());
  LATTICE_CHECK(std::ranges::equal(std::as_bytes(std::span(*again)), file));
  return 0;
}
