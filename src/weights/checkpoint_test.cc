#include "weights/checkpoint.h"

#include <gtest/gtest.h>

namespace lattice::weights {
namespace {

const std::filesystem::path kFixtures = LATTICE_FIXTURES;

TEST(CheckpointTest, ReadsATinyModel) {
  const auto checkpoint = Checkpoint::Open(kFixtures / "bert");
  ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
  EXPECT_GT((*checkpoint)->tensors().size(), 10u);
  for (const auto& [name, view] : (*checkpoint)->tensors()) {
    if (!IsFloat(view.dtype)) continue;
    const auto values = view.ToF32();
    ASSERT_TRUE(values.has_value()) << name;
    EXPECT_EQ(values->size(), view.n_elements()) << name;
  }
}

}  // namespace
}  // namespace lattice::weights
